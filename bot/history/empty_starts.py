"""Where on main a run took over from another one, by the commits alone; and runs that began without any state although
the table already held commits of the job.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from bot.history.other_jobs import BESIDE
from bot.history.starts import began_without_state, flink_commits, of_one_sink, origin_of
from bot.observation.flink import JobRun
from bot.observation.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.record import Record
from bot.observation.table import Snapshot, TableState


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
    how: str = "without state"
    """With what it was started, a phrase."""
    source: str | None = None
    """What shows that only the source of a restored run began without state; None: nothing was restored."""

    @property
    def keeps_job_id(self) -> bool:
        """Whether both starts have one id, which the V2 sink takes for one run (F4)."""
        return self.run == self.earlier


def empty_starts(
    table: TableState, runs: Sequence[JobRun], beside: Collection[JobId] = frozenset()
) -> tuple[EmptyStart, ...]:
    """All that main or Flink shows, oldest first, the silent ones last. A drained or batch commit before it does not
    count: such a job has ended on purpose. `runs`: those of the job that Flink lists; `beside`: those of other jobs
    that are alive, which none of the job took over from."""
    known = frozenset(run.job_id for run in runs)
    told = [s for run in runs if (s := _told_by_flink(table, run, known, beside)) is not None]
    starts = {(s.run, s.first) for s in told}
    shown = [s for s in _shown_by_ids(table, runs, beside) if (s.run, s.first) not in starts]
    found = [s for s in [*told, *shown] if s.reached != DRAINED]
    place = {s.snapshot_id: index for index, s in enumerate(reversed(table.chain))}
    return tuple(sorted(found, key=lambda s: place[s.first] if s.first else len(place)))


def _told_by_flink(
    table: TableState, run: JobRun, known: Collection[JobId], beside: Collection[JobId]
) -> EmptyStart | None:
    """None also of a run that is over and of which only its end is known: its ids on main may still tell. Where no
    commit before is of its sink, those of other runs that Flink lists (`known`) count: the sink was renamed with it."""
    commits = [c for c in flink_commits(table) if c.job_id not in beside]
    before = [c for c in commits if c.committed_at < run.started_at]
    mine = [c for c in commits if c.job_id == run.job_id and c.committed_at >= run.started_at]
    began_empty = began_without_state(run, mine[0].committed_at if mine else None)
    is_untold = run.restored is None and origin_of(run) is None
    if not began_empty or is_untold or not before or (run.is_terminal and not mine):
        return None
    sinks = _sinks_of(run, commits, mine)
    if sinks and before[-1].operator_id is not None:
        same = [c for c in before if c.operator_id is None or c.operator_id in sinks]
        before = same or [c for c in before if c.job_id in known]
    return _start(before[-1], run.job_id, mine[0] if mine else None, told=True) if before else None


def _sinks_of(run: JobRun, commits: Sequence[Snapshot], mine: Sequence[Snapshot]) -> frozenset[OperatorId]:
    """By what the run commits: as its first commit says; before it, as its graph does, where a sink of it is on main.
    Empty: neither tells."""
    if mine:
        return frozenset({mine[0].operator_id}) if mine[0].operator_id is not None else frozenset()
    graph = {vertex.vertex_id for vertex in run.vertices}
    return frozenset(c.operator_id for c in commits if c.operator_id is not None and c.operator_id in graph)


def _shown_by_ids(table: TableState, runs: Sequence[JobRun], beside: Collection[JobId]) -> list[EmptyStart]:
    """First commits under checkpoint id 1: after any restore the ids are higher. Each sink of a job counts its own."""
    known = frozenset(run.job_id for run in runs)
    begun = [s for s in switches(table) if s.first_checkpoint == 1 and not _is_guest(table, known, s)]
    found = [
        _start(before, s.run, table.by_id[s.first])
        for s in begun
        if (before := _taken_from(table, s, beside)) is not None
    ]
    for before, after in of_one_sink(flink_commits(table)):
        if before.job_id == after.job_id and after.checkpoint_id == 1:
            found.append(_start(before, JobId(after.job_id or ""), after))
    return found


def _taken_from(table: TableState, switch: Switch, beside: Collection[JobId]) -> Snapshot | None:
    """The newest commit of the run before; where that is another job's which is alive, of whoever came before it."""
    others = (c for c in table.ancestors(switch.first) if c.job_id not in (None, switch.run, *beside))
    first = table.by_id[switch.first]
    if switch.earlier in beside:
        return next((c for c in others if _may_be_one_sink(c.operator_id, first.operator_id)), None)
    return next(c for c in table.ancestors(switch.first) if c.job_id == switch.earlier)


def _is_guest(table: TableState, known: frozenset[JobId], switch: Switch) -> bool:
    """Whether another job wrote beside this one, as for a backfill: Flink lists it under another name or not at all,
    and a run from before it went on by the same sink, for `BESIDE` commits where Flink does not list that one."""
    if switch.run in known:
        return False
    commits = flink_commits(table)
    place = next(index for index, s in enumerate(commits) if s.snapshot_id == switch.first)
    sink = commits[place].operator_id
    before = {s.job_id for s in commits[:place] if _may_be_one_sink(s.operator_id, sink)}
    after = Counter(s.job_id for s in commits[place:] if s.job_id in before and _may_be_one_sink(s.operator_id, sink))
    return any(count >= (1 if run in known else BESIDE) for run, count in after.items())


def _may_be_one_sink(one: OperatorId | None, other: OperatorId | None) -> bool:
    return None in (one, other) or one == other


def _start(before: Snapshot, run: JobId, first: Snapshot | None, *, told: bool = False) -> EmptyStart:
    return EmptyStart(
        run=run,
        earlier=JobId(before.job_id or ""),
        reached=CheckpointId(before.checkpoint_id or 0),
        last_before=before.snapshot_id,
        first=first.snapshot_id if first else None,
        is_told_by_flink=told,
    )
