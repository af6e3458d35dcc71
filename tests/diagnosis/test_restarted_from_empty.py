"""F15: a start without state, told by Flink or by ids that begin at 1; what it did to the rows decides the cure."""

import pytest

from bot.diagnosis import commits_dropped_after_empty_start, restarted_from_empty, restored_from_older_savepoint
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.findings import RepeatedCommit
from bot.domain.ids import DRAINED, CheckpointId, OperatorId
from tests.cases import Tale, job_id
from tests.diagnosis.test_counted_since_the_start import counted_at
from tests.found import hole, repeats, twice


def started_empty() -> Tale:
    """Run a had committed 1 to 5; run b starts with no restore and commits 1 and 2."""
    return Tale().flink_runs("a").commits("a", *range(1, 6)).becomes("a", "CANCELED").flink_runs("b").commits("b", 1, 2)


@pytest.mark.parametrize(("duplicates", "missing"), [(20, 0), (0, 20)])
def test_a_start_without_state_that_harmed_rows_is_rewound(duplicates: int, missing: int) -> None:
    """Rows twice: the source began too early. Rows missing: too late. Both are cured by the newest checkpoint."""
    tale = started_empty()

    found = restarted_from_empty.examine(tale.looked_at(duplicates=duplicates, missing=missing))

    assert isinstance(found, Matches)
    assert (tale.at("a", 5), job_id("b"), Remedy.REWIND_TABLE_AND_JOB) == (
        found.last_good,
        found.wrong_run,
        found.remedy,
    )


def test_a_start_without_state_that_harmed_nothing_is_only_told() -> None:
    """Its source began in the right place; its windows and aggregates did not."""
    found = restarted_from_empty.examine(started_empty().looked_at())

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.TELL_CONSUMERS
    assert "aggregates began at nothing" in found.reasons[-1]


@pytest.mark.parametrize(("duplicates", "gaps"), [(None, hole(0)), (twice(0), None)])
def test_rows_that_nobody_counted_are_not_called_right(duplicates: object, gaps: object) -> None:
    """Without both counts the cure is the careful one."""
    case = started_empty().looked_at().model_copy(update={"duplicates": duplicates, "gaps": gaps})

    found = restarted_from_empty.examine(case)

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.REWIND_TABLE_AND_JOB
    assert found.reasons[-1].startswith("Not known yet")


def test_copies_under_new_keys_of_a_start_under_one_job_id_are_not_called_right() -> None:
    """Its checkpoint 1 brought the source range of the old checkpoint 1 again: each row lives twice, and no key."""
    tale = Tale().flink_runs("a", v1=True).remembers("a", 1, 2).commits("a", 1, 2).forgets("a")
    tale.flink_runs("a", v1=True).commits("a", 1)
    first, _, again = (s.snapshot_id for s in tale.table.snapshots)
    one = RepeatedCommit(
        first=first, again=again, how="same-checkpoint", job_id=job_id("a"), checkpoint_id=CheckpointId(1), rows=10
    )

    found = restarted_from_empty.examine(tale.looked_at(duplicate_commits=repeats(one)))

    assert isinstance(found, Matches)
    assert (Remedy.REWIND_TABLE_AND_JOB, ("replayed_rows",)) == (found.remedy, found.asks)


@pytest.mark.parametrize(("begins", "asks"), [(0, ("replayed_rows",)), (20, ())])
def test_a_source_that_began_below_what_is_listed_is_not_called_right(begins: int, asks: tuple[str, ...]) -> None:
    """What it brought again may have expired with its commits, and the copies have keys of their own."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b").commits("b", 1)
    case = tale.expires("a", 1).looked_at(gaps=hole(0).model_copy(update={"highest": max(19, begins + 9)}))
    assert case.ledger is not None
    bounds = zip(case.ledger.rows, ((10, 19), (begins, begins + 9)), strict=True)
    rows = tuple(row.model_copy(update={"position_from": low, "position_until": up}) for row, (low, up) in bounds)

    found = restarted_from_empty.examine(
        case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows})})
    )

    assert isinstance(found, Matches)
    assert (asks, bool(asks)) == (found.asks, found.remedy is Remedy.REWIND_TABLE_AND_JOB)


def test_where_the_source_ended_is_asked_for_where_the_window_does_not_hold_it() -> None:
    """It begins with the start itself, and the copies have keys of their own."""
    case = started_empty().looked_at(gaps=hole(0).model_copy(update={"highest": 19}))
    assert case.ledger is not None
    own = [row for row in case.ledger.rows if row.job_id == job_id("b")]
    rows = tuple(
        r.model_copy(update={"position_from": p, "position_until": p + 9}) for r, p in zip(own, (0, 10), strict=True)
    )

    found = restarted_from_empty.examine(
        case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows})})
    )

    assert isinstance(found, Matches)
    assert (Remedy.REWIND_TABLE_AND_JOB, ("replayed_rows",)) == (found.remedy, found.asks)
    assert any("the window does not hold that one" in each for each in found.reasons)


@pytest.mark.parametrize(("forgets", "expected"), [(False, Matches), (True, Excluded)])
def test_a_sink_that_was_renamed_with_it_hides_no_start(*, forgets: bool, expected: type) -> None:
    """Commits under another operator id are the job's where Flink lists their run, and may be another's where not."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")
    tale.flink_runs("b").commits("b", 5).by_sink(OperatorId("5e" * 16))
    tale = tale.forgets("a") if forgets else tale

    assert isinstance(restarted_from_empty.examine(tale.looked_at()), expected)


