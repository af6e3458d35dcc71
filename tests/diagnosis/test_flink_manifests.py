"""F7 to F9 and F12: Flink manifests that are owed, unread, untold, or owed by a sink that lost its state."""

from typing import Any

import pytest

from bot.diagnosis import (
    cleanup_deleted_files,
    commits_withheld,
    last_commit_expired,
    restore_misses_flink_manifest,
    sink_lost_its_state,
    source_positions_skipped,
)
from bot.diagnosis import commits_withheld as f3
from bot.diagnosis import sink_lost_its_state as f12
from bot.diagnosis._support.case import may_be_missing
from bot.diagnosis._support.leaks import came_again, can_be_appended, in_words
from bot.history.case import Case
from bot.history.unread_points import rows_told
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.evidence import Verdict
from bot.observation.findings import GapsFinding, LastCommit, LeakedManifestsFinding, LeakStanding, PositionGap
from bot.observation.ids import CheckpointId
from bot.observation.looked import NotSeen
from bot.service.watching.signs import leaked
from tests.cases import OPERATOR, Tale, job_id
from tests.diagnosis.test_health import pinned
from tests.diagnosis.test_lost_sinks import changed, commits_as_new
from tests.found import leaks, point, points, retention

f7, f8, f9 = restore_misses_flink_manifest, last_commit_expired, cleanup_deleted_files


def rolled_back(*, in_cause: bool = False) -> Tale:
    """As run on Flink 1.20.3: rolled back to 3 under the running job, then a failover that looks for 9."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 10)).rolls_back_to("a", 3)
    return tale.flink_runs("a", restored=9, v1=True, state="RESTARTING").misses_manifest(
        "a", "a", 9, times=3, in_cause=in_cause
    )


def expired() -> Tale:
    """E of the experiments: another engine appended, maintenance kept one snapshot, the job failed over."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).commits(None).expires("a", 1, 2, 3)
    return tale.flink_runs("a", restored=3, v1=True, state="RESTARTING").misses_manifest("a", "a", 3, times=3)


def cleaned_up() -> Tale:
    """A cleanup took the manifest of checkpoint 4 before it was committed."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).completes("a", 4)
    return tale.flink_runs("a", restored=4, v1=True, state="RESTARTING").misses_manifest("a", "a", 4, times=3)


@pytest.mark.parametrize(("tale", "which"), [(rolled_back(), f7), (expired(), f8), (cleaned_up(), f9)])
def test_one_symptom_has_one_cause(tale: Tale, which: object) -> None:
    """Rolled back: F7. No snapshot of the run is listed: F8. Older ones on main, and no rollback: F9."""
    case = tale.looked_at()

    found = [mode for mode in (f7, f8, f9) if isinstance(mode.examine(case), Matches)]

    assert [which] == found


@pytest.mark.parametrize("in_cause", [False, True])
def test_the_file_is_told_by_the_exception_or_by_its_cause(in_cause: bool) -> None:
    """Flink often wraps what the sink threw."""
    found = f7.examine(rolled_back(in_cause=in_cause).looked_at())

    assert "3 times since its last checkpoint" in found.reasons[0]


def test_a_rollback_with_nothing_on_top_is_put_back() -> None:
    """The head returns to the commit that the state expects; the lost commits are the rows."""
    tale = rolled_back()

    found = f7.examine(tale.looked_at())

    assert (Remedy.RESTORE_LOST_COMMITS, tale.at("a", 3), None) == (found.remedy, found.last_good, found.wrong_run)
    assert {tale.at("a", c) for c in range(4, 10)} == set(found.rows)


def test_a_point_that_pairs_with_the_head_spares_the_table() -> None:
    """The job goes back to the rolled-back head, and reads the rest again."""
    tale = rolled_back()

    found = f7.examine(tale.looked_at(pairing=points(point(job_id("a"), 3, tale.at("a", 3)))))

    assert Remedy.RESTORE_JOB_AT_HEAD is found.remedy


def test_commits_on_top_of_the_rollback_leave_only_the_rewind() -> None:
    """Set back, the head would lose what another run committed; the run that fails came from the wrong state."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 10)).becomes("a", "FINISHED").rolls_back_to("a", 3)
    tale.flink_runs("b", restored=3, v1=True).commits("b", 4, 5).becomes("b", "CANCELED")
    tale.flink_runs("c", restored=9, v1=True, state="RESTARTING").misses_manifest("c", "a", 9)

    found = f7.examine(tale.looked_at())

    assert (Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, tale.head, job_id("c")) == (
        found.remedy,
        found.last_good,
        found.wrong_run,
    )


