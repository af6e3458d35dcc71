"""Runs that began without any state although the table already held commits of the job."""

from bot.diagnosis._case import in_window
from bot.domain.beginnings import began_without_state
from bot.domain.diagnosis import Case
from bot.domain.flink import JobRun
from bot.domain.ids import DRAINED, CheckpointId, JobId, SnapshotId
from bot.domain.record import Record
from bot.domain.rewinds import Switch, flink_commits, of_one_sink, switches
from bot.domain.table import Snapshot


class EmptyStart(Record):
    """Run `run` started from nothing on top of `reached`, the newest checkpoint of `earlier` on main."""

    run: JobId
    earlier: JobId
    """The same as `run` where the job id is fixed."""
    reached: CheckpointId
    last_before: SnapshotId
    first: SnapshotId | None
    """The run's first commit; None while it is silent."""
    is_told_by_flink: bool
    """Whether Flink shows the start; otherwise the ids on main do, which begin at 1 again."""

    @property
    def keeps_job_id(self) -> bool:
        """Whether both starts have one id, which the V2 sink takes for one run (F4)."""
        return self.run == self.earlier


def empty_starts(case: Case) -> tuple[EmptyStart, ...]:
    """Those in the window, oldest first, the silent ones last. A drained or batch commit before it does not count:
    such a job has ended on purpose."""
    inside = {s.snapshot_id for s in in_window(case)}
    told = [s for run in case.runs if (s := _told_by_flink(case, run)) is not None]
    known = {(s.run, s.first) for s in told}
    shown = [s for s in _shown_by_ids(case) if (s.run, s.first) not in known]
    found = [s for s in [*told, *shown] if s.reached != DRAINED and (s.first is None or s.first in inside)]
    place = {s.snapshot_id: index for index, s in enumerate(reversed(case.observation.table.chain))}
    return tuple(sorted(found, key=lambda s: place[s.first] if s.first else len(place)))


def _told_by_flink(case: Case, run: JobRun) -> EmptyStart | None:
    commits = flink_commits(case.observation.table)
    before = [c for c in commits if c.committed_at < run.started_at]
    mine = [c for c in commits if c.job_id == run.job_id and c.committed_at >= run.started_at]
    began_empty = began_without_state(run, mine[0].committed_at if mine else None)
    if not began_empty or not before or (run.is_terminal and not mine):
        return None
    if mine and None not in (mine[0].operator_id, before[-1].operator_id):
        before = [c for c in before if c.operator_id in (None, mine[0].operator_id)]
    return _start(before[-1], run.job_id, mine[0] if mine else None, told=True) if before else None


def _shown_by_ids(case: Case) -> list[EmptyStart]:
    """First commits under checkpoint id 1: after any restore the ids are higher. Each sink of a job counts its own."""
    table = case.observation.table
    found = [
        _start(next(c for c in table.ancestors(s.first) if c.job_id == s.earlier), s.run, table.by_id[s.first])
        for s in switches(table)
        if s.first_checkpoint == 1 and not _is_guest(case, s)
    ]
    for before, after in of_one_sink(flink_commits(table)):
        if before.job_id == after.job_id and after.checkpoint_id == 1:
            found.append(_start(before, JobId(after.job_id or ""), after))
    return found


def _is_guest(case: Case, switch: Switch) -> bool:
    """Whether another job wrote beside this one, as for a backfill: Flink lists it under another name or not at all,
    and the run before it went on."""
    known = {run.job_id for run in case.runs}
    if switch.run in known or switch.earlier not in known:
        return False
    place = {s.snapshot_id: index for index, s in enumerate(flink_commits(case.observation.table))}
    after = flink_commits(case.observation.table)[place[switch.first] :]
    return any(commit.job_id == switch.earlier for commit in after)


def _start(before: Snapshot, run: JobId, first: Snapshot | None, *, told: bool = False) -> EmptyStart:
    return EmptyStart(
        run=run,
        earlier=JobId(before.job_id or ""),
        reached=CheckpointId(before.checkpoint_id or 0),
        last_before=before.snapshot_id,
        first=first.snapshot_id if first else None,
        is_told_by_flink=told,
    )
