"""What the job had committed before has expired: what numbers, Flink's lists and rows still tell of it."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.diagnosis import (
    _lost_and_expired,
    commits_withheld,
    no_snapshot_advanced,
    recovered_by_itself,
    restarted_from_empty,
    restored_from_older_savepoint,
    rolled_back_while_running,
)
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.findings import GapsFinding
from bot.domain.flink import CheckpointKind
from bot.domain.ids import OperatorId, short
from bot.domain.table import HeadMove, Ref
from spark_tasks import _tails
from tests.cases import OPERATOR, Tale, job_id
from tests.diagnosis.test_clocks import in_format_v1
from tests.found import hole


def compacted(*reached: int) -> Tale:
    """Run a has committed these; main is compacted, and all but the compaction expires; then a is canceled."""
    tale = Tale().flink_runs("a").remembers("a", *reached).commits("a", *reached)
    rows = 10 * len(reached)
    tale.commits(None, operation="replace", rows=0).counts(
        deleted_records=rows, added_records=rows, total_records=rows, added_data_files=1, deleted_data_files=3
    )
    return tale.expires("a", *reached).becomes("a", "CANCELED")


def anew(*commits: int) -> Tale:
    """Run b is started without state over what run a had committed up to 3."""
    tale = compacted(1, 2, 3).flink_runs("b")
    for checkpoint in commits:
        tale.completes("b", checkpoint).commits("b", checkpoint)
    return tale


@pytest.mark.parametrize("commits", [(), (1, 2)], ids=["silent", "with commits"])
def test_a_start_without_state_over_expired_commits_is_not_ruled_out(commits: tuple[int, ...]) -> None:
    """Flink lists a run of the job that had completed checkpoints; it was healthy, and complete."""
    case = anew(*commits).looked_at()

    for examine in (restarted_from_empty.examine, recovered_by_itself.examine):
        found = examine(case)
        assert isinstance(found, CannotTell)


def test_without_an_earlier_run_rows_that_were_counted_settle_it() -> None:
    """So a first deployment over a table that others had filled, and compacted, gets healthy."""
    young, old = anew().forgets("a").looked_at(), anew(1).forgets("a").looked_at()

    assert [CannotTell, Excluded] == [type(restarted_from_empty.examine(case)) for case in (young, old)]
    assert [CannotTell, Matches] == [type(recovered_by_itself.examine(case)) for case in (young, old)]


def test_rows_that_nobody_has_counted_since_are_asked_for() -> None:
    """By whoever diagnoses."""
    case = anew(1).forgets("a").looked_at()

    found = restarted_from_empty.examine(case.model_copy(update={"duplicates": None}))

    assert isinstance(found, CannotTell)
    assert ("duplicate_rows",) == found.asks


def test_a_run_that_began_before_all_that_is_listed_is_none() -> None:
    """Its own older commits have expired, night by night."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2, 3).commits("a", 1, 2, 3).expires("a", 1, 2)

    assert isinstance(restarted_from_empty.examine(tale.looked_at()), Excluded)
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


@pytest.mark.parametrize("duplicates", [10, 0])
def test_a_start_below_all_that_is_listed_may_explain_wrong_rows(duplicates: int) -> None:
    """Only commits of the run without state are left; what it brought twice is still there."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2).commits("a", 1, 2).becomes("a", "CANCELED")
    tale.flink_runs("b").completes("b", 1, 2).commits("b", 1, 2).expires("a", 1, 2).expires("b", 1)

    assert isinstance(restarted_from_empty.examine(tale.looked_at(duplicates=duplicates)), CannotTell)


def test_a_table_of_which_nothing_has_expired_tells_all() -> None:
    """An earlier run had completed checkpoints, and brought nothing."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2).becomes("a", "CANCELED").flink_runs("b")
    tale.completes("b", 1).commits("b", 1)

    assert isinstance(restarted_from_empty.examine(tale.looked_at()), Excluded)


