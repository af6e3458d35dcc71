"""Checkpoints of a job whose id never changes: after a rewind their ids come again."""

from datetime import datetime, timedelta

import pytest

from bot.domain.findings import PairVerdict
from bot.domain.flink import StoredCheckpoint
from tests.cases import Tale, job_id
from tests.evidence.restore_points import judged, stored


def chk(checkpoint: int, written_at: datetime) -> StoredCheckpoint:
    """Where Flink itself keeps that checkpoint of run a."""
    path = f"s3://lake/checkpoints/{job_id('a')}/chk-{checkpoint}"
    return stored(job_id("a"), checkpoint, owes=()).model_copy(update={"path": path, "written_at": written_at})


def rewound() -> Tale:
    """Run a committed checkpoints 1 to 10, went back to 5 with the table, and came to 8."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).rolls_back_to("a", 5)
    return tale.commits("a", 6, 7, 8).becomes("a", "FAILED")


@pytest.mark.parametrize("ahead", [0, 3])
def test_a_storage_clock_some_seconds_ahead_hides_no_checkpoint_of_the_present_start(ahead: int) -> None:
    """Checkpoint 8 is the newest commit; the start before had an 8, too."""
    tale = rewound()

    told = judged(chk(8, tale.now + timedelta(seconds=ahead)), tale.table, *tale.runs.values())

    assert (told.verdict, told.snapshot_id) == (PairVerdict.PAIRED, tale.head)


def test_a_checkpoint_that_is_not_committed_yet_is_of_the_present_start() -> None:
    """The start before committed a 9, long ago: Flink has written over what was there."""
    tale = rewound()
    nine = chk(9, tale.now + timedelta(seconds=30)).model_copy(
        update={"pending_manifests": (f"{job_id('a')}-{'0f' * 16}-00000-0-9-00001.avro",)}
    )

    assert judged(nine, tale.table, *tale.runs.values()).verdict is PairVerdict.AHEAD


def test_an_older_starts_checkpoint_that_was_put_back_is_not_taken_for_the_present_starts() -> None:
    """Checkpoint 10 came from a backup: the start before had reached it, and the present one stands at 8."""
    tale = rewound()

    told = judged(chk(10, tale.now + timedelta(minutes=30)), tale.table, *tale.runs.values())

    assert told.verdict is PairVerdict.UNPAIRABLE
