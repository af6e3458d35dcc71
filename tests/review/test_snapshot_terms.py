"""The review says how long snapshots stayed, also where PyIceberg's expiry took the parent's id with the parent."""

from datetime import timedelta

import pytest

from bot.domain.contract import TableContract
from bot.domain.contract_terms import observed_terms
from bot.domain.evidence import Observation
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.ids import CheckpointId
from bot.domain.looked import Seen
from tests.cases import NOON, Tale, job_id


def looked(*, by_pyiceberg: bool) -> Observation:
    """Two commits are listed, two more have expired; storage keeps the restore point of the first."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).counts(total_records=30).commits("a", 4).expires("a", 1, 2)
    if by_pyiceberg:
        tale.snapshots[0] = tale.snapshots[0].model_copy(update={"parent_id": None})
    kept = StoredCheckpoint(
        path=f"s3://state/{job_id('a')}/chk-1",
        kind=CheckpointKind.CHECKPOINT,
        checkpoint_id=CheckpointId(1),
        job_id=job_id("a"),
        written_at=NOON,
    )
    points = Seen[StoredCheckpoint](source="s3://state", values=(kept,))
    return tale.case().observation.model_copy(update={"checkpoints": points})


@pytest.mark.parametrize("by_pyiceberg", [False, True])
def test_what_has_expired_is_missed_by_restore_points_and_readers(by_pyiceberg: bool) -> None:
    """The young commit that is left shows how short the time was, whoever took the others out."""
    contract = TableContract(keep_snapshots=timedelta(days=5))

    found = observed_terms(looked(by_pyiceberg=by_pyiceberg), contract, None)
    [beside, promised] = [each for each in found if each.term.startswith("Snapshots")]

    assert (False, False) == (beside.holds, promised.holds)
    assert "1 of 1 restore points is older than the oldest listed commit" in beside.observed
    assert "and those before it were expired" in promised.observed