def restored(number: int, path: str | None) -> Case:
    """Run b was restored from this point of run a, which had completed 4 checkpoints."""
    tale = compacted(1, 2, 3, 4).flink_runs("b").came_from("b", number, "")
    run = tale.runs["b"]
    assert run.restored is not None
    tale.runs["b"] = run.model_copy(update={"restored": run.restored.model_copy(update={"path": path})})
    return tale.looked_at()


@pytest.mark.parametrize("path", [f"s3://state/{job_id('a')}/chk-2", None])
def test_an_older_point_shows_by_the_checkpoints_that_flink_lists(path: str | None) -> None:
    """Main has lost the commits of 3 and 4 to expiry."""
    case = restored(2, path)

    for examine in (restored_from_older_savepoint.examine, recovered_by_itself.examine):
        found = examine(case)
        assert isinstance(found, CannotTell)


def test_the_newest_point_is_right_whatever_has_expired() -> None:
    """Nothing that Flink lists is newer; only a rollback before the compaction may have taken rows."""
    case = restored(4, f"s3://state/{job_id('a')}/chk-4")

    found = recovered_by_itself.examine(case)

    assert not isinstance(restored_from_older_savepoint.examine(case), Matches)
    assert isinstance(found, CannotTell)


def test_a_later_savepoint_is_no_commit() -> None:
    """An intermediate one commits nothing by itself."""
    case = restored(3, f"s3://state/{job_id('a')}/chk-3")
    jobs = case.observation.jobs.values
    a = next(run for run in jobs if run.job_id == job_id("a"))
    told = (a.checkpoints[0].model_copy(update={"kind": CheckpointKind.SAVEPOINT}), *a.checkpoints[1:])
    a = a.model_copy(update={"checkpoints": told})
    seen = case.observation.jobs.model_copy(update={"values": (*(r for r in jobs if r.job_id != a.job_id), a)})
    case = case.model_copy(update={"observation": case.observation.model_copy(update={"jobs": seen})})

    assert not isinstance(restored_from_older_savepoint.examine(case), Matches)


def compacts(tale: Tale, rows: int) -> Tale:
    """Main is compacted; the rows lie in one file then."""
    return tale.commits(None, operation="replace", rows=0).counts(
        deleted_records=rows, added_records=rows, total_records=rows, added_data_files=1, deleted_data_files=3
    )


def under_its_id(*commits: int) -> Tale:
    """Run a committed 1 and 2, main was compacted, and a starts again from its checkpoint 1; only the compaction is
    left of what was there before."""
    tale = compacts(Tale().flink_runs("a").remembers("a", 1, 2).commits("a", 1, 2), rows=20)
    tale.expires("a", 1, 2).forgets("a").flink_runs("a").came_from("a", 1, f"s3://state/{job_id('a')}/chk-1")
    return tale.remembers("a", *commits).commits("a", *commits) if commits else tale


def test_a_silent_run_under_its_job_id_is_neither_healthy_nor_without_a_fault() -> None:
    """A JobManager that takes over from the newest checkpoint looks the same: nothing tells before its rows come."""
    case = under_its_id().looked_at()

    for examine in (commits_withheld.examine, recovered_by_itself.examine):
        found = examine(case)
        assert isinstance(found, CannotTell)


def test_its_first_rows_settle_it_once_they_were_counted() -> None:
    """No key lives twice, and no position is missing."""
    case = under_its_id(3).looked_at()

    assert isinstance(commits_withheld.examine(case), Excluded)
    assert isinstance(recovered_by_itself.examine(case), Matches)


def test_rows_that_nobody_has_counted_are_asked_for() -> None:
    """By whoever diagnoses."""
    found = commits_withheld.examine(under_its_id(3).looked_at().model_copy(update={"duplicates": None}))

    assert isinstance(found, CannotTell)
    assert ("duplicate_rows",) == found.asks


