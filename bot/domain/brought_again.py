"""Repairs on main whose rows a restore point does not hold although it pairs right through them: they carry no keys of
Flink. Started on the table as it is, the job would bring these rows a second time.
"""

import math
from collections.abc import Iterable

from bot.domain.flink import StoredCheckpoint
from bot.domain.ids import CheckpointId, JobId, SnapshotId
from bot.domain.pairing import owed_checkpoints
from bot.domain.record import Utc
from bot.domain.snapshot import RECOVERED, WRITTEN_UNTIL
from bot.domain.table import Snapshot, TableState


def brought_again(stored: StoredCheckpoint, state: SnapshotId | None, table: TableState) -> Snapshot | None:
    """The newest repair above table state `state` whose rows a job started from `stored` would bring again; None: there
    is none. `state`: None for a point that is newer than the table, of which all repairs count.

    Of a run whose manifests the repair recovered the checkpoint id tells what the point holds, and what it owes is
    committed again. Of any other run a point that was not written later than the last of these rows does not hold them
    (object stores tell whole seconds); a repair is made only where no run of then would bring them.
    """
    below = table.place_of(state)
    above = (s for s in reversed(table.recovering) if table.place_of(s.snapshot_id) > below)
    return next((s for s in above if _brings(stored, s, table)), None)


def _brings(stored: StoredCheckpoint, repair: Snapshot, table: TableState) -> bool:
    until = repair.written_until
    reached = repair.recovered.get(stored.job_id) if stored.job_id is not None else None
    if reached is None or stored.checkpoint_id is None:
        return until is None or stored.written_at <= until
    owed = owed_checkpoints(stored, table)
    return stored.checkpoint_id < reached or owed is None or any(each <= reached for each in owed)


def said_of_rows(recovered: Iterable[tuple[JobId, CheckpointId]], written_until: Utc) -> dict[str, str]:
    """What the summary of a repair says of the rows that it brings. `recovered`: run and checkpoint of each Flink
    manifest; none where the rows were in the table before."""
    newest = dict(sorted(recovered))
    told = {RECOVERED: ",".join(f"{run}:{checkpoint}" for run, checkpoint in newest.items())} if newest else {}
    return {**told, WRITTEN_UNTIL: str(math.ceil(written_until.timestamp() * 1000))}
