"""`no-advance` and checkpoints that do not complete: the job does not go on over the table."""

from datetime import timedelta
from typing import Any

import pytest

import bot.diagnosis
from bot.diagnosis import checkpoint_folder_taken, checkpoints_failed, healthy
from bot.diagnosis import no_snapshot_advanced as mode
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.contract import TableContract
from bot.observation.evidence import Evidence
from bot.observation.findings import PairingFinding, PairVerdict
from bot.observation.flink import CheckpointKind, CheckpointSettings, StoredCheckpoint
from bot.observation.ids import DRAINED, CheckpointId
from bot.observation.looked import Seen
from bot.observation.table import Window
from tests.cases import NOON, Tale, job_id
from tests.diagnosis.answers import LastGood, answer_table, check
from tests.found import evidence, point, points


def given_up() -> Tale:
    """Three commits, and the run failed for good."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FAILED")


def looping() -> Tale:
    """The run fails and restarts."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 3).fails("a", times=3).becomes("a", "RESTARTING")


def forgotten() -> Tale:
    """The cluster knows no such job, and for longer than a sink is silent without rows nobody has committed."""
    return later(Tale().flink_runs("a").commits("a", 1, 2, 3).forgets("a"), minutes=10)


def counted_at(tale: Tale) -> Evidence:
    """No source position is missing, at the head as it is."""
    assert tale.head is not None
    return evidence("missing_positions", Window(since=None, until=tale.head), tale.now)


def later(tale: Tale, **passed: float) -> Tale:
    """So much time goes by."""
    tale.now += timedelta(**passed)
    return tale


@pytest.mark.parametrize(
    ("tale", "said"),
    [
        (given_up(), "is FAILED"),
        (given_up().shows("a", ended_at=None), "is FAILED"),
        (looping(), "failed 3 times"),
        (forgotten(), "knows no run"),
    ],
)
def test_a_job_that_stands_still_is_recovered_without_the_table(tale: Tale, said: str) -> None:
    """Failed, looping or gone: the head is right, and the point that pairs with it is named."""
    found = mode.examine(tale.looked_at(pairing=points(point(job_id("a"), 3, tale.at("a", 3)))))

    assert (Remedy.RESTORE_JOB_ONLY, tale.head, None) == (found.remedy, found.last_good, found.wrong_run)
    assert said in found.reasons[0]
    assert Remedy.RESTORE_JOB_ONLY.words == found.what_to_do
    assert "s3://state/savepoint-aaaaaa-3" in found.reasons[-1]


def kept(run: str, checkpoint: int) -> StoredCheckpoint:
    return StoredCheckpoint(
        path=f"s3://state/{job_id(run)}/chk-{checkpoint}",
        kind=CheckpointKind.CHECKPOINT,
        checkpoint_id=CheckpointId(checkpoint),
        job_id=job_id(run),
        written_at=NOON + timedelta(minutes=checkpoint),
    )


def with_points(case: Case, *points: StoredCheckpoint) -> Case:
    """Storage shows these."""
    seen = Seen[StoredCheckpoint](source="the folder of checkpoints", values=points)
    return case.model_copy(update={"observation": case.observation.model_copy(update={"checkpoints": seen})})


def beside_others() -> Tale:
    """Another engine has written the table, and the job's run begins."""
    return Tale().commits(None).flink_runs("a")