def test_a_compaction_after_the_restore_hides_no_older_point() -> None:
    """All that main lists is younger than the run, which has done nothing; Flink lists a later checkpoint."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2).commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b")
    tale.came_from("b", 1, f"s3://state/{job_id('a')}/chk-1")
    case = compacts(tale, rows=20).expires("a", 1, 2).looked_at()

    for examine in (restored_from_older_savepoint.examine, recovered_by_itself.examine):
        found = examine(case)
        assert isinstance(found, CannotTell)


def test_only_its_own_commits_are_left() -> None:
    """Run b may have read 10 rows again, under other keys: how far its positions reach is not known."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2).commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b")
    tale.came_from("b", 1, f"s3://state/{job_id('a')}/chk-1").completes("b", 3).commits("b", 3)
    tale.counts(total_records=30).expires("a", 1, 2)
    gaps = GapsFinding(lowest=0, highest=19, positions=20, missing=0, gaps=())

    assert isinstance(restored_from_older_savepoint.examine(tale.looked_at(gaps=gaps)), CannotTell)


def test_a_run_in_between_had_gone_on() -> None:
    """Run c went back to run a's newest checkpoint, though run b had gone on from there since."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2).commits("a", 1, 2).becomes("a", "CANCELED")
    tale.flink_runs("b").came_from("b", 2, f"s3://state/{job_id('a')}/chk-2").completes("b", 3).commits("b", 3)
    tale.becomes("b", "CANCELED").flink_runs("c").came_from("c", 2, f"s3://state/{job_id('a')}/chk-2")
    case = compacts(tale, rows=30).expires("a", 1, 2).expires("b", 3).looked_at()

    found = restored_from_older_savepoint.examine(case)

    assert isinstance(found, CannotTell)


@pytest.mark.parametrize("listed", [(1, 2), ()], ids=["with its checkpoints", "only its end"])
def test_a_start_without_state_that_has_brought_no_rows_is_in_doubt(listed: tuple[int, ...]) -> None:
    """Its empty commit is all that is left, and Flink lists a run before it."""
    tale = Tale().flink_runs("a").remembers("a", *listed).commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b")
    case = tale.completes("b", 10).commits("b", 10, rows=0).expires("a", 1, 2).looked_at()

    for examine in (restarted_from_empty.examine, recovered_by_itself.examine):
        found = examine(case)
        assert isinstance(found, CannotTell)


GUEST, SECOND = OperatorId("ee" * 16), OperatorId("dd" * 16)


def set_back(*lost: int) -> Tale:
    """Run a committed up to checkpoint 5, main was set back, and these have expired; the log goes with them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    if lost:
        tale.rolls_back_to("a", min(lost) - 1).expires("a", *lost)
        tale.moves = [HeadMove(at=tale.now, snapshot_id=tale.head)] if tale.head else []
    return tale


@pytest.mark.parametrize("completed", [(), (3, 4, 5)], ids=["forgotten", "listed"])
def test_the_job_is_not_healthy_while_it_has_not_committed_since(completed: tuple[int, ...]) -> None:
    """No orphan is left, and no checkpoint need be listed by Flink any more."""
    found = recovered_by_itself.examine(set_back(3, 4, 5).completes("a", *completed).looked_at())

    assert isinstance(found, CannotTell)


def test_a_table_that_stands_still_is_not_called_right() -> None:
    """The job died before its next commit."""
    found = no_snapshot_advanced.examine(set_back(3, 4, 5).becomes("a", "FAILED").looked_at())

    assert isinstance(found, CannotTell)


@pytest.mark.parametrize("alive", [True, False], ids=["alive", "down"])
def test_format_v1_has_no_numbers_and_its_log_tells(alive: bool) -> None:
    """Main came to its newest commit later than that was made."""
    tale = in_format_v1(set_back(3, 4, 5).becomes("a", "RUNNING" if alive else "FAILED"))

    found = (recovered_by_itself if alive else no_snapshot_advanced).examine(tale.looked_at())

    assert isinstance(found, CannotTell)
    assert any("it came back to" in each for each in found.missing)


def test_in_format_v1_the_next_commit_settles_it_too() -> None:
    """Main has only gone forward since."""
    tale = in_format_v1(set_back(3, 4, 5).commits("a", 6))

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


def test_evidence_vouches_for_what_lies_below_a_later_commit() -> None:
    """Positions of lost rows would be missing there."""
    assert isinstance(recovered_by_itself.examine(set_back(3, 4, 5).commits("a", 6).looked_at()), Matches)


