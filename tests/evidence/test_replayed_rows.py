"""A record of the source that came twice is found, whatever became of its first copy."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest

from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Verdict
from bot.observation.ids import OperatorId, SnapshotId
from spark_tasks._support.source_ranges import Range, by_two_runs, read_twice
from tests.cases import Tale
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.evidence.test_freshness import MIDNIGHT, PROMISE, looked_at
from tests.tables import CONTRACT, OrdersTable, of_table, rows


def pairs_of(answer: Answer) -> set[tuple[int, int, int]]:
    """(first, second, rows) of every pair."""
    return {(pair.first, pair.second, pair.keys) for pair in answer.finding.pairs}


BY_TIME = TableContract(key=("order_id",), event_time="event_time")
BY_POSITION = TableContract(position="source_position")
BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})
Replays = Mapping[str, tuple[str, TableContract, dict[str, object], set[tuple[int, int, int]], str]]
AGAIN: Replays = {
    "with the commits that it repeats, within the window and below it": (
        "a1[0:100] a2[100:200] | a3[200:300] b2[190:250]", CONTRACT,
        {"rows_checked": 160, "replayed": 60, "changed": 0, "first": 190, "last": 249}, {(1, 3, 10), (2, 3, 50)}, "",
    ),
    "after a proper rewind, though none lives twice: the first copy was rolled back": (
        "a1[0:100] | a2[100:150] back b2[100:160]", CONTRACT, {"rows_checked": 60}, {(1, 2, 50)}, "(rolled back)",
    ),
    "onto a table that was cleaned in between": (
        "a1[0:100] | a2[100:150] drop[100:150] b2[100:150]", CONTRACT, {"replayed": 50}, {(1, 3, 50)}, "",
    ),
    "with other values: deleting either copy loses something": (
        "a1[0:100] | b1[90:100]k[90:97,1097:1100]", CONTRACT,
        {"replayed": 10, "changed": 3}, {(0, 1, 10)}, "3 of them with other values",
    ),
    "with a value that became null, which a hash passes over": (
        "a1[7] | +[7]k[-]", CONTRACT, {"replayed": 1, "changed": 1}, {(0, 1, 1)}, "",
    ),
    "by key and event time, which stand for a missing position": (
        "a1[0:100] | b1[90:110]", BY_TIME, {"replayed": 10, "first": None}, {(0, 1, 10)}, "",
    ),
    "within one checkpoint: no earlier commit has it": (
        "a1[0:10] | a2[10:30,10:15,12] a3[30:40]", CONTRACT,
        {"rows_checked": 36, "replayed": 0, "within_commit": 6, "first": None, "last": None}, set(),
        "No row was brought again by a later commit, but 6 of 36 rows stand in their own",
    ),
    "both by a later commit and within one": (
        "a1[0:10] | a2[5:15,14]", CONTRACT, {"replayed": 5, "within_commit": 1, "first": 5, "last": 9}, {(0, 1, 5)},
        "1 row stands in its own commit once more",
    ),
    "beside rows without a position, of which nothing is known": (
        "a1[0:10] | b1[-,5:15]k[1000,5:15]", CONTRACT, {"replayed": 5}, {(0, 1, 5)},
        "1 of the window's 11 rows has null in source_position",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "contract", "expected", "pairs", "said"), AGAIN.values(), ids=AGAIN)
def test_a_record_came_again(
    orders: OrdersTable,
    asks: Asks,
    line: str,
    contract: TableContract,
    expected: dict[str, object],
    pairs: set[tuple[int, int, int]],
    said: str,
) -> None:
    """Pairs are the earlier commit, the one that brought its records again, and how many; they count the line's."""
    before, commits = write(orders, line)

    answer = asks("replayed_rows", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.CONFIRMED
    assert {name: getattr(answer.finding, name) for name in expected} == expected
    place = commits.index
    assert {(place(first), place(second), rows) for first, second, rows in pairs_of(answer)} == pairs
    assert said in answer.headline + answer.rows[0][0]


ONCE: Mapping[str, tuple[str, TableContract, Verdict, int | None, str]] = {
    "an upsert rightly brings a key from another position": (
        "a1[0:100] | a2[100:200]k0", CONTRACT, Verdict.RULED_OUT, 100, "",
    ),
    "a position of another source partition is another record": (
        "a1[0:100]p0 | a2[0:50]p1", BY_PARTITION, Verdict.RULED_OUT, 50, "",
    ),
    "one record may make several rows of one commit": (
        "a1[0:10] | a2[10,10,11,11]k100", CONTRACT, Verdict.RULED_OUT, 4,
        "4 rows of the window had been brought by an earlier commit, nor stands in its own",
    ),
    "without a key, equal rows of one commit may be parts of one record": (
        "a1[0:10] | a2[10,10,11]", BY_POSITION, Verdict.RULED_OUT, 3,
        "None of 3 rows of the window had been brought by an earlier commit.",
    ),
    "a key alone does not tell a replay from an update": (
        "a1[0:10] | a2[0:10]", TableContract(key=("order_id",)), Verdict.INCONCLUSIVE, None, "contract.position",
    ),
    "the job stopped filling the position": (
        "a1[0:10] | +[-,-]k1", CONTRACT, Verdict.INCONCLUSIVE, None, "null in every row",
    ),
    "rows without a position came twice, and nothing of theirs tells it": (
        "a1[0:10] | a2[-,-,-,-,-]k1000 a3[10:20] b1[-,-,-,-,-]k1000", CONTRACT, Verdict.INCONCLUSIVE, 10,
        "10 of the window's 20 rows have null in source_position",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "contract", "verdict", "checked", "said"), ONCE.values(), ids=ONCE)
def test_no_record_is_known_to_have_come_again(
    orders: OrdersTable,
    asks: Asks,
    line: str,
    contract: TableContract,
    verdict: Verdict,
    checked: int | None,
    said: str,
) -> None:
    """What cannot be told is not ruled out."""
    answer = asks("replayed_rows", orders.ask(write(orders, line).before, contract=contract))

    assert answer.verdict is verdict
    assert checked is None or answer.finding.rows_checked == checked
    assert said in " ".join((answer.headline, *(each.source for each in answer.could_not_look)))


def test_each_row_counts_for_the_commit_of_its_own_file(orders: OrdersTable, asks: Asks) -> None:
    """Two folders may hold files of one name. Spark escapes a space and a percent sign in a path, and no plus."""
    name = "00000-0-11111111-2222-3333-4444-555555555555-00001.parquet"
    before = orders.commits_files("a", 1, {name: range(100)})
    first = orders.commits_files("a", 2, {f"one/{name}": range(100, 150)})
    again = orders.commits_files("b", 2, {f"two/{name}": range(100, 120)})
    odd = {"one+two.parquet": range(3), "one two+three.parquet": range(3, 10), "one%20two.parquet": range(10, 20)}
    oddly = orders.commits_files("b", 3, odd)

    answer = asks("replayed_rows", orders.ask(before))

    assert pairs_of(answer) == {(first, again, 20), (before, oddly, 20)}


@pytest.mark.parametrize("second", [range(2, 6), (2, 5), ()], ids=["in each commit", "in some", "never"])
def test_partitions_that_the_contract_does_not_tell_apart_repeat_nothing(
    orders: OrdersTable, judges: Asks, second: Sequence[int]
) -> None:
    """Each counts its own positions: a commit may reach from the one partition's to the other's."""
    before = orders.commits("a", 1, [0, 1000])
    for checkpoint in range(2, 6):
        orders.commits("a", checkpoint, [1000 + checkpoint, *([checkpoint] if checkpoint in second else [])])

    answer = judges("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_two_sinks_of_one_run_repeat_nothing_of_each_other() -> None:
    """Each brings what it reads of its own topic."""
    both = Tale().flink_runs("a").commits("a", 1).commits("a", 1).by_sink(OperatorId("ee" * 16))
    alone = Tale().flink_runs("a").commits("a", 1, 2)

    told = [read_twice(tale.table, tale.snapshots, _at(tale, 0, 0), {_ids(tale)}) for tale in (both, alone)]

    assert [frozenset(), {_ids(alone)}] == told


def test_a_source_that_begins_nowhere_anew_has_not_gone_back() -> None:
    """The ranges of two commits overlap, as those of several partitions do."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)

    assert frozenset() == read_twice(tale.table, tale.snapshots, _at(tale, 0, 5), {_ids(tale)})


def test_a_compaction_by_the_job_itself_reads_nothing_again() -> None:
    """It moves rows into new files, which cover the positions of the old ones."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).flink_runs("b", restored=2).commits("b", 3, operation="replace")
    _, first, again = tale.snapshots

    assert not by_two_runs(tale.table, first, again)


def _ids(tale: Tale) -> tuple[SnapshotId, SnapshotId]:
    first, again = (s.snapshot_id for s in tale.snapshots)
    return first, again


def _at(tale: Tale, *begins: int) -> list[Range]:
    return [Range(s, "", low, low + 9) for s, low in zip(_ids(tale), begins, strict=True)]


CADENCE = TableContract(key=("order_id",), commit_every=timedelta(minutes=1))


@pytest.mark.parametrize("task", ["late_rows", "replayed_rows"])
def test_an_overwrite_of_as_many_rows_rules_nothing_out(orders: OrdersTable, judges: Asks, task: str) -> None:
    """Its rows may be new, and nobody compared them."""
    before = orders.commits("a", 1, range(100))
    orders.rewrites(rows(range(50, 150)))

    answer = judges(task, orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "100 rows in the place of 1 file" in answer.headline


def test_an_overwrite_with_newer_events_keeps_a_table_fresh(orders: OrdersTable, judges: Asks) -> None:
    """A table that is overwritten each time is as fresh as what it holds; a copy makes it no fresher."""
    first = orders.commits("a", 1, range(100))
    new = orders.rewrites(rows(range(200, 300)))
    orders.rewrites(rows(range(200, 300)))
    ask = looked_at(orders.ask(None, contract=PROMISE), MIDNIGHT + timedelta(minutes=10))

    answer = judges("freshness", ask)

    assert answer.verdict is Verdict.RULED_OUT
    assert (answer.finding.newest_commit, answer.finding.event_age_s) == (new, 600 - 299)
    assert first != new


@pytest.mark.parametrize(
    ("summary", "verdict"), [({}, Verdict.INCONCLUSIVE), ({"replace-partitions": "true"}, Verdict.RULED_OUT)]
)
def test_without_event_times_an_overwrite_may_have_brought_rows(
    orders: OrdersTable, judges: Asks, summary: dict[str, str], verdict: Verdict
) -> None:
    """The table is not called stale for a commit that may be fresh, nor fresh unless the commit says what it was."""
    old = orders.commits("a", 1, range(100))
    at = orders.state().by_id[old].committed_at
    orders.rewrites(rows(range(100)), summary)
    ask = looked_at(orders.ask(None, contract=CADENCE), at + timedelta(hours=1))
    table = ask.observation.table
    commits = tuple(
        each if each.snapshot_id == old else each.model_copy(update={"committed_at": at + timedelta(hours=1)})
        for each in table.snapshots
    )

    answer = judges("freshness", of_table(ask, snapshots=commits))

    assert answer.verdict is verdict
