"""F7 to F9 and F12: Flink manifests that are owed, unread, untold, or owed by a sink that lost its state."""

from typing import Any

import pytest

from bot.diagnosis import (
    cleanup_deleted_files,
    commits_withheld,
    last_commit_expired,
    restore_misses_flink_manifest,
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
from bot.service.watching.findings import leaked
from tests.cases import OPERATOR, Tale, job_id
from tests.diagnosis.answers import Asks, LastGood, Rows, WrongRun, answer_table, check
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


@pytest.mark.parametrize("tale", [rolled_back(), expired(), cleaned_up()])
def test_a_completed_checkpoint_ends_it(tale: Tale) -> None:
    """Failures from before it are history."""
    case = tale.completes("a", 12).looked_at()

    assert [] == [mode for mode in (f7, f8, f9) if not isinstance(mode.examine(case), Excluded)]


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


def with_point(tale: Tale, checkpoint: int) -> Case:
    """A restore point pairs with run a's commit of this checkpoint."""
    return tale.looked_at(pairing=points(point(job_id("a"), checkpoint, tale.at("a", checkpoint))))


def rolled_back_below_others() -> Tale:
    """Another run has committed on top of the rollback; the run that fails came from the wrong state."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 10)).becomes("a", "FINISHED").rolls_back_to("a", 3)
    tale.flink_runs("b", restored=3, v1=True).commits("b", 4, 5).becomes("b", "CANCELED")
    return tale.flink_runs("c", restored=9, v1=True, state="RESTARTING").misses_manifest("c", "a", 9)


def listed(tale: Tale, checkpoint: int) -> Tale:
    """The file that Flink misses is there: storage was out."""
    name = tale.runs["a"].failures[0].message.rsplit("/", 1)[-1]
    tale.leaves_manifest("a", checkpoint)
    tale.manifests[-1] = tale.manifests[-1].model_copy(update={"path": f"s3://lake/sales/orders/metadata/{name}"})
    return tale


def unnamed() -> Tale:
    """The message is cut before the file's name."""
    tale = rolled_back()
    thrown = tale.runs["a"].failures[0].model_copy(update={"message": "NotFoundException: Failed to open input s"})
    return tale.shows("a", failures=(thrown,))


def blind() -> Tale:
    """Nobody could list the metadata folder."""
    tale = cleaned_up()
    tale.storage_down = True
    return tale


def unlisted(state: str) -> Case:
    """Run `a` has committed, and the metadata lists nothing of it; it has not failed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).commits(None).expires("a", 1, 2, 3)
    return tale.becomes("a", state).looked_at(table_health=retention(last(None)))


def ends_and_leaves() -> Tale:
    """Run a has left a manifest, and run b was restored from its checkpoint 2."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED").leaves_manifest("a", 3)
    return tale.flink_runs("b", restored=2, of="a")


