"""Of a table with deletes, only rows that can repeat a key of the window are read, and the counts stay exact."""

import random

import pytest

from bot.domain.evidence import Answer
from bot.domain.findings import DuplicatesFinding
from bot.domain.ids import SnapshotId
from spark_tasks import _copies
from tests.evidence.conftest import Asks
from tests.evidence.test_spread_keys import BY_TEXT
from tests.tables import CONTRACT, OrdersTable, rows
from tests.upserts import upserts

RANGE = (
    "all live rows with order_id in the window's range, because the window does more than append or begins with the "
    "table"
)
WHOLE = "all live rows, because the window does more than append or begins with the table"


def found(answer: Answer) -> tuple[int, int, int]:
    """Rows of the window, keys that live more than once, rows too many."""
    told = answer.finding
    assert isinstance(told, DuplicatesFinding)
    return told.rows_checked, told.keys, told.extra_rows


def history(orders: OrdersTable, seed: int) -> list[SnapshotId]:
    """Appends, upserts, deletes of another engine and rewritten rows, by chance; keys repeat and are spread a bit."""
    dice = random.Random(seed)  # noqa: S311 - a repeatable history, no secret
    commits = [orders.appends(rows(range(40), orders=[dice.randrange(60) for _ in range(40)]))]
    for number in range(1, 8):
        keys = [dice.randrange(10 * number, 10 * number + 40) for _ in range(dice.randrange(1, 8))]
        places = range(100 * number, 100 * number + len(keys))
        match dice.randrange(4):
            case 0:
                commits.append(orders.commits("a", number, places, orders=keys))
            case 1:
                commits.append(orders.overwrites(rows(places, orders=keys), f"order_id = {keys[0]}"))
            case _:
                kept = sorted(set(keys))
                gone = [dice.randrange(80)]
                commits.append(
                    upserts(
                        orders, "a", number, places[: len(kept)], keys=kept, deletes=[g for g in gone if g not in kept]
                    )
                )
    return commits


@pytest.mark.filterwarnings("ignore:Delete operation did not match")
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_counts_are_those_of_a_read_of_the_whole_table(
    orders: OrdersTable, asks: Asks, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every copy of a key that lives in a file of the window lies in the range of these files' keys."""
    commits = history(orders, seed)
    asked = [orders.ask(commits[0], contract=BY_TEXT), orders.ask(commits[4])]

    narrow = [asks("duplicate_rows", ask) for ask in asked]
    monkeypatch.setattr(_copies, "keys_brought", lambda *_: None)
    whole = [asks("duplicate_rows", ask) for ask in asked]

    assert [(each.finding, each.rows) for each in narrow] == [(each.finding, each.rows) for each in whole]


def test_a_window_with_deletes_reads_only_the_range_of_its_keys(orders: OrdersTable, asks: Asks) -> None:
    """And still finds the older copy that no delete has reached."""
    before = orders.appends(rows(range(100)))
    orders.appends(rows(range(100, 110), orders=range(50, 60)))
    upserts(orders, "a", 2, [200, 201], keys=[55, 300], deletes=[1])
    upserts(orders, "a", 3, [202], keys=[56])

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.sources == (RANGE,)
    assert found(answer) == (11, 8, 8)


def test_a_file_that_was_taken_out_and_put_in_again_counts(orders: OrdersTable, asks: Asks) -> None:
    """One that only went needs not to be there; what was added last decides."""
    before = orders.appends(rows(range(100)))
    orders.commits_files("a", 2, {"x.parquet": range(7, 9)})
    orders.deletes("source_position < 9")
    orders.names_again("a", 3, ["x.parquet"])

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.sources == (RANGE,)
    assert found(answer)[1:] == (0, 0)


@pytest.mark.parametrize("why", ["a null in the key", "a renamed key"])
def test_what_the_files_do_not_tell_is_read_whole(orders: OrdersTable, asks: Asks, why: str) -> None:
    """A null bounds nothing; under another name a file holds another column."""
    before = orders.appends(rows(range(10)))
    orders.appends(rows([20, 21], orders=[None if why == "a null in the key" else 5, 5]))
    upserts(orders, "a", 2, [22], keys=[6])
    contract = CONTRACT
    if why == "a renamed key":
        orders.renames_column("order_id", "id")
        orders.appends(rows([23]).rename_columns({"order_id": "id"}))
        contract = CONTRACT.model_copy(update={"key": ("id",)})

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert answer.sources == (WHOLE,)
    assert found(answer)[1] == 1


@pytest.mark.parametrize("window", ["only appends", "deletes too"])
def test_a_key_that_was_renamed_after_the_last_commit_is_still_the_key(
    orders: OrdersTable, asks: Asks, window: str
) -> None:
    """To Iceberg a snapshot has the names of its own schema; the contract has the present one."""
    before = orders.appends(rows(range(10)))
    orders.appends(rows([20, 21], orders=[5, 30]))
    if window == "deletes too":
        upserts(orders, "a", 2, [22], keys=[6])
    orders.renames_column("order_id", "id")

    answer = asks("duplicate_rows", orders.ask(before, contract=CONTRACT.model_copy(update={"key": ("id",)})))

    assert found(answer)[1:] == (1, 1)
