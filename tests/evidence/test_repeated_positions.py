"""Of a commit that repeats a part of the source it is told which part, and how many of its rows stand there: all others
are there once."""

from collections.abc import Iterable

import pyarrow as pa
import pytest
from pyiceberg.types import LongType

from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import DuplicateCommitsFinding, RepeatedCommit
from spark_tasks import _few_entries, _unstated
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_commits import BY_PARTITION, repeats
from tests.evidence.test_widened_columns import of_shops, widens
from tests.tables import CONTRACT, OrdersTable, of_flink, rows

Part = tuple[str | None, int, int]


@pytest.fixture(params=[2_500, -1], ids=["few entries", "many entries"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries are counted here, or by Spark."""
    monkeypatch.setattr(_few_entries, "FEW_ENTRIES", request.param)


def only(answer: Answer) -> RepeatedCommit:
    """The one repeating commit."""
    assert isinstance(answer.finding, DuplicateCommitsFinding)
    [found] = answer.finding.repeated
    return found


def parts_of(found: RepeatedCommit) -> list[Part]:
    """Each as partition, first and last."""
    return [(each.partition, each.first, each.last) for each in found.parts]


def mixed(of_zero: Iterable[int], of_one: Iterable[int]) -> pa.Table:
    """Rows of two source partitions, in one file."""
    return pa.concat_tables([rows(of_zero, partition=0), rows(of_one, partition=1)])


@pytest.mark.usefixtures("both_ways")
def test_what_lies_beside_the_repeated_positions_is_there_once(orders: OrdersTable, asks: Asks) -> None:
    """A run began five checkpoints too low and went on: two commits of another hold what it brought again."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    first = orders.commits("a", 3, range(20, 35))
    again = orders.commits("b", 3, range(15, 100))

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-source-range")]
    assert parts_of(only(answer)) == [(None, 15, 34)]
    assert (only(answer).rows, only(answer).rows_again, only(answer).is_at_most) == (85, 20, False)
    assert answer.headline.endswith(", 20 rows of its 85: positions 15 to 34.")
    assert answer.measures[1].value == 20


@pytest.mark.usefixtures("both_ways")
def test_parts_are_told_by_source_partition(orders: OrdersTable, asks: Asks) -> None:
    """Of one partition that came again in part, and of one that did not."""
    before = orders.commits("a", 1, range(10))
    orders.appends(mixed(range(10, 20), range(100, 120)), of_flink("a", 2))
    orders.appends(mixed(range(16, 30), range(120, 140)), of_flink("b", 2))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert parts_of(only(answer)) == [("0", 16, 19)]
    assert only(answer).rows_again == 4
    assert answer.headline.endswith(", 4 rows of its 34: positions 16 to 19 of partition 0.")


def test_rows_are_counted_where_positions_have_holes(orders: OrdersTable, asks: Asks) -> None:
    """The job filters: bounds do not tell how many of its rows stand at a position that the other has, too."""
    before = orders.commits("a", 1, range(0, 100, 10))
    orders.commits("a", 2, range(100, 200, 10))
    orders.commits("b", 2, range(150, 400, 5), orders=range(1000, 1050))

    found = only(asks("duplicate_commits", orders.ask(before)))

    assert parts_of(found) == [(None, 150, 190)]
    assert (found.rows, found.rows_again, found.is_at_most) == (50, 5, False)


def test_more_rows_than_are_read_are_no_more_than_that(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then all that the commit brought are as many as it can be."""
    monkeypatch.setattr(_unstated, "MOST_BYTES", 1)
    before = orders.commits("a", 1, range(0, 100, 10))
    orders.commits("a", 2, range(100, 200, 10))
    orders.commits("b", 2, range(150, 400, 5), orders=range(1000, 1050))

    answer = asks("duplicate_commits", orders.ask(before))

    assert (only(answer).rows_again, only(answer).is_at_most) == (50, True)
    assert answer.headline.endswith(", up to 50 rows: positions 150 to 190.")


def test_a_commit_without_a_row_in_the_other_s_range_repeats_nothing(orders: OrdersTable, asks: Asks) -> None:
    """A run that was told to skip what another had brought reaches over it."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(20, 30))
    orders.commits("b", 1, [*range(10, 20), *range(30, 40)])

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_run_that_goes_on_in_partitions_that_nobody_names_repeats_nothing(orders: OrdersTable, asks: Asks) -> None:
    """The contract names no source partition: the ranges of two runs overlap, and no position came again."""
    before = orders.commits("a", 1, [*range(10), *range(1000, 1010)])
    orders.commits("a", 2, [*range(10, 20), *range(1010, 1020)])
    orders.commits("b", 3, [*range(20, 30), *range(1020, 1030)])
    orders.commits("b", 4, range(500, 510))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_hidden_position_is_counted_and_not_shown(orders: OrdersTable, asks: Asks) -> None:
    """How many came again is not a value of the column."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.commits("b", 2, range(15, 30))
    hidden = CONTRACT.model_copy(update={"redacted": ("source_position",)})

    answer = asks("duplicate_commits", orders.ask(before, contract=hidden))

    assert (only(answer).rows_again, only(answer).parts) == (5, ())
    assert answer.headline.endswith(", 5 rows of its 15.")


@pytest.mark.parametrize("run", ["a", "b"])
@pytest.mark.usefixtures("both_ways")
def test_a_source_partition_that_was_widened_is_the_same_one(orders: OrdersTable, asks: Asks, run: str) -> None:
    """Bounds of older files keep it in four bytes, those of newer ones in eight."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20), partition=3, orders=range(100, 110))
    widens(orders, "source_partition", LongType())
    again = orders.appends(of_shops(range(10, 15), [3] * 5, pa.int64()), of_flink(run, 3))
    orders.appends(of_shops(range(20, 25), [3] * 5, pa.int64()), of_flink(run, 4))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert repeats(answer) == [(first, again, "same-source-range")]
    assert parts_of(only(answer)) == [("3", 10, 14)]


@pytest.mark.usefixtures("both_ways")
def test_what_one_run_read_again_shows_in_files_of_several_partitions(orders: OrdersTable, asks: Asks) -> None:
    """Their bounds tell nothing of each partition, so the rows are read: the job goes back, and goes on."""
    before = orders.commits("a", 1, range(10))
    first = orders.appends(mixed(range(10, 20), range(100, 110)), of_flink("a", 2))
    goes_on = orders.appends(mixed(range(20, 30), range(110, 120)), of_flink("a", 3))
    calm = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))
    again = orders.appends(mixed(range(10, 15), range(120, 130)), of_flink("a", 4))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert (calm.verdict, calm.could_not_look) == (Verdict.RULED_OUT, ())
    assert goes_on not in [each for one, other, _ in repeats(answer) for each in (one, other)]
    assert repeats(answer) == [(first, again, "same-source-range")]
    assert parts_of(only(answer)) == [("0", 10, 14)]


@pytest.mark.parametrize("run", ["a", "b"])
def test_files_of_several_partitions_that_are_too_many_to_be_read_rule_nothing_out(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, run: str
) -> None:
    """Also where two runs' event times do not overlap by half. What whole commits tell is told still."""
    monkeypatch.setattr(_unstated, "MOST_BYTES", 1)
    before = orders.commits("a", 1, range(10))
    orders.appends(mixed(range(10, 20), range(100, 110)), of_flink("a", 2))
    orders.appends(mixed(range(105, 130), range(110, 130)), of_flink(run, 3))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.finding == DuplicateCommitsFinding(commits_checked=2, repeated=())
    assert "bring several source partitions in one file" in answer.headline
    assert "replayed_rows" in answer.could_not_look[0].remedy


def test_rows_without_a_source_partition_are_no_part_of_the_one_beside_them(orders: OrdersTable, asks: Asks) -> None:
    """The file's bounds name one partition, and some of its rows have none."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20), partition=1)
    orders.appends(of_shops(range(10, 20), [1, *[None] * 9], pa.int32()), of_flink("b", 2))  # type: ignore[list-item]

    found = only(asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION)))

    assert parts_of(found) == [("1", 10, 10)]
    assert found.rows_again == 1
