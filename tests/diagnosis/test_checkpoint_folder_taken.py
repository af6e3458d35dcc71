"""F25: failed checkpoints after a restore, whose folders are older than the restore."""

from datetime import timedelta

import pytest

from bot.diagnosis import checkpoint_folder_taken, checkpoints_failed
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.ids import CheckpointId
from bot.domain.looked import Seen
from tests.cases import NOON, Tale, job_id

EXPIRED = "Checkpoint expired before completing."


def collides(*completed: int, failure: str = "Failure to finalize checkpoint.") -> Tale:
    """As run on Flink 1.20: 1 to 9 committed, restored from 4 under the same id, 5 and 6 fail."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 10)).flink_runs("a", restored=4).completes("a", 5, 6)
    failed = tuple(c.model_copy(update={"status": "FAILED", "failure": failure}) for c in tale.runs["a"].checkpoints)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"checkpoints": failed, "failed_count": 2})
    return tale.completes("a", *completed)


def stored(case: Case, *checkpoints: int, after_minutes: int = 0) -> Case:
    """These checkpoint folders are on storage, written at noon, which is before everything, or later."""
    folders = tuple(
        StoredCheckpoint(
            path=f"s3://lake/checkpoints/{job_id('a')}/chk-{each}",
            kind=CheckpointKind.CHECKPOINT,
            checkpoint_id=CheckpointId(each),
            job_id=job_id("a"),
            written_at=NOON.replace(minute=after_minutes),
        )
        for each in checkpoints
    )
    seen = Seen[StoredCheckpoint](source="s3://lake/checkpoints", values=folders)
    return case.model_copy(update={"observation": case.observation.model_copy(update={"checkpoints": seen})})


def test_folders_that_are_older_than_the_restore_are_freed() -> None:
    """Storage shows it, whatever Flink's words were."""
    tale = collides()

    found = checkpoint_folder_taken.examine(stored(tale.looked_at(), 4, 5, 6))

    assert isinstance(found, Matches)
    assert (Remedy.FREE_CHECKPOINT_FOLDER, tale.at("a", 9)) == (found.remedy, found.last_good)
    assert "5 and 6" in found.headline


def test_flinks_own_words_are_enough() -> None:
    """A failure that names an existing target needs no look at storage."""
    found = checkpoint_folder_taken.examine(
        collides(failure="IOException: Target file chk-5 already exists.").looked_at()
    )

    assert isinstance(found, Matches)


def test_numbers_that_the_old_start_had_committed_are_enough_when_the_last_step_failed() -> None:
    """As run on Flink 2.1: Flink has removed the old folders, and each failover restored checkpoint 4 once more."""
    tale = collides()
    again = tale.runs["a"].restored
    assert again is not None
    failed_over = again.model_copy(update={"at": again.at + timedelta(minutes=30)})
    tale.runs["a"] = tale.runs["a"].model_copy(update={"restored": failed_over, "started_at": again.at})

    found = checkpoint_folder_taken.examine(stored(tale.looked_at(), 4))

    assert isinstance(found, Matches)
    assert "5 and 6" in found.headline


def test_once_a_number_was_free_nothing_is_to_be_done() -> None:
    """The next id completed, and the match says nothing of which snapshot to trust."""
    found = checkpoint_folder_taken.examine(stored(collides(10).looked_at(), 4, 5, 6))

    assert isinstance(found, Matches)
    assert (Remedy.NOTHING, None) == (found.remedy, found.last_good)


def test_failures_without_old_folders_have_another_cause() -> None:
    """Folders that were written since the restore took nobody's place."""
    found = checkpoint_folder_taken.examine(stored(collides(failure=EXPIRED).looked_at(), 5, 6, after_minutes=40))

    assert isinstance(found, Excluded)


@pytest.mark.parametrize("tale", [collides(failure=EXPIRED), collides().flink_is_down()])
def test_without_storage_or_flink_it_stays_open(tale: Tale) -> None:
    """Flink's words are vague, and nobody could look at the folders; or Flink says nothing at all."""
    found = checkpoint_folder_taken.examine(tale.looked_at())

    assert isinstance(found, CannotTell)


def test_a_collision_is_not_a_plain_failure() -> None:
    """The cause is named once (F25), and F20 points to it."""
    found = checkpoints_failed.examine(stored(collides().looked_at(), 5, 6))

    assert isinstance(found, Excluded)
    assert "(F25)" in found.reason


def test_a_run_that_was_not_restored_cannot_collide() -> None:
    """Its numbers begin at 1 in a folder of its own."""
    found = checkpoint_folder_taken.examine(Tale().flink_runs("a").completes("a", 1).commits("a", 1).looked_at())

    assert isinstance(found, Excluded)