def test_expiry_of_the_oldest_leaves_a_table_healthy() -> None:
    """They were below all that is listed."""
    assert isinstance(recovered_by_itself.examine(set_back().expires("a", 1, 2, 3).looked_at()), Matches)


WITHOUT_LATER_ROWS: dict[str, Callable[[Tale], Tale]] = {
    "an empty commit": lambda tale: tale.commits("a", 13).counts(added_records=0),
    "a compaction": lambda tale: tale.commits(None, rows=20, operation="replace").counts(deleted_records=20),
    "a guest's append": lambda tale: tale.commits("z", 500).by_sink(GUEST),
}


@pytest.mark.parametrize("on_top", WITHOUT_LATER_ROWS.values(), ids=WITHOUT_LATER_ROWS)
def test_what_brings_no_row_of_the_job_settles_nothing(on_top: Callable[[Tale], Tale]) -> None:
    """No later position is there below which lost ones would be missing."""
    tale = on_top(set_back(3, 4, 5))

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, CannotTell)


@pytest.mark.parametrize("on_top", WITHOUT_LATER_ROWS.values(), ids=WITHOUT_LATER_ROWS)
def test_nor_does_it_where_the_job_has_died(on_top: Callable[[Tale], Tale]) -> None:
    """Nobody is told that the table is right."""
    found = no_snapshot_advanced.examine(on_top(set_back(3, 4, 5)).becomes("a", "FAILED").looked_at())

    assert isinstance(found, CannotTell)


@pytest.mark.parametrize("on_top", WITHOUT_LATER_ROWS.values(), ids=WITHOUT_LATER_ROWS)
def test_a_table_that_lost_nothing_stays_healthy_below_it(on_top: Callable[[Tale], Tale]) -> None:
    """Also where ordinary expiry has left one commit with rows of the job."""
    tale = on_top(set_back())
    whole = recovered_by_itself.examine(tale.looked_at())

    short = recovered_by_itself.examine(tale.expires("a", 1, 2, 3, 4).looked_at())

    assert isinstance(whole, Matches)
    assert isinstance(short, Matches)


@pytest.mark.parametrize("lost", [(), (3, 4, 5)], ids=["nothing", "three commits"])
@pytest.mark.parametrize("on_top", WITHOUT_LATER_ROWS.values(), ids=WITHOUT_LATER_ROWS)
def test_nobody_can_tell_while_main_lists_no_commit_with_rows_of_the_job(
    on_top: Callable[[Tale], Tale], lost: tuple[int, ...]
) -> None:
    """What is left was made after all that may have been lost, so no sequence number is missing above it."""
    tale = on_top(set_back(*lost)).expires("a", *({1, 2, 3, 4, 5} - set(lost)))

    tale.counts(total_records=40)

    for examine in (recovered_by_itself.examine, rolled_back_while_running.examine):
        found = examine(tale.looked_at())
        assert isinstance(found, CannotTell)
    after = tale.commits("a", 14).looked_at()
    assert isinstance(recovered_by_itself.examine(after), Matches)
    assert isinstance(rolled_back_while_running.examine(after), Excluded)


def test_a_run_without_state_holds_nothing_of_what_main_may_have_lost_before() -> None:
    """A new job over a table that another engine had filled, and where it has written nothing yet."""
    tale = Tale().commits(None, rows=10).counts(total_records=40).flink_runs("a")

    assert isinstance(rolled_back_while_running.examine(tale.looked_at()), Excluded)


@pytest.mark.parametrize("rows", [1, 5], ids=["one commit", "several"])
def test_nor_does_a_guest_under_the_same_uid(rows: int) -> None:
    """Flink lists the run that wrote the table, and not this one."""
    tale = set_back(3, 4, 5).commits("z", *range(6, 6 + rows))

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, CannotTell)


def redeployed(tale: Tale, restored: int) -> Tale:
    """Run b goes on where a had stopped, which Flink lists no more, and is quiet."""
    return tale.becomes("a", "FINISHED").flink_runs("b", restored=restored).forgets("a")