def test_a_manifest_that_is_listed_shows_an_outage() -> None:
    """The file is there: whoever restores the head now would undo a rollback for nothing."""
    tale = rolled_back()
    name = tale.runs["a"].failures[0].message.rsplit("/", 1)[-1]
    tale.leaves_manifest("a", 9)
    tale.manifests[-1] = tale.manifests[-1].model_copy(update={"path": f"s3://lake/sales/orders/metadata/{name}"})

    found = f7.examine(tale.looked_at())

    assert "storage was out" in found.reason


def test_a_listed_manifest_was_not_cleaned_up() -> None:
    """F9 needs the listing: with the file there it was an outage, and without a listing nobody knows."""
    tale = cleaned_up()
    path = tale.runs["a"].failures[0].message.rsplit(" ", 1)[-1]
    tale.leaves_manifest("a", 4)
    tale.manifests[-1] = tale.manifests[-1].model_copy(update={"path": path})
    blind = cleaned_up()
    blind.storage_down = True

    assert isinstance(f9.examine(tale.looked_at()), Excluded)
    assert isinstance(f9.examine(blind.looked_at()), CannotTell)


@pytest.mark.parametrize("tale", [rolled_back(), expired(), cleaned_up()])
def test_a_completed_checkpoint_ends_it(tale: Tale) -> None:
    """Failures from before it are history."""
    case = tale.completes("a", 12).looked_at()

    assert [] == [mode for mode in (f7, f8, f9) if not isinstance(mode.examine(case), Excluded)]


def test_a_file_that_flink_does_not_name_is_not_guessed() -> None:
    """A cut message leaves open which file it was."""
    tale = rolled_back()
    thrown = tale.runs["a"].failures[0].model_copy(update={"message": "NotFoundException: Failed to open input s"})
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failures": (thrown,)})

    found = f7.examine(tale.looked_at())

    assert "the name of the file" in found.missing[0]


def last(snapshot: int | None, *, expires_within_s: float | None = None) -> LastCommit:
    """Run `a`'s newest commit as retention sees it."""
    return LastCommit.model_validate(
        {
            "job_id": job_id("a"),
            "operator_id": OPERATOR,
            "snapshot_id": snapshot,
            "checkpoint_id": CheckpointId(3),
            "is_protected": False,
            "expires_within_s": expires_within_s,
        }
    )


def unlisted(state: str) -> Case:
    """Run `a` has committed, and the metadata lists nothing of it; it has not failed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).commits(None).expires("a", 1, 2, 3)
    return tale.becomes("a", state).looked_at(table_health=retention(last(None)))


@pytest.mark.parametrize(
    ("state", "remedy"), [("RUNNING", Remedy.PROTECT_LAST_COMMIT), ("FAILED", Remedy.CHANGE_OPERATOR_UID)]
)
def test_an_expired_last_commit_is_cured_by_what_the_run_does(state: str, remedy: Remedy) -> None:
    """A run that goes on commits again, and that commit is to be protected; one that stands cannot be restored."""
    found = f8.examine(unlisted(state))

    assert remedy is found.remedy


def test_a_last_commit_that_may_be_expired_soon_is_told() -> None:
    """Not yet the fault, but the reader should tag it today."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = f8.examine(tale.looked_at(table_health=retention(last(tale.at("a", 3), expires_within_s=7200))))

    assert "in 2.0 hours: tag it" in found.reason


