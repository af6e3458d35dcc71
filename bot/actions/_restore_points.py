"""Which restore point a rewind starts from."""

from bot.domain.diagnosis import Case
from bot.domain.errors import Refused
from bot.domain.findings import PairVerdict
from bot.domain.ids import CheckpointId, SnapshotId, short
from bot.domain.record import Record


class RestorePoint(Record):
    """A paired restore point: the state M and the table state that it belongs to."""

    path: str
    checkpoint_id: CheckpointId
    snapshot_id: SnapshotId
    digest: str


def newest_pair(case: Case, last_good: SnapshotId) -> RestorePoint:
    """The durable restore point that pairs with the newest snapshot at or below `last_good`.

    Retained checkpoints of a run that goes on are passed over: Flink deletes them while people decide.
    Raises Refused with what was looked at when there is none.
    """
    pairings = case.pairing.pairings if case.pairing else ()
    by_snapshot = {
        p.snapshot_id: RestorePoint(
            path=p.path, checkpoint_id=p.checkpoint_id, snapshot_id=p.snapshot_id, digest=p.digest
        )
        for p in reversed(pairings)
        if p.verdict is PairVerdict.PAIRED
        and p.is_durable
        and p.snapshot_id is not None
        and p.checkpoint_id is not None
        and p.digest is not None
    }
    for snapshot in case.observation.table.ancestors(last_good):
        point = by_snapshot.get(snapshot.snapshot_id)
        if point is not None:
            return point
    looked = "; ".join(f"{p.path}: {p.verdict.value}, {p.reason}" for p in pairings[:4]) or "none at all"
    raise Refused(
        "No rewind is possible.",
        f"Expected a savepoint or retained checkpoint that pairs with snapshot {short(last_good)} or one before it; "
        f"found {looked}.",
        "Look for older savepoints on backup storage, or repair the rows by hand; do not restore an unpaired one.",
    )
