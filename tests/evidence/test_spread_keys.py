"""Duplicates of ids that are spread (text, UUIDs) are counted as exactly as those of numbers: a copy has the same key
and may differ in all else, its event time too."""

import random
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.types import DoubleType, UUIDType

from bot.domain.contract import TableContract
from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_rows import duplicates_of
from tests.tables import OrdersTable, rows

pytestmark = pytest.mark.slow

BY_TEXT = TableContract(key=("customer",), event_time="event_time", position="source_position")
BY_UUID = BY_TEXT.model_copy(update={"key": ("id",)})


@pytest.mark.parametrize("where", ["before the window's times", "after them", "without a time"])
def test_an_older_copy_is_found_whatever_its_event_time(orders: OrdersTable, asks: Asks, where: str) -> None:
    """A job that fills the time of arrival, corrects it, or leaves it out makes copies of other times."""
    told = {"before the window's times": 3, "after them": 90_000, "without a time": None}
    before = orders.appends(rows([told[where], 4], orders=[7, 8]))
    orders.appends(rows([100, 101], orders=[7, 9]))

    answer = asks("duplicate_rows", orders.ask(before, contract=BY_TEXT))

    assert answer.verdict is Verdict.CONFIRMED
    assert (duplicates_of(answer).keys, duplicates_of(answer).extra_rows) == (1, 1)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_counts_of_text_keys_agree_with_brute_force(orders: OrdersTable, asks: Asks, seed: int) -> None:
    """Exact on random histories whose event times are spread, or null, and say nothing about the key."""
    dice = random.Random(seed)  # noqa: S311 - a repeatable history, no secret
    written = [[dice.randrange(80) for _ in range(dice.randrange(1, 25))] for _ in range(8)]
    commits = []
    for number, keys in enumerate(written):
        times = [dice.choice([None, dice.randrange(80_000)]) if number < 4 else 40_000 + number for _ in keys]
        commits.append(orders.appends(rows(times, orders=keys)))

    for begin in (1, 4, 6):
        answer = asks("duplicate_rows", orders.ask(commits[begin], contract=BY_TEXT))

        assert counted_by(answer_of := duplicates_of(answer)) == brute(written, begin + 1)
        assert (answer.verdict is Verdict.CONFIRMED) == bool(answer_of.keys)


@pytest.mark.parametrize("task", ["duplicate_rows", pytest.param("extra_copies", marks=pytest.mark.long)])
def test_uuids_are_compared_over_the_whole_table(orders: OrdersTable, asks: Asks, task: str) -> None:
    """To Spark a UUID is text, to Iceberg 16 bytes: between two texts it finds none."""
    orders.adds_column("id", UUIDType())
    before = orders.appends(with_ids([0x00, 0x30, 0x70, 0x90, 0xF0], position=0))
    orders.appends(with_ids([0x10, 0x30, 0x90, 0xE0], position=100))

    answer = asks(task, orders.ask(before, contract=BY_UUID))

    assert answer.verdict is Verdict.CONFIRMED
    assert answer.measures[0].value == 2
    assert answer.sources[1] == "all older rows"


def test_a_key_that_is_no_number_is_a_key_too(orders: OrdersTable, asks: Asks) -> None:
    """NaN equals itself as a key, and bounds nothing."""
    orders.adds_column("weight", DoubleType())
    contract = BY_TEXT.model_copy(update={"key": ("weight",)})
    before = orders.appends(with_column(rows([1, 2, 3]), "weight", [1.5, float("nan"), 9.0]))
    orders.appends(with_column(rows([4, 5, 6]), "weight", [1.0, float("nan"), 9.0]))

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert duplicates_of(answer).keys == 2


def test_of_two_key_columns_the_narrow_one_bounds(orders: OrdersTable, asks: Asks) -> None:
    """A copy has both: only its order id tells where it can lie."""
    contract = BY_TEXT.model_copy(update={"key": ("customer", "order_id")})
    orders.appends(rows([90_000, None], orders=[3, 500]))
    before = orders.appends(rows([2], orders=[600]))
    orders.appends(rows([10, 11], orders=[3, 4]))

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert duplicates_of(answer).keys == 1
    assert answer.sources[1] == "older rows with customer and order_id in the window's range"


def counted_by(found: object) -> tuple[int, int, int]:
    """Checked rows, keys and extra rows of a finding."""
    return tuple(getattr(found, name) for name in ("rows_checked", "keys", "extra_rows"))  # type: ignore[return-value]


def brute(written: Sequence[Sequence[int]], first: int) -> tuple[int, int, int]:
    """The same, counted without Spark; the window begins with commit `first`."""
    inside = Counter(key for keys in written[first:] for key in keys)
    everywhere = Counter(key for keys in written for key in keys)
    repeated = [everywhere[key] for key in inside if everywhere[key] > 1]
    return inside.total(), len(repeated), sum(repeated) - len(repeated)


def with_ids(first_bytes: Sequence[int], position: int) -> pa.Table:
    """Rows whose UUIDs begin so and are alike in all else; one event a second from `position` on."""
    ids = [UUID(int=each << 120 | 7).bytes for each in first_bytes]
    stored = pa.ExtensionArray.from_storage(pa.uuid(), pa.array(ids, pa.binary(16)))
    return rows(range(position, position + len(ids))).append_column("id", stored)


def with_column(table: pa.Table, name: str, values: Sequence[float]) -> pa.Table:
    """The rows with one more column."""
    return table.append_column(name, pa.array(values, pa.float64()))
