"""Repairs on main that brought rows which Flink had written, and no keys of Flink: a restore point pairs right through
them. Where it does not hold these rows, a job started from it on the table as it is brings them a second time. Where it
does, a rewind to its table state takes them off, and the job does not bring them again. A lost commit, or a lost
repair, that somebody has cherry-picked by hand is such a repair, too: a pick keeps no keys (facts 1.5).
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from bot.domain.flink import StoredCheckpoint
from bot.domain.ids import CheckpointId, JobId, SnapshotId
from bot.domain.other_writers import described_by
from bot.domain.pairing import owed_checkpoints
from bot.domain.record import Utc
from bot.domain.run_commits import ABOUT, WHENEVER, CommitsByRun, RunCommits
from bot.domain.snapshot import RECOVERED, WRITTEN_FROM, WRITTEN_UNTIL
from bot.domain.table import Snapshot, TableState


class _Brought(NamedTuple):
    recovered: Mapping[JobId, tuple[CheckpointId, CheckpointId]]
    written: tuple[Utc, Utc]
    origin: Snapshot | None = None
    """Of a cherry-pick of Flink's commit: that commit."""


class _Held(NamedTuple):
    """When the state of a restore point was written: between these moments."""

    earliest: datetime
    latest: datetime
    of_start: RunCommits | None
    """The commits of the start of the job from which it comes."""


def brought_again(stored: StoredCheckpoint, state: SnapshotId | None, commits: CommitsByRun) -> Snapshot | None:
    """The newest repair above table state `state` with rows that a job started from `stored` would bring again; None:
    there is none. `state`: None for a point that is newer than the table, of which all repairs count. `commits`: of the
    table.

    Of its own run's rows its checkpoint id tells which it holds, and what it owes is committed again. Of any other's, a
    point that was not written later than the last of these rows does not hold them (object stores tell whole seconds):
    a repair is made only where no run of then would bring them. So it is with rows of its run's id that are younger
    than its state though their checkpoints are not above its own: another start of the job wrote them (F14).
    """
    above = _above(state, commits.table)
    return next((s for s, brought in above if _brings(stored, brought, _held(stored, commits), commits.table)), None)


def held_in_part(stored: StoredCheckpoint, state: SnapshotId | None, commits: CommitsByRun) -> tuple[Snapshot, ...]:
    """The repairs above it, newest first, with rows that the state of `stored` has behind it, some of them or all: no
    job started from it brings these. A repair may hold both kinds."""
    above = _above(state, commits.table)
    return tuple(s for s, brought in above if _holds(stored, brought, _held(stored, commits)))


def _held(stored: StoredCheckpoint, commits: CommitsByRun) -> _Held:
    """By the time of its file, of its checkpoint's commit and of its run's end: copying it makes the file younger."""
    of_start = commits.of(stored).life_of(stored)
    if of_start is None:
        return _Held(WHENEVER, stored.written_at, None)
    return _Held(*of_start.written(stored, commits.ended(stored.job_id)), of_start)


def _above(state: SnapshotId | None, table: TableState) -> Iterator[tuple[Snapshot, _Brought]]:
    below = table.place_of(state)
    for each in reversed(table.recovering):
        told = _told(each, table) if table.place_of(each.snapshot_id) > below else None
        if told is not None:
            yield each, told


def _told(repair: Snapshot, table: TableState) -> _Brought | None:
    """None of a cherry-pick of what Flink had not written, or by which its writer has published what it had staged. Of
    one whose source is not listed any more it is known that this was older."""
    origin = described_by(table, repair)
    if origin is None:
        return _Brought({}, (WHENEVER, repair.committed_at))
    if origin.written is not None:
        return _Brought(origin.recovered, origin.written)
    if origin.job_id is None or origin.checkpoint_id is None:
        return None
    only = (origin.checkpoint_id, origin.checkpoint_id)
    return _Brought({origin.job_id: only}, (origin.committed_at, origin.committed_at), origin)


def _brings(stored: StoredCheckpoint, brought: _Brought, held: _Held, table: TableState) -> bool:
    own = _of_its_run(stored, brought, held)
    if own is not None:
        last, owed = own[1], owed_checkpoints(stored, table)
        if (stored.checkpoint_id or 0) < last or owed is None or any(each <= last for each in owed):
            return True
    return _has_others(brought, own) and held.earliest <= brought.written[1]


def _holds(stored: StoredCheckpoint, brought: _Brought, held: _Held) -> bool:
    own = _of_its_run(stored, brought, held)
    if own is not None and (stored.checkpoint_id or 0) >= own[0]:
        return True
    return _has_others(brought, own) and held.latest >= brought.written[0]


def _of_its_run(stored: StoredCheckpoint, brought: _Brought, held: _Held) -> tuple[CheckpointId, CheckpointId] | None:
    """The first and the last checkpoint that it recovered of the run of `stored`; None: none of the start of it from
    which this comes."""
    if stored.job_id is None or stored.checkpoint_id is None:
        return None
    own = brought.recovered.get(stored.job_id) if held.of_start is not None else None
    if own is None or held.of_start is None:
        return own
    if brought.origin is not None:
        return own if brought.origin in held.of_start else None
    is_of_another = any(
        stored.checkpoint_id >= checkpoint and held.latest + ABOUT < at
        for checkpoint, at in zip(own, brought.written, strict=True)
    )
    return None if is_of_another else own


def _has_others(brought: _Brought, own: object) -> bool:
    """Whether it brought rows of other runs than that of the point, or does not say of which."""
    return own is None or len(brought.recovered) > 1


def said_of_rows(recovered: Iterable[tuple[JobId, CheckpointId]], written: Collection[Utc]) -> dict[str, str]:
    """What the summary of a repair says of the rows that it brings. `recovered`: run and checkpoint of each Flink
    manifest; none where the rows were in the table before. `written`: when Flink had written them, one moment at
    least."""
    ids: dict[JobId, list[CheckpointId]] = {}
    for run, checkpoint in recovered:
        ids.setdefault(run, []).append(checkpoint)
    ranges = ",".join(f"{run}:{min(of_run)}-{max(of_run)}" for run, of_run in sorted(ids.items()))
    moments = [each.timestamp() * 1000 for each in written]
    return {
        **({RECOVERED: ranges} if ranges else {}),
        WRITTEN_FROM: str(math.floor(min(moments))),
        WRITTEN_UNTIL: str(math.ceil(max(moments))),
    }