def test_a_manifest_deleted_in_flight_is_read_again_from_a_point_that_pairs() -> None:
    """Its rows never reached the table, so the head is right and only the job goes back."""
    tale = cleaned_up()

    found = f9.examine(tale.looked_at(pairing=points(point(job_id("a"), 3, tale.at("a", 3)))))

    assert (Remedy.RESTORE_JOB_AT_HEAD, tale.head, None) == (found.remedy, found.last_good, found.wrong_run)


def test_without_a_point_to_go_to_the_source_is_read_again() -> None:
    """Looked, and none pairs anywhere on main."""
    found = f9.examine(cleaned_up().looked_at(pairing=points()))

    assert Remedy.REPLAY_SOURCE_RANGE is found.remedy


def looked_before(tale: Tale) -> Case:
    """`leaked_manifests` had found nothing."""
    return tale.looked_at(leaked=leaks())


def test_an_ended_runs_manifest_is_looked_at_first() -> None:
    """Whether it was owed is not known yet."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED").leaves_manifest("a", 3)
    tale.flink_runs("b", restored=2, of="a")

    found = sink_lost_its_state.examine(looked_before(tale))

    assert ("leaked_manifests",) == found.asks
    assert "checkpoint 3 of run aaaaaa came since" in found.missing[0]


def test_those_of_a_living_run_come_and_go() -> None:
    """Its sink deletes each with its commit."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3)

    assert isinstance(sink_lost_its_state.examine(looked_before(tale)), Excluded)


def test_only_what_the_restored_state_lists_was_owed() -> None:
    """Run b is silent; a savepoint that never knew of the manifest owes nothing of it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED").leaves_manifest("a", 2)
    tale.manifests[0] = tale.manifests[0].model_copy(update={"checkpoint_id": 3})
    tale.flink_runs("b", restored=3, of="a").keeps_point("a", 2, f"s3://state/{job_id('a')}/chk-3")
    leaked = leaks(*tale.manifests, standing=LeakStanding.LOST_STATE)
    unlisted = sink_lost_its_state.examine(tale.looked_at(leaked=leaked))
    name = tale.manifests[0].path.rsplit("/", 1)[-1]
    tale.points = [tale.points[0].model_copy(update={"pending_manifests": (name,)})]

    assert isinstance(unlisted, Excluded)
    assert isinstance(sink_lost_its_state.examine(tale.looked_at(leaked=leaked)), Matches)


UNKNOWN = "an unknown number of rows (1 manifest cannot be read)"


def unread(tale: Tale, standing: LeakStanding = LeakStanding.DROPPED) -> LeakedManifestsFinding:
    """The tale's manifests, none of which can be read."""
    found = leaks(*tale.manifests, standing=standing, rows=None)
    return found.model_copy(update={"lost_files": 0})


def passed_over() -> Tale:
    """Checkpoint 3 of run a is below what its run has committed."""
    return Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).commits("a", 5)


@pytest.mark.parametrize(
    ("rows", "many", "expected"),
    [(1, 0, "1 row"), (0, 0, "0 rows"), (20, 1, "at least 20 rows (1 manifest cannot be read)"), (0, 1, UNKNOWN)],
)
def test_rows_are_told_as_far_as_they_are_known(rows: int, many: int, expected: str) -> None:
    """Whatever could not be read is said beside the number."""
    assert rows_told(rows, many) == expected


def test_no_mode_says_that_there_were_none() -> None:
    """Neither the one that matches nor those that are excluded by it."""
    tale = passed_over()
    case = tale.looked_at(leaked=unread(tale), gaps=None)
    withheld = commits_withheld.examine(case)
    told = [
        in_words(unread(tale).manifests),
        " ".join(withheld.reasons) if isinstance(withheld, Matches) else "",
        *(
            found.reason if isinstance(found, Excluded) else ""
            for found in (source_positions_skipped.examine(tale.looked_at(missing=3, leaked=unread(tale))),)
        ),
    ]

    assert all(UNKNOWN in each for each in told), told


def test_a_lost_state_is_told_as_unknown() -> None:
    """The old sink's manifest is cut."""
    tale = commits_as_new(changed(), 5, 6)

    found = f12.examine(tale.looked_at(leaked=unread(tale, LeakStanding.LOST_STATE)))

    assert UNKNOWN in found.headline