def of_a_state(*, is_listed: bool) -> Case:
    """Run b is silent; the savepoint that it was restored from lists the manifest, or never knew of it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED").leaves_manifest("a", 2)
    tale.manifests[0] = tale.manifests[0].model_copy(update={"checkpoint_id": 3})
    tale.flink_runs("b", restored=3, of="a").keeps_point("a", 2, f"s3://state/{job_id('a')}/chk-3")
    name = tale.manifests[0].path.rsplit("/", 1)[-1]
    tale.points = [tale.points[0].model_copy(update={"pending_manifests": (name,) if is_listed else ()})]
    return tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.LOST_STATE))


def with_gap(first: int) -> GapsFinding:
    """Ten positions are missing from here on."""
    return GapsFinding(lowest=0, highest=99, positions=90, missing=10, gaps=(PositionGap(first=first, last=first + 9),))


def deletes(missing: int) -> Case:
    """A manifest without rows, and with deletes, was passed over: whether these came again no position tells."""
    dropped = leaks(*passed_over().manifests, standing=LeakStanding.DROPPED, rows=0, deletes=12)
    return passed_over().looked_at(leaked=dropped, missing=missing)


f18 = source_positions_skipped
SOON = retention(last(Tale().flink_runs("a").commits("a", 1, 2, 3).at("a", 3), expires_within_s=7200))
OWED = commits_as_new(changed(), 5, 6)


@answer_table(
    {
        "Flink names the file": (f7, rolled_back().looked_at(), Matches, "3 times since its last checkpoint"),
        "Flink has wrapped what the sink threw": (
            f7, rolled_back(in_cause=True).looked_at(), Matches, "3 times since its last checkpoint",
        ),
        "with nothing on top main is put back": (
            f7, rolled_back().looked_at(), Remedy.RESTORE_LOST_COMMITS, LastGood("a3"), WrongRun(None),
            Rows("a4 a5 a6 a7 a8 a9"),
        ),
        "a point that pairs with the head spares the table": (
            f7, with_point(rolled_back(), 3), Remedy.RESTORE_JOB_AT_HEAD,
        ),
        "commits on top leave only the rewind": (
            f7, rolled_back_below_others().looked_at(), Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, LastGood("head"),
            WrongRun("c"),
        ),
        "the file is there: storage was out (F7)": (
            f7, listed(rolled_back(), 9).looked_at(), Excluded, "storage was out",
        ),
        "the file is there: storage was out (F9)": (f9, listed(cleaned_up(), 4).looked_at(), Excluded),
        "nobody could list the folder": (f9, blind().looked_at(), CannotTell),
        "a file that Flink does not name is not guessed": (
            f7, unnamed().looked_at(), CannotTell, "the name of the file",
        ),
        "the last commit has expired, and the run goes on": (f8, unlisted("RUNNING"), Remedy.PROTECT_LAST_COMMIT),
        "the last commit has expired, and the run stands": (f8, unlisted("FAILED"), Remedy.CHANGE_OPERATOR_UID),
        "the last commit may be expired soon": (
            f8, Tale().flink_runs("a").commits("a", 1, 2, 3).looked_at(table_health=SOON), Excluded,
            "in 2.0 hours: tag it",
        ),
        "deleted in flight, and a point pairs": (
            f9, with_point(cleaned_up(), 3), Remedy.RESTORE_JOB_AT_HEAD, LastGood("head"), WrongRun(None),
        ),
        "deleted in flight, and none pairs": (
            f9, cleaned_up().looked_at(pairing=points()), Remedy.REPLAY_SOURCE_RANGE,
        ),
        "what an ended run left since the look is looked at first": (
            f12, ends_and_leaves().looked_at(leaked=leaks()), Asks("leaked_manifests"),
            "checkpoint 3 of run aaaaaa came since",
        ),
        "those of a living run come and go": (
            f12, Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).looked_at(leaked=leaks()), Excluded,
        ),
        "the restored state never knew of it": (f12, of_a_state(is_listed=False), Excluded),
        "the restored state lists it": (f12, of_a_state(is_listed=True), Matches),
        "of a lost state that cannot be read the number is unknown": (
            f12, OWED.looked_at(leaked=unread(OWED, LeakStanding.LOST_STATE)), Matches, UNKNOWN,
        ),
        "what lies beside the gap is not what is missing": (f18, case_with(20, 29, gaps=with_gap(40)), Matches),
        "what reaches into the gap may be": (f18, case_with(20, 29, gaps=with_gap(25)), CannotTell),
        "what lies anywhere may be": (f18, case_with(None, None, gaps=with_gap(25)), CannotTell),
        "deletes were passed over, and rows are missing": (f3, deletes(1), Matches, "0 rows and 12 deletes"),
        "deletes were passed over": (f3, deletes(0), CannotTell, "0 rows and 12 deletes"),
    }
)  # fmt: skip
def test_what_became_of_a_manifest(mode: Any, case: Case, expected: list[Any]) -> None:
    """One that is missed, owed, unread or left behind."""
    check(mode, case, expected)