def test_ids_that_begin_at_one_again_show_it_without_flink() -> None:
    """After any restore the first id is higher."""
    found = restarted_from_empty.examine(started_empty().flink_is_down().looked_at())

    assert isinstance(found, Matches)


def test_a_silent_start_cannot_be_seen_without_flink() -> None:
    """Only Flink knows of a run that has committed nothing."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FAILED").flink_runs("b").flink_is_down()

    found = restarted_from_empty.examine(tale.looked_at())

    assert isinstance(found, CannotTell)


@pytest.mark.parametrize(("v1", "expected"), [(True, Matches), (False, Excluded)])
def test_under_one_job_id_the_sink_decides(v1: bool, expected: type) -> None:
    """The V1 sink commits what follows; the V2 sink drops it, which is F4."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", *range(1, 6)).forgets("a").flink_runs("a", v1=v1)

    found = restarted_from_empty.examine(tale.looked_at())

    assert isinstance(found, expected)


def test_under_one_job_id_an_unknown_sink_leaves_it_open() -> None:
    """Without the operators nobody can say whether commits will come or be dropped."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).forgets("a").flink_runs("a", vertices=False)

    found = restarted_from_empty.examine(tale.looked_at())

    assert isinstance(found, CannotTell)


def test_neither_a_restore_nor_the_first_run_is_a_start_without_state() -> None:
    """A run that Flink restored, and a run on a table without commits of the job."""
    restored = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED").flink_runs("b", restored=2)
    first = Tale().commits(None).flink_runs("a").commits("a", 1)

    found = [restarted_from_empty.examine(tale.looked_at()) for tale in (restored.commits("b", 3), first)]

    assert [Excluded, Excluded] == [type(one) for one in found]


def test_a_run_after_a_batch_job_is_none() -> None:
    """A drained commit ends a job on purpose: the next one has nothing to restore."""
    tale = Tale().flink_runs("a").commits("a", DRAINED).becomes("a", "FINISHED").flink_runs("b").commits("b", 1)

    found = restarted_from_empty.examine(tale.looked_at())

    assert isinstance(found, Excluded)


def test_its_neighbours_leave_it_alone() -> None:
    """Neither a restore from an older point (F2) nor dropped commits (F4)."""
    case = started_empty().looked_at(duplicates=20)

    found = [
        restored_from_older_savepoint.examine(case),
        commits_dropped_after_empty_start.examine(case),
    ]

    assert [Excluded, Excluded] == [type(one) for one in found]


@pytest.mark.parametrize("lists_writer", [True, False], ids=["both listed", "the living run"])
@pytest.mark.parametrize("path", [f"s3://state/{job_id('a')}/chk-5", None], ids=["another run's", "untold"])
def test_a_run_that_took_over_from_elsewhere_leaves_its_rows_open(path: str | None, lists_writer: bool) -> None:
    """Its point's id lies above those of the start without state, which began at 1, so ids accuse it of nothing."""
    tale = started_empty().becomes("b", "CANCELED").flink_runs("c").came_from("c", 5, path)
    tale = tale if lists_writer else tale.forgets("a").forgets("b")

    found = restarted_from_empty.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.REWIND_TABLE_AND_JOB
    first = f"the first rows of run {job_id('c')[:6]}, which was restored from"
    assert (
        first if path else "tells no path, and run aaaaaa has, or may have, completed that id before"
    ) in found.reasons[-1]


def test_a_run_that_took_over_from_the_start_itself_leaves_nothing_open() -> None:
    """The path of its restore names that run; and so do its own rows, once they were counted."""
    tale = started_empty().becomes("b", "CANCELED").flink_runs("c").came_from("c", 2, f"s3://state/{job_id('b')}/chk-2")
    silent = restarted_from_empty.examine(tale.looked_at())

    brought = restarted_from_empty.examine(tale.commits("c", 3).looked_at())

    assert isinstance(silent, Matches)
    assert isinstance(brought, Matches)
    assert [Remedy.TELL_CONSUMERS] * 2 == [silent.remedy, brought.remedy]


def test_rows_of_a_run_that_took_over_are_counted_too() -> None:
    """It is over since, and the run that goes on from it says nothing of where it had begun."""
    tale = started_empty()
    counted = counted_at(tale)
    tale.becomes("b", "CANCELED").flink_runs("c").came_from("c", 5, f"s3://state/{job_id('a')}/chk-5").commits("c", 6)

    found = restarted_from_empty.examine(tale.looked_at(evidence=counted))

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.REWIND_TABLE_AND_JOB