@pytest.mark.parametrize(
    ("pairing", "said"),
    [
        (points(), "holds no restore point that"),
        (points(point(job_id("a"), 4, None, PairVerdict.BEHIND)), "None of 1 restore point on storage"),
    ],
)
def test_without_a_point_that_fits_it_says_so(pairing: PairingFinding, said: str) -> None:
    """No table state goes with any, so nothing "goes together"; the source's position is what is left."""
    found = mode.examine(given_up().looked_at(pairing=pairing))

    assert (Remedy.RESTORE_JOB_ONLY, None) == (found.remedy, found.wrong_run)
    assert found.headline.endswith("but no restore point is left from which the job could go on.")
    assert said in found.reasons[-1]
    assert found.what_to_do.startswith("find a restore point elsewhere, as none that was found fits the table")
    assert "its source set to go on after what the table holds" in found.reasons[-1]
    assert not any("go together" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("tale", "said"),
    [(given_up(), "after position 99, the highest on the table"), (looping(), "after what the table holds")],
    ids=["down", "alive"],
)
def test_a_position_is_named_only_where_none_higher_can_come(tale: Tale, said: str) -> None:
    """A run that only fails may still commit what it owes; nothing is known of a head that nobody has looked at."""
    case = tale.looked_at(pairing=points(), evidence=(counted_at(tale),))
    found, unknown = mode.examine(case), mode.examine(case.model_copy(update={"evidence": ()}))

    assert said in " ".join(found.reasons)
    assert "the highest on the table" not in " ".join(unknown.reasons)


def elsewhere() -> Tale:
    """Run a failed; run b commits, and the cluster that is asked does not know it."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FAILED").commits("b", 4, 5, 6)


def back_again() -> Tale:
    """The run failed three times, and commits since a moment."""
    return looping().commits("a", 4)


@pytest.mark.parametrize(
    ("tale", "said"),
    [
        (elsewhere(), "whether run bbbbbb still writes"),
        (later(elsewhere(), hours=5), "whether run bbbbbb still writes"),
        (Tale().flink_runs("a").commits("a", 1, 2, 3).forgets("a"), "whether run aaaaaa still writes"),
        (Tale().flink_runs("a").commits("a", 1).forgets("a"), "whether run aaaaaa still writes"),
        (Tale().commits("z", 1, 2).flink_runs("a").becomes("a", "FAILED"), "whether run zzzzzz still writes"),
        (later(given_up(), minutes=1).commits("a", 4), "who writes the table as run aaaaaa"),
        (back_again(), "whether run aaaaaa comes back"),
    ],
    ids=["elsewhere", "elsewhere, long ago", "forgotten just now", "no rhythm", "replaced just now", "after its end",
         "after its failure"],
)  # fmt: skip
def test_a_job_is_not_restored_beside_a_writer_that_may_go_on(tale: Tale, said: str) -> None:
    """A fork would write each row twice: who made the newest commit must be known to have stopped."""
    newest = tale.snapshots[-1]
    pairing = points(point(newest.job_id or job_id("a"), newest.checkpoint_id or 0, newest.snapshot_id))

    found = mode.examine(tale.looked_at(pairing=pairing))

    assert 1 == len(found.missing)
    assert said in found.missing[0]


MODES = scan(bot.diagnosis)
MINUTE = timedelta(minutes=1)


def silent(lasts: timedelta, *, failed: tuple[int, ...] = ()) -> Tale:
    """Checkpoints 1 to 3 are committed, one every 3 s; then these fail and time passes."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).remembers("a", 1, 2, 3).completes("a", *failed)
    tale.now += lasts
    return tale.lists_failed("a", *failed)


def test_hours_without_a_checkpoint_are_not_healthy() -> None:
    """Consumers are told that the table gets no rows; nothing is to be repaired."""
    diagnosis = diagnose(silent(timedelta(hours=5)).looked_at(), MODES)

    assert ("F20",) == diagnosis.codes
    assert Remedy.TELL_CONSUMERS is diagnosis.decisive[1].remedy
    assert "No checkpoint of run aaaaaa completed for 5 h 1 s, since checkpoint 3" in diagnosis.decisive[1].reasons[-1]
    assert "is not healthy" in diagnosis.nothing_matches


@pytest.mark.parametrize(
    ("lasts", "well", "failed"),
    [(MINUTE, Matches, Excluded), (5 * MINUTE, CannotTell, CannotTell), (11 * MINUTE, Excluded, Matches)],
)
def test_a_slow_checkpoint_is_told_from_none_once_it_would_have_failed(
    lasts: timedelta, well: type, failed: type
) -> None:
    """Between some intervals and Flink's limit of ten minutes nobody knows whether the next one comes."""
    case = silent(lasts).looked_at()

    assert isinstance(healthy.examine(case), well)
    assert isinstance(checkpoints_failed.examine(case), failed)