@pytest.mark.parametrize("sink", [GUEST, OPERATOR], ids=["by its own sink", "under the same uid"])
def test_nor_does_a_guest_while_the_listed_run_has_committed_nothing(sink: OperatorId) -> None:
    """No listed run tells by which sink the job commits."""
    tale = redeployed(set_back(3, 4, 5), 2).commits("z", 3).by_sink(sink)

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, CannotTell)


def test_rows_of_a_run_that_flink_has_forgotten_settle_it() -> None:
    """It committed before the job's first listed run began."""
    tale = redeployed(set_back(3, 4, 5).commits("a", 6), 6)

    quiet = recovered_by_itself.examine(tale.looked_at())
    going_on = recovered_by_itself.examine(tale.commits("b", 7).looked_at())

    assert isinstance(quiet, Matches)
    assert isinstance(going_on, Matches)


def test_the_rows_of_one_sink_settle_nothing_of_another() -> None:
    """Each reads its own part of the source."""
    tale = Tale().flink_runs("a").commits("a", 1).by_sink(SECOND).commits("a", 1, 2, 3)
    tale.rolls_back_to("a", 2).expires("a", 3)
    tale.moves = [HeadMove(at=tale.now, snapshot_id=tale.at("a", 2))]

    first = recovered_by_itself.examine(tale.commits("a", 4).by_sink(SECOND).looked_at())

    assert isinstance(first, CannotTell)
    assert any("1 snapshot newer than …003003" in each for each in first.missing)
    assert isinstance(recovered_by_itself.examine(tale.commits("a", 5).looked_at()), Matches)


def test_of_a_source_in_partitions_several_commits_settle_it() -> None:
    """One that was lost as a whole is silent, and `missing_positions` asks why after so many."""
    few, several = range(6, 10), range(6, 11)

    found = recovered_by_itself.examine(_in_partitions(set_back(3, 4, 5).commits("a", *few)))

    assert _tails.SEVERAL == _lost_and_expired.SEVERAL
    assert isinstance(found, CannotTell)
    assert any(each.endswith("has committed rows 5 times more") for each in found.missing)
    assert isinstance(recovered_by_itself.examine(_in_partitions(set_back(3, 4, 5).commits("a", *several))), Matches)


def _in_partitions(tale: Tale) -> Case:
    case = tale.looked_at()
    return case.model_copy(update={"contract": case.contract.model_copy(update={"position_partition": "part"})})


OTHER_SINK = OperatorId("ee" * 16)
FROM_30 = GapsFinding(lowest=30, highest=49, positions=20, missing=0, gaps=())


def replaced(tale: Tale) -> Tale:
    """Main has no commit any more; what it had is listed until it expires."""
    tale.head = None
    return tale


def three_commits() -> Tale:
    """By a run that began without state."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def goes_on() -> Tale:
    """The job commits its next checkpoint as the first of a new main, and expiry takes all before."""
    return replaced(three_commits()).commits("a", 4, 5).expires("a", 1, 2, 3)


def fills(tale: Tale) -> Tale:
    """Another job fills the new table."""
    return replaced(tale).commits("z", 7).by_sink(OTHER_SINK)


def is_filled_by_another() -> Tale:
    """Its commit lies below those of this one."""
    return fills(three_commits()).commits("a", 4).expires("a", 1, 2, 3)


def is_restored_onto_it() -> Tale:
    """Another run brings the state of the one before."""
    tale = replaced(three_commits()).becomes("a", "FINISHED").flink_runs("b", restored=3)
    return tale.commits("b", 4, 5).expires("a", 1, 2, 3).forgets("a")


def has_not_committed_since() -> Tale:
    """What it committed is gone, and main has another job's commit alone."""
    return fills(three_commits()).expires("a", 1, 2, 3)


def is_restored_onto_a_filled_one() -> Tale:
    """The state came from before, although the run itself began after the replacement."""
    tale = fills(three_commits().becomes("a", "FINISHED")).flink_runs("b", restored=3)
    return tale.commits("b", 4).expires("a", 1, 2, 3)


REPLACED = [goes_on, is_restored_onto_a_filled_one, is_filled_by_another, is_restored_onto_it, has_not_committed_since]


