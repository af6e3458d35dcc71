"""A record of the source that came twice is found, whatever became of its first copy."""

import itertools
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.saved_case import read_case
from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import ReplayedRowsFinding
from bot.domain.ids import OperatorId, SnapshotId
from bot.domain.table import Snapshot
from bot.history.ranking import recovering
from spark_tasks._covered import Range
from spark_tasks._data_files import DataFile
from spark_tasks._restore_reach import RowsAgain, commits_above, reach_of_point, rows_again
from spark_tasks._source_runs import by_two_runs, read_twice
from tests.cases import Tale
from tests.evidence.conftest import Asks
from tests.evidence.test_freshness import MIDNIGHT, PROMISE, fresh_of, looked_at
from tests.tables import OrdersTable, of_flink, rows


def replayed_of(answer: Answer) -> ReplayedRowsFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, ReplayedRowsFinding)
    return answer.finding


def pairs_of(answer: Answer) -> set[tuple[int, int, int]]:
    """(first, second, rows) of every pair."""
    return {(pair.first, pair.second, pair.keys) for pair in replayed_of(answer).pairs}


def test_a_replay_is_paired_with_the_commit_that_it_repeats(orders: OrdersTable, asks: Asks) -> None:
    """Within the window and below it, with the positions that came again."""
    old = orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(100, 200))
    first = orders.commits("a", 3, range(200, 300))
    again = orders.commits("b", 2, range(190, 250))

    answer = asks("replayed_rows", orders.ask(before))

    found = replayed_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.rows_checked, found.replayed, found.changed) == (160, 60, 0)
    assert (found.first, found.last) == (190, 249)
    assert pairs_of(answer) == {(before, again, 10), (first, again, 50)}
    assert old not in {pair.first for pair in found.pairs}


def test_rows_that_came_once_are_no_replay(orders: OrdersTable, asks: Asks) -> None:
    """Also where another commit brought the same key from another position: an upsert does so rightly."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 200), orders=range(100))

    answer = asks("replayed_rows", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert replayed_of(answer).rows_checked == 100


def test_the_first_copy_may_have_been_rolled_back(orders: OrdersTable, asks: Asks) -> None:
    """After a proper rewind the source is read again: rows on main came again, though none lives twice."""
    before = orders.commits("a", 1, range(100))
    lost = orders.commits("a", 2, range(100, 150))
    orders.rolls_back_to(before)
    again = orders.commits("b", 2, range(100, 160))

    answer = asks("replayed_rows", orders.ask(before))

    assert pairs_of(answer) == {(lost, again, 50)}
    assert replayed_of(answer).rows_checked == 60
    assert "(rolled back)" in answer.rows[0][0]


def test_the_first_copy_may_have_been_deleted_since(orders: OrdersTable, asks: Asks) -> None:
    """A replay onto a table that was cleaned in between is a replay all the same."""
    before = orders.commits("a", 1, range(100))
    first = orders.commits("a", 2, range(100, 150))
    orders.deletes("order_id >= 100")
    again = orders.commits("b", 2, range(100, 150))

    answer = asks("replayed_rows", orders.ask(before))

    assert pairs_of(answer) == {(first, again, 50)}


def test_copies_with_other_values_are_counted_apart(orders: OrdersTable, asks: Asks) -> None:
    """A replay that gives other values was not idempotent: deleting either copy loses something."""
    before = orders.commits("a", 1, range(100))
    orders.commits("b", 1, range(90, 100), orders=[90, 91, 92, 93, 94, 95, 96, 1097, 1098, 1099])

    answer = asks("replayed_rows", orders.ask(before))

    assert (replayed_of(answer).replayed, replayed_of(answer).changed) == (10, 3)
    assert "3 of them with other values" in answer.headline
    assert answer.rows[0][3] == "3"


def test_a_value_that_became_null_is_another_value(orders: OrdersTable, asks: Asks) -> None:
    """A hash passes nulls over; the comparison does not."""
    before = orders.commits("a", 1, [7])
    orders.appends(rows([7], orders=[None]))

    answer = asks("replayed_rows", orders.ask(before))

    assert replayed_of(answer).changed == 1


def test_positions_count_within_their_source_partition(orders: OrdersTable, asks: Asks) -> None:
    """Position 5 of another partition is another record."""
    before = orders.commits("a", 1, range(100), partition=0)
    orders.commits("a", 2, range(50), partition=1)
    contract = TableContract(key=("order_id",), position="source_position", position_partition="source_partition")

    answer = asks("replayed_rows", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.RULED_OUT


def test_key_and_event_time_stand_for_a_missing_position(orders: OrdersTable, asks: Asks) -> None:
    """The same key at the same time of the event is the same record."""
    before = orders.commits("a", 1, range(100))
    orders.commits("b", 1, range(90, 110))
    contract = TableContract(key=("order_id",), event_time="event_time")

    answer = asks("replayed_rows", orders.ask(before, contract=contract))

    assert replayed_of(answer).replayed == 10
    assert replayed_of(answer).first is None


def test_without_any_identity_the_answer_says_what_to_name(orders: OrdersTable, judges: Asks) -> None:
    """A key alone does not tell a replay from an update."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10))

    answer = judges("replayed_rows", orders.ask(before, contract=TableContract(key=("order_id",))))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "contract.position"


