"""A restore point newer than any commit of its run is offered only where main ends with that run's newest commit."""

from collections.abc import Iterable

import pytest

from bot.actions.restore_job_only import brought_by
from bot.diagnosis import no_snapshot_advanced as mode
from bot.diagnosis._restoring import newer_than_head, restore_in_words
from bot.domain.diagnosis import Case, Matches, Remedy
from bot.domain.findings import PairingFinding
from bot.domain.flink import StoredCheckpoint
from bot.domain.looked import Seen
from bot.domain.own_points import points_told_apart
from tests.cases import Tale, job_id
from tests.evidence.restore_points import stored


def kept(tale: Tale, run: str, checkpoint: int, *, owes: bool = True) -> StoredCheckpoint:
    """A savepoint that the run writes now, with files of its own that wait for their commit, or none."""
    point = stored(job_id(run), checkpoint, owes=())
    pending = (tale.leaves_manifest(run, checkpoint).manifests[-1].path,) if owes else ()
    where = {"path": f"s3://state/savepoint-{run}-{checkpoint}", "written_at": tale.now}
    return point.model_copy(update={**where, "pending_manifests": tuple(map(name_of, pending))})


def name_of(path: str) -> str:
    """How the committer's state lists a Flink manifest."""
    return path.rpartition("/")[2]


def with_points(tale: Tale, points: Iterable[StoredCheckpoint]) -> Case:
    """The case in which storage shows these, and evidence has found what they pair with."""
    case = tale.looked_at()
    seen = Seen[StoredCheckpoint](source="the folder of savepoints", values=tuple(points))
    there = case.model_copy(update={"observation": case.observation.model_copy(update={"checkpoints": seen})})
    pairing = PairingFinding(pairings=tuple(pair for _, pair in points_told_apart(there)))
    return there.model_copy(update={"pairing": pairing})


def superseded() -> tuple[Tale, list[StoredCheckpoint]]:
    """Run a leaves savepoints 5 and 6 and is cancelled; run b goes on from 5 and fails without a point of its own."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).completes("a", 5)
    points = [kept(tale, "a", 5, owes=False), kept(tale, "a", 6)]
    tale.becomes("a", "CANCELED").flink_runs("b", restored=5).commits("b", 6, 7, 8).becomes("b", "FAILED")
    return tale, points


def rolled_back(*, to: int) -> tuple[Tale, list[StoredCheckpoint]]:
    """Run a has committed 1 to 5, still owes 6, and fails; main is set back, and what it lost is listed still."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).completes("a", 6)
    points = [kept(tale, "a", 6)]
    tale.becomes("a", "FAILED")
    return (tale.rolls_back_to("a", to) if to < 5 else tale), points


def test_a_point_of_a_run_that_was_superseded_does_not_stand_for_the_job() -> None:
    """What the other run has committed since would be written a second time: table and job go back together."""
    case = with_points(*superseded())

    found = mode.examine(case)

    assert isinstance(found, Matches)
    assert (Remedy.REWIND_TABLE_AND_JOB, job_id("b")) == (found.remedy, found.wrong_run)
    assert not any("savepoint-a-6" in reason for reason in found.reasons)
    assert [] == list(brought_by(case))


def test_without_an_older_point_none_is_left() -> None:
    """The point of the superseded run is counted among those that do not pair."""
    tale, points = superseded()
    case = with_points(tale, points[1:])

    found = mode.examine(case)

    assert isinstance(found, Matches)
    assert "no restore point is left" in found.headline
    assert "None of 1 restore point on storage pairs" in found.reasons[-1]
    assert "start the job without state" in found.what_to_do


@pytest.mark.parametrize(("tale", "points"), [superseded(), rolled_back(to=3)], ids=["superseded", "main lost commits"])
def test_words_of_the_remedy_do_not_count_on_it(tale: Tale, points: list[StoredCheckpoint]) -> None:
    """Nobody is sent to the newest restore point where it does not go on from main's end."""
    case = with_points(tale, points)

    words = restore_in_words(case)

    assert () == newer_than_head(case)
    assert words is not None
    assert "find a restore point elsewhere" in words


def test_a_point_right_above_the_end_of_main_stands_for_the_job() -> None:
    """Its own run has the newest commit: the sink commits what it owes, and the bot can start from it."""
    case = with_points(*rolled_back(to=5))

    found = mode.examine(case)

    assert isinstance(found, Matches)
    assert Remedy.RESTORE_JOB_ONLY is found.remedy
    assert "savepoint-a-6 (checkpoint 6) is newer than the head" in found.reasons[-1]
    assert ["s3://state/savepoint-a-6"] == [each.path for each in brought_by(case)]