def test_without_an_interval_nobody_can_tell() -> None:
    """A batch job takes none either; what the contract says counts where Flink told nothing."""
    case = silent(timedelta(hours=5)).shows("a", checkpoint_interval_ms=None).looked_at()
    promised = case.model_copy(
        update={"contract": TableContract(key=("id",), position="pos", checkpoint_every=timedelta(seconds=3))}
    )

    found = (healthy.examine(case), checkpoints_failed.examine(case))

    assert all(isinstance(each, CannotTell) and "Flink tells of no interval" in each.missing[-1] for each in found)
    assert isinstance(checkpoints_failed.examine(promised), Matches)


@pytest.mark.parametrize("state", ["RESTARTING", "FAILED"])
def test_a_run_that_is_down_is_not_silent(state: str) -> None:
    """`wait` and `no-advance` tell of it; and one that was restored a moment ago has time."""
    down = silent(timedelta(hours=5)).becomes("a", state)
    restored = silent(timedelta(hours=5))
    listed = restored.runs["a"].checkpoints
    triggered = {"triggered_at": listed[0].triggered_at - MINUTE}
    restored.flink_runs("a", restored=3).shows("a", checkpoints=[c.model_copy(update=triggered) for c in listed])

    assert isinstance(checkpoints_failed.examine(down.looked_at()), Excluded)
    assert isinstance(healthy.examine(restored.looked_at()), Matches)


def test_two_failures_may_be_too_long_as_well() -> None:
    """Each expired after ten minutes; "no row is lost by that" was all that was said, beside `healthy`."""
    ((mode, found),) = diagnose(silent(25 * MINUTE, failed=(4, 5)).looked_at(), MODES).matches
    assert ("F20", Remedy.TELL_CONSUMERS) == (mode.code, found.remedy)
    assert "fail one after the other, so nothing reaches the table" in found.headline


EXPIRED = "Checkpoint expired before completing."