def says_so(case: Case) -> bool:
    """Whether `healthy` cannot tell for that reason."""
    found = recovered_by_itself.examine(case)
    return isinstance(found, CannotTell) and any("replaced under its job" in each for each in found.missing)


@pytest.mark.parametrize("tell", REPLACED)
def test_a_table_that_was_replaced_is_not_healthy_once_what_it_had_has_expired(tell: Callable[[], Tale]) -> None:
    """No older commit is listed, no file is left, and no position is missing among those that live."""
    tale = tell()

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30))

    assert isinstance(found, CannotTell)
    root = short(tale.table.chain[-1].snapshot_id)
    assert any(f"before {root}, with which it begins anew, without a parent" in each for each in found.missing)
    assert any("by the sequence numbers, 3 older snapshots are listed no more" in each for each in found.missing)
    assert any(each.endswith(f"with a window that begins after {root}") for each in found.missing)


def test_what_pyiceberg_has_taken_out_lies_below_what_is_called_complete() -> None:
    """The answer says from where on, and that older files were not tried."""
    tale = taken_out_by_pyiceberg()

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30))

    assert isinstance(found, Matches)
    assert f"complete from {short(tale.at('a', 4))}" in found.headline
    assert any("Files of older commits were not tried" in each for each in found.reasons)


def test_checkpoints_of_what_pyiceberg_has_taken_out_are_no_commits_without_a_trace() -> None:
    """Flink lists them still, and nobody has to look for their files."""
    tale = taken_out_by_pyiceberg().completes("a", 1, 2, 3)
    tale.now += timedelta(minutes=1)

    assert isinstance(recovered_by_itself.examine(tale.looked_at(gaps=FROM_30, orphans=None)), Matches)


def test_a_compaction_whose_parent_pyiceberg_has_taken_out_rewrote_what_main_had() -> None:
    """It counts what it replaced, and totals that fit."""
    tale = three_commits().commits(None, rows=30, operation="replace")
    tale.counts(deleted_records=30, total_records=30).commits("a", 4).expires("a", 1, 2, 3)
    tale.snapshots[0] = tale.snapshots[0].model_copy(update={"parent_id": None})

    assert isinstance(recovered_by_itself.examine(tale.looked_at(gaps=FROM_30)), Matches)


def test_what_is_listed_still_is_not_counted() -> None:
    """One commit from before the upgrade to format v2, which has number 0, and one from since are kept by tags."""
    tale = Tale().flink_runs("a").commits(None).commits(None).commits("a", 1)
    kept = [each.snapshot_id for each in tale.snapshots[:2]]
    tale.refs = [Ref(name=f"month-{each}", kind="tag", snapshot_id=each) for each in kept]
    tale = replaced(tale).commits("a", 2).expires("a", 1)
    tale.snapshots = [each.model_copy(update={"sequence_number": each.sequence_number - 1}) for each in tale.snapshots]

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30))

    assert isinstance(found, CannotTell)
    assert any("by the sequence numbers, 1 older snapshot is listed no more" in each for each in found.missing)


def test_a_job_that_stands_still_over_it_does_not_leave_the_table_right() -> None:
    """Whoever recovers the job alone would never miss the rows."""
    found = no_snapshot_advanced.examine(goes_on().becomes("a", "FAILED").looked_at(gaps=FROM_30))

    assert isinstance(found, CannotTell)
    assert any("replaced under its job" in each for each in found.missing)


def test_of_what_came_since_it_can_be_said() -> None:
    """The answer names the window to ask with."""
    tale = goes_on().commits("a", 6)

    found = recovered_by_itself.examine(tale.looked_at(since=tale.at("a", 4), gaps=FROM_30))

    assert isinstance(found, Matches)
    assert f"complete from {short(tale.at('a', 4))}" in found.headline


def young() -> Tale:
    """Its first checkpoints had no rows."""
    return Tale().flink_runs("a").commits("a", 4, 5)


def taken_out_by_iceberg() -> Tale:
    """The oldest listed commit names a parent that is gone."""
    return three_commits().commits("a", 4, 5).expires("a", 1, 2, 3)


