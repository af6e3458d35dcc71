"""Where on main a run took over from another one, by the commits alone."""

from collections.abc import Sequence

from bot.domain.ids import CheckpointId, JobId, SnapshotId
from bot.domain.record import Record
from bot.domain.table import Snapshot, TableState


class Switch(Record):
    """The place on main where `run` took over from `earlier`, falling or not."""

    run: JobId
    earlier: JobId
    reached: CheckpointId
    first: SnapshotId
    first_checkpoint: CheckpointId


def switches(table: TableState) -> tuple[Switch, ...]:
    """Every first commit of a run on main that comes after a commit of another run, oldest first."""
    commits = table.of_flink
    found: dict[JobId, Switch | None] = {}
    for index, commit in enumerate(commits):
        if commit.job_id is None or commit.job_id in found:
            continue
        earlier = _newest_of_others(commits[:index], commit)
        found[commit.job_id] = None if earlier is None else switch_to(earlier, commit, commit.job_id)
    return tuple(switch for switch in found.values() if switch is not None)


def switch_to(earlier: Snapshot, commit: Snapshot, run: JobId) -> Switch:
    """The place where `run` took over with `commit` from the run that had made `earlier`."""
    return Switch(
        run=run,
        earlier=JobId(earlier.job_id or ""),
        reached=CheckpointId(earlier.checkpoint_id or 0),
        first=commit.snapshot_id,
        first_checkpoint=CheckpointId(commit.checkpoint_id or 0),
    )


def _newest_of_others(before: Sequence[Snapshot], commit: Snapshot) -> Snapshot | None:
    """The newest commit by another run of the same operator (or where one of the two names none)."""
    for other in reversed(before):
        same = None in (other.operator_id, commit.operator_id) or other.operator_id == commit.operator_id
        if other.job_id != commit.job_id and same:
            return other
    return None