def collides(*completed: int, failure: str = "Failure to finalize checkpoint.") -> Tale:
    """As run on Flink 1.20: 1 to 9 committed, restored from 4 under the same id, 5 and 6 fail."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 10)).flink_runs("a", restored=4).completes("a", 5, 6)
    return tale.lists_failed("a", 5, 6, failure=failure).completes("a", *completed)


def stored(case: Case, *checkpoints: int, after_minutes: int = 0) -> Case:
    """These checkpoint folders are on storage, written at noon, which is before everything, or later."""
    at = {"written_at": NOON + timedelta(minutes=after_minutes)}
    return with_points(case, *(kept("a", each).model_copy(update=at) for each in checkpoints))


def failed_over() -> Tale:
    """As run on Flink 2.1: Flink has removed the old folders, and each failover restored checkpoint 4 once more."""
    tale = collides()
    again = tale.runs["a"].restored
    later_one = again.model_copy(update={"at": again.at + timedelta(minutes=30)})
    return tale.shows("a", restored=later_one, started_at=again.at)


NEVER = beside_others().completes("a", 1, 2).leaves_manifest("a", 1, 2).becomes("a", "FAILED").case()
F20, F25 = checkpoints_failed, checkpoint_folder_taken
OLD_RUN = Tale().commits("z", 1, 2).flink_runs("a").becomes("a", "FAILED")
DRAINED_RUN = Tale().flink_runs("a").commits("a", 1, DRAINED).becomes("a", "FINISHED")
MADE_GOOD = later(silent(timedelta(0), failed=(4,)).completes("a", 5).commits("a", 5), hours=1)
SLOW, PAUSES = CheckpointSettings(timeout_ms=3_600_000), CheckpointSettings(min_pause_ms=900_000)
BY_FLINK = collides(failure="IOException: Target file chk-5 already exists.")


@answer_table(
    {
        "a job that failed before its first checkpoint owes the table nothing": (
            mode, beside_others().fails("a").becomes("a", "FAILED").case(), Remedy.RESTORE_JOB_ONLY, LastGood("head"),
            "has never committed to this table, and run aaaaaa is FAILED", "owes the table nothing",
            "Root cause: java.io.IOException: lost.", "as it is deployed: it has no state yet",
        ),
        "a job that never committed goes on from its newest checkpoint": (
            mode, with_points(NEVER, kept("a", 1), kept("a", 2), kept("b", 7)), Matches,
            f"start it by hand from {kept('a', 2).path}",
        ),
        "from nothing it would leave behind what its committer owes": (mode, NEVER, CannotTell),
        "the table is right": (mode, given_up().looked_at(), "and the table is right: recover the job"),
        "it is right no further down than it was looked at": (
            mode, given_up().looked_at(since=given_up().at("a", 1)),
            "and the table is right from …001001 on: recover the job",
        ),
        "keys live twice": (mode, given_up().looked_at(duplicates=3), Excluded, "keys live more than once"),
        "positions are missing": (mode, given_up().looked_at(missing=3), Excluded, "are missing"),
        "it was drained": (mode, DRAINED_RUN.looked_at(), Excluded, "F5"),
        "a manifest is missed": (mode, given_up().misses_manifest("a", "a", 4).looked_at(), Excluded, "F7, F8, F9"),
        "the run that wrote was replaced by one that never committed": (
            mode, later(OLD_RUN, minutes=1).looked_at(), Matches,
        ),
        "a recovery did not last": (mode, later(back_again(), minutes=1).looked_at(), Matches),
        "a job that Flink forgot is looked for elsewhere first": (
            mode, forgotten().looked_at(), Matches, "has forgotten run aaaaaa: see that no other cluster runs it",
        ),
        "a checkpoint may take an hour": (F20, silent(20 * MINUTE).shows("a", settings=SLOW).looked_at(), CannotTell),
        "nor is it unhealthy then": (healthy, silent(20 * MINUTE).shows("a", settings=SLOW).looked_at(), CannotTell),
        "a quarter of an hour may lie between two": (
            F20, silent(20 * MINUTE).shows("a", settings=PAUSES).looked_at(), Excluded,
        ),
        "the table is healthy in the pause": (
            healthy, silent(20 * MINUTE).shows("a", settings=PAUSES).looked_at(), Matches,
        ),
        "a commit shows a checkpoint that Flink no longer lists": (
            F20, silent(timedelta(hours=5)).commits("a", 9_000).looked_at(), Excluded,
        ),
        "a silence after failures that were made good is told, too": (
            F20, MADE_GOOD.looked_at(), Remedy.TELL_CONSUMERS, "completes no checkpoint any more",
        ),
        "a folder is taken: that is the cause, and F20 points to it": (
            F20, stored(collides().looked_at(), 5, 6), Excluded, "(F25)",
        ),
        "folders that are older than the restore are freed, whatever Flink's words were": (
            F25, stored(collides().looked_at(), 4, 5, 6), Remedy.FREE_CHECKPOINT_FOLDER, LastGood("a9"), "5 and 6",
        ),
        "Flink's own words are enough": (F25, BY_FLINK.looked_at(), Matches),
        "numbers that the old start had committed are enough": (
            F25, stored(failed_over().looked_at(), 4), Matches, "5 and 6",
        ),
        "once a number was free nothing is to be done": (
            F25, stored(collides(10).looked_at(), 4, 5, 6), Remedy.NOTHING, LastGood(None),
        ),
        "folders that were written since the restore took nobody's place": (
            F25, stored(collides(failure=EXPIRED).looked_at(), 5, 6, after_minutes=40), Excluded,
        ),
        "vague words, and nobody could look at the folders": (F25, collides(failure=EXPIRED).looked_at(), CannotTell),
        "Flink says nothing": (F25, collides().flink_is_down().looked_at(), CannotTell),
    }
)  # fmt: skip
def test_the_job_does_not_go_on(mode: Any, case: Case, expected: list[Any]) -> None:
    """A wrong table is never left to the job, and a silence or a failure is told with its own cause."""
    check(mode, case, expected)