def taken_out_by_pyiceberg() -> Tale:
    """It takes the parent's id away too; rows that the commit did not bring were there before it."""
    tale = three_commits().commits("a", 4).counts(total_records=40).commits("a", 5).expires("a", 1, 2, 3)
    tale.snapshots[0] = tale.snapshots[0].model_copy(update={"parent_id": None})
    return tale


def rolled_back_to_the_first() -> Tale:
    """And table and job went back together; what was lost has expired."""
    tale = three_commits().rolls_back_to("a", 1).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=1).commits("b", 2, 3).expires("a", 2, 3)


def without_numbers() -> Tale:
    """Format v1 has none, also where the table was upgraded since."""
    tale = young().commits("a", 6)
    tale.numbers_snapshots = False
    tale.snapshots = [each.model_copy(update={"sequence_number": 0}) for each in tale.snapshots]
    return tale


def upgraded() -> Tale:
    """Commits from before the upgrade to v2 keep number 0, and stay listed."""
    tale = Tale().flink_runs("a").commits("a", 4, 5).commits("a", 6)
    tale.snapshots = [each.model_copy(update={"sequence_number": n}) for n, each in enumerate(tale.snapshots)]
    return tale


def staged_first() -> Tale:
    """Write-audit-publish before main had anything, and that is listed still."""
    return Tale().flink_runs("a").stages(None, 0).commits("a", 2, 3)


def begun_on_purpose() -> Tale:
    """A new table under the old name, for a job that begins at its source's beginning."""
    tale = replaced(three_commits()).becomes("a", "FINISHED").flink_runs("b")
    return tale.commits("b", 1, 2).expires("a", 1, 2, 3).forgets("a")


def begun_on_a_filled_one() -> Tale:
    """The job was started without state after the replacement, and its first checkpoints had no rows."""
    tale = fills(three_commits().becomes("a", "FINISHED")).expires("a", 1, 2, 3)
    return tale.flink_runs("b").commits("b", 3, 4)


@pytest.mark.parametrize(
    "tell",
    [
        young,
        taken_out_by_iceberg,
        taken_out_by_pyiceberg,
        rolled_back_to_the_first,
        without_numbers,
        upgraded,
        staged_first,
        begun_on_purpose,
        begun_on_a_filled_one,
    ],
)
def test_what_only_looks_like_it_is_left_alone(tell: Callable[[], Tale]) -> None:
    """Histories in which the job has lost nothing to a replacement."""
    found = recovered_by_itself.examine(tell().looked_at(gaps=FROM_30))

    assert isinstance(found, Matches), found


@pytest.mark.parametrize("tell", REPLACED)
def test_where_the_sources_first_position_is_there_nothing_lies_below(tell: Callable[[], Tale]) -> None:
    """The rows were put back, or read again."""
    assert not says_so(tell().looked_at(gaps=hole(0)))


def test_a_branch_that_was_there_before_main_leaves_it_open() -> None:
    """Expiry has left its newest: those below it may have been main's once, or the branch's own."""
    tale = Tale().flink_runs("a").commits(None).commits(None)
    tale.refs = [Ref(name="audit", kind="branch", snapshot_id=tale.snapshots[-1].snapshot_id)]
    tale = replaced(tale).commits("a", 4, 5)
    tale.snapshots = tale.snapshots[1:]

    assert says_so(tale.looked_at(gaps=FROM_30))


@pytest.mark.parametrize("log_is_cut", [False, True])
def test_a_tag_below_what_pyiceberg_has_taken_out_is_no_replaced_line(log_is_cut: bool) -> None:
    """It keeps the tagged commit, and in the log too, until Iceberg's own expiry cuts that: main lies on what is gone,
    and was never begun anew."""
    tale = three_commits().trusts("a", 1).commits("a", 4).counts(total_records=40).commits("a", 5).expires("a", 2, 3)
    tale.snapshots[1] = tale.snapshots[1].model_copy(update={"parent_id": None})
    tale.moves = tale.moves[1:] if log_is_cut else tale.moves

    found = recovered_by_itself.examine(tale.looked_at(gaps=FROM_30))

    assert isinstance(found, Matches), found