def test_a_position_that_the_job_stopped_filling_is_named(orders: OrdersTable, asks: Asks) -> None:
    """All null: nothing can be compared, so nothing is ruled out."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None, None], orders=[1, 2]))

    answer = asks("replayed_rows", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "null in every row" in answer.headline


def test_rows_without_a_position_are_told_and_not_vouched_for(orders: OrdersTable, asks: Asks) -> None:
    """Among others that have one: they came twice, and nothing of theirs tells it."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None] * 5, orders=range(1000, 1005)), of_flink("a", 2))
    orders.commits("a", 3, range(10, 20))
    orders.appends(rows([None] * 5, orders=range(1000, 1005)), of_flink("b", 1))

    answer = asks("replayed_rows", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert replayed_of(answer).rows_checked == 10
    assert "10 of the window's 20 rows have null in source_position" in answer.headline


def test_rows_without_a_position_hide_no_replay(orders: OrdersTable, asks: Asks) -> None:
    """What surely came again is confirmed beside them."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None, *range(5, 15)], orders=[1000, *range(5, 15)]), of_flink("b", 1))

    answer = asks("replayed_rows", orders.ask(before))

    assert (answer.verdict, replayed_of(answer).replayed) == (Verdict.CONFIRMED, 5)
    assert answer.could_not_look[0].source == "column source_position of sales.orders"


def test_files_of_one_name_are_kept_apart(orders: OrdersTable, asks: Asks) -> None:
    """Two folders may hold files of one name; each row counts for the commit of its own file."""
    name = "00000-0-11111111-2222-3333-4444-555555555555-00001.parquet"
    before = orders.commits_files("a", 1, {name: range(100)})
    first = orders.commits_files("a", 2, {f"one/{name}": range(100, 150)})
    again = orders.commits_files("b", 2, {f"two/{name}": range(100, 120)})

    answer = asks("replayed_rows", orders.ask(before))

    assert pairs_of(answer) == {(first, again, 20)}


def test_a_record_that_came_twice_in_one_commit_is_counted(orders: OrdersTable, asks: Asks) -> None:
    """The source was read twice within one checkpoint: no earlier commit has it, and it is there twice."""
    before = orders.commits("a", 1, range(10))
    twice = orders.commits("a", 2, [*range(10, 30), *range(10, 15), 12])
    orders.commits("a", 3, range(30, 40))

    answer = asks("replayed_rows", orders.ask(before))

    found = replayed_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.rows_checked, found.replayed, found.within_commit) == (36, 0, 6)
    assert (found.first, found.last, found.pairs) == (None, None, ())
    assert answer.headline.startswith("No row was brought again by a later commit, but 6 of 36 rows stand in their own")
    assert str(twice)[-6:] in answer.rows[0][0]


def test_a_record_that_came_twice_both_ways_is_counted_apart(orders: OrdersTable, asks: Asks) -> None:
    """By a later commit, and within one."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, [*range(5, 15), 14])

    answer = asks("replayed_rows", orders.ask(before))

    found = replayed_of(answer)
    assert (found.replayed, found.within_commit, found.first, found.last) == (5, 1, 5, 9)
    assert "1 row stands in its own commit once more" in answer.headline


def test_rows_made_of_one_record_are_no_replay(orders: OrdersTable, asks: Asks) -> None:
    """One record may make several rows of one commit: of other keys, or of one key with other values."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, [10, 10, 11, 11], orders=[100, 101, 102, 103])

    answer = asks("replayed_rows", orders.ask(before))

    assert (answer.verdict, replayed_of(answer).within_commit) == (Verdict.RULED_OUT, 0)
    assert "4 rows of the window had been brought by an earlier commit, nor stands in its own" in answer.headline


def test_without_a_key_equal_rows_of_one_commit_are_not_told_apart(orders: OrdersTable, asks: Asks) -> None:
    """They may be two parts of one record, so the answer speaks of earlier commits alone."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, [10, 10, 11])
    contract = TableContract(position="source_position")

    answer = asks("replayed_rows", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline == "None of 3 rows of the window had been brought by an earlier commit."


def test_rows_without_a_position_are_in_the_sentence_of_a_replay(orders: OrdersTable, asks: Asks) -> None:
    """Who reads that rows came again reads as well that of others nothing is known."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None, *range(5, 15)], orders=[1000, *range(5, 15)]), of_flink("b", 1))

    answer = asks("replayed_rows", orders.ask(before))

    assert "5 of 10 rows came again" in answer.headline
    assert "1 of the window's 11 rows has null in source_position" in answer.headline


@pytest.mark.parametrize("name", ["plain.parquet", "one+two.parquet", "one two+three.parquet", "one%20two.parquet"])
def test_rows_are_found_whatever_their_file_is_called(orders: OrdersTable, asks: Asks, name: str) -> None:
    """Spark escapes a space and a percent sign in a path, and no plus."""
    before = orders.commits("a", 1, range(100))
    first = orders.commits("a", 2, range(100, 150))
    again = orders.commits_files("b", 2, {name: range(100, 120)})

    answer = asks("replayed_rows", orders.ask(before))

    assert pairs_of(answer) == {(first, again, 20)}


KEPT = Path("tests/data/cases/restored-from-older-savepoint-v2.json.gz")


def commits(count: int) -> list[Snapshot]:
    """Commits of one run."""
    return Tale().commits("a", *range(1, count + 1)).snapshots


def file(commit: Snapshot, low: int | None, high: int | None, rows: int) -> DataFile:
    """One that the commit added."""
    return DataFile(
        snapshot_id=commit.snapshot_id, is_added=True, content="data", path="f", format="parquet", rows=rows,
        low=low, high=high,
    )  # fmt: skip


def again(position: int | None, *parts: tuple[int | None, int | None, int]) -> RowsAgain:
    """Each part is the one file of a commit: lowest and highest position, rows."""
    above = commits(len(parts))
    return rows_again(above, {s.snapshot_id: [file(s, *part)] for s, part in zip(above, parts, strict=True)}, position)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([(81, 100, 20), (101, 130, 30)], RowsAgain(50, is_exact=True)),
        ([(41, 60, 20), (61, 80, 20)], RowsAgain(0, is_exact=True)),
        ([(41, 80, 40), (71, 90, 20), (81, 100, 20)], RowsAgain(20, is_exact=True)),
        ([(100, 900, 9), (1000, 1900, 10)], RowsAgain(19, is_exact=True)),
        ([(100, 900, 9), (100, 1900, 19)], RowsAgain(28, is_exact=False)),
        ([(50, 150, 11)], RowsAgain(11, is_exact=False)),
        ([(81, 90, 10), (None, None, 7)], RowsAgain(17, is_exact=False)),
    ],
)
def test_positions_above_count_once(parts: list[tuple[int | None, int | None, int]], told: RowsAgain) -> None:
    """Copies of what the point holds do not count, nor do two copies of one position; what is not told counts whole."""
    assert again(80, *parts) == told


def test_without_a_position_all_rows_count() -> None:
    """So many at the most: whether some repeat others is not known."""
    above = commits(2)

    told = rows_again(above, {}, None)

    assert told == RowsAgain(sum(s.counted("added-records") for s in above), is_exact=False)


def test_commits_nobody_looked_into_count_whole() -> None:
    """The window may end below the head, or begin above the point."""
    above = commits(2)

    told = rows_again(above, {above[0].snapshot_id: [file(above[0], 81, 90, 10)]}, 80)

    assert told == RowsAgain(10 + above[1].counted("added-records"), is_exact=False)


def test_counts_agree_with_the_positions_themselves() -> None:
    """Of dense files whatever their order."""
    ranges = [range(30, 60), range(55, 75), range(10, 40), range(90, 95)]

    for order in itertools.permutations(ranges):
        parts = [(each[0], each[-1], len(each)) for each in order]
        assert again(50, *parts) == RowsAgain(len({p for each in ranges for p in each if p > 50}), is_exact=True)


def kept() -> tuple[Ask, dict[SnapshotId, list[DataFile]]]:
    """A run went on to position 80, and was restored from a savepoint at 40: the other one repeated 41 to 80."""
    case = read_case(KEPT).case
    assert case.ledger is not None
    rows = {row.snapshot_id: row for row in case.ledger.rows}
    brought = {
        s.snapshot_id: [file(s, rows[s.snapshot_id].position_from, rows[s.snapshot_id].position_until,
                             s.counted("added-records"))]
        for s in case.observation.table.chain if s.snapshot_id in rows
    }  # fmt: skip
    return Ask(observation=case.observation, window=case.window, contract=case.contract), brought


def test_a_real_stop_savepoint_reads_only_what_it_does_not_hold() -> None:
    """Main holds 81 to 180 above it; the other 40 rows there repeat 41 to 80."""
    ask, brought = kept()
    table = ask.observation.table
    [point] = [
        each
        for each in recovering(ask)
        if each.stored.checkpoint_id == 8 and len(commits_above(table, each.pair.snapshot_id)) == 9
    ]
    assert point.pair.snapshot_id is not None

    reach = reach_of_point(ask, point, {point.pair.snapshot_id: 80}, brought)

    assert (reach.to_read_again, reach.is_at_most) == (100, False)


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
    """Ten positions each."""
    return [Range(s, "", low, low + 9) for s, low in zip(_ids(tale), begins, strict=True)]


CADENCE = TableContract(key=("order_id",), commit_every=timedelta(minutes=1))


@pytest.mark.parametrize("task", ["late_rows", "replayed_rows", "backfill_boundary"])
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
    assert (fresh_of(answer).newest_commit, fresh_of(answer).event_age_s) == (new, 600 - 299)
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
    table = type(table)(**{**{name: getattr(table, name) for name in type(table).model_fields}, "snapshots": commits})

    answer = judges(
        "freshness", ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})
    )

    assert answer.verdict is verdict
