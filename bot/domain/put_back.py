"""Lost commits that a repair has put back under the keys of their run, so that its sink finds them committed (F7).

Such a commit speaks for the run's state only where no other run has gone on since main lost what it puts back: else a
state of that run would seem to pair above rows that it has never read.
"""

from collections.abc import Sequence

from bot.domain.table import Snapshot, TableState


def without_put_back(commits: Sequence[Snapshot], table: TableState) -> tuple[Snapshot, ...]:
    """Those of `commits`, Flink's of one line and oldest first, but for what was put back above a commit of which the
    lost one knew nothing. Where the lost one has expired, only commits of its own run may lie below."""
    found: list[Snapshot] = []
    for each in commits:
        if not each.is_repair or _goes_on(each, found[-1] if found else None, table):
            found.append(each)
    return tuple(found)


def _goes_on(put_back: Snapshot, below: Snapshot | None, table: TableState) -> bool:
    if below is None:
        return not _is_cut(put_back, table)
    told = (put_back.job_id, put_back.checkpoint_id)
    lost = [s for s in table.snapshots if not s.is_repair and (s.job_id, s.checkpoint_id) == told]
    if not lost:
        return below.job_id == put_back.job_id
    return any(s.snapshot_id == below.snapshot_id for leaf in lost for s in table.ancestors(leaf.snapshot_id))


def _is_cut(put_back: Snapshot, table: TableState) -> bool:
    """Whether commits below it have expired: among them may be any run's."""
    *_, oldest = table.ancestors(put_back.snapshot_id)
    return oldest.has_commit_below