def test_the_watch_tells_of_it() -> None:
    """It was silent where no file of a lost manifest could be counted."""
    tale = passed_over()

    sign = leaked(tale.looked_at(leaked=unread(tale)))

    assert UNKNOWN in sign.reasons[0]


UNSEEN = NotSeen(source="Flink", reason="It was away.", remedy="Ask again.")


def leftover(low: int | None, high: int | None) -> tuple[Tale, LeakedManifestsFinding]:
    """A job that is well, and a manifest of these positions below what it has committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).commits("a", 4, 5)
    found = leaks(*tale.manifests, standing=LeakStanding.UNTOLD)
    placed = found.manifests[0].model_copy(update={"position_from": low, "position_until": high})
    return tale, found.model_copy(update={"manifests": (placed,)})


def case_with(low: int | None, high: int | None, *, unseen: bool = False, **found: Any) -> Case:
    """All evidence in; that of manifests could not tell."""
    tale, leaked = leftover(low, high)
    case = pinned(tale.looked_at(leaked=leaked, **found), tale.at("a", 5))
    could_not = {"verdict": Verdict.INCONCLUSIVE, "could_not_look": (UNSEEN,) if unseen else ()}
    told = [e.model_copy(update=could_not) if e.task == "leaked_manifests" else e for e in case.evidence]
    return case.model_copy(update={"evidence": tuple(told)})


@pytest.mark.parametrize(("gap", "expected"), [((40, 49), Matches), ((25, 34), CannotTell)])
def test_what_lies_beside_the_gap_is_not_what_is_missing(gap: tuple[int, int], expected: type) -> None:
    """Only a manifest whose positions reach into the gap may hold the missing rows (F18)."""
    missing = GapsFinding(
        lowest=0, highest=99, positions=90, missing=10, gaps=(PositionGap(first=gap[0], last=gap[1]),)
    )

    assert isinstance(source_positions_skipped.examine(case_with(20, 29, gaps=missing)), expected)
    assert isinstance(source_positions_skipped.examine(case_with(None, None, gaps=missing)), CannotTell)


@pytest.mark.parametrize(("missing", "expected"), [(1, Matches), (0, CannotTell)])
def test_deletes_that_were_passed_over_are_not_harmless(missing: int, expected: type) -> None:
    """F3: whether they were read again no position tells."""
    tale = passed_over()
    dropped = leaks(*tale.manifests, standing=LeakStanding.DROPPED, rows=0, deletes=12)

    found = f3.examine(tale.looked_at(leaked=dropped, missing=missing))

    assert isinstance(found, expected)
    assert "0 rows and 12 deletes" in str(found)


def test_a_manifest_that_lists_nothing_is_harmless() -> None:
    """Nothing is lost with it."""
    tale = passed_over()
    found = leaks(*tale.manifests, standing=LeakStanding.DROPPED, rows=0)
    nothing = found.model_copy(update={"manifests": (found.manifests[0].model_copy(update={"files": 0}),)})
    case = tale.looked_at(leaked=nothing, missing=3)

    assert came_again(nothing.manifests[0], case)
    assert () == may_be_missing(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.LEFT_OVER, rows=0)))
    assert leaked(case) is None


def test_untold_deletes_may_be_what_is_missing_and_the_watch_tells_lost_ones() -> None:
    """A delete leaves no position, and a leak of deletes is a leak."""
    tale = passed_over()
    untold = leaks(*tale.manifests, standing=LeakStanding.UNTOLD, rows=0, deletes=12)
    lost = leaks(*tale.manifests, standing=LeakStanding.DROPPED, rows=0, deletes=12)

    sign = leaked(tale.looked_at(leaked=lost))

    assert untold.manifests == may_be_missing(tale.looked_at(leaked=untold, missing=3))
    assert "wrote deletes that no commit contains" in sign.headline
    assert "0 rows and 12 deletes never committed; their files are all there" in in_words(lost.manifests)
    assert not can_be_appended(tale.looked_at(), lost.manifests)
