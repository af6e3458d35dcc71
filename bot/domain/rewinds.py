"""Runs that began below what an earlier run had committed already, told by Flink's restore or by the chain.

The pairing invariant behind it: a restore of checkpoint M is exactly-once only if the newest commit of the
run that wrote M is M itself (facts 0.1).

Where a run began: from which checkpoint, or without any state, as far as what Flink still shows of it tells.

Flink shows only the newest restore of a run: after a failover that is of a checkpoint of its own, which tells nothing
of where it began. That the first restore is not shown does not mean that there was none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import takewhile

from bot.domain.flink import CLOCKS_DIFFER, JobRun, Restored, came_before, names_run
from bot.domain.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId
from bot.domain.kin import writer_of
from bot.domain.other_writers import brings_nothing
from bot.domain.predecessors import Predecessors, Switch, switch_to, switches
from bot.domain.record import Record
from bot.domain.table import Snapshot, TableState

FROM_NOTHING = CheckpointId(0)


def began_from(run: JobRun, first_commit: datetime | None) -> CheckpointId | None:
    """The checkpoint that the run began from, `FROM_NOTHING` without one; None where nothing that is left tells.

    `first_commit`: when its first commit came; None where there is none. An earlier start under the same job id made it
    where it is older than this one: then what Flink shows of this one tells nothing of where that began.
    """
    if first_commit is not None and first_commit < run.started_at:
        return None
    if began_without_state(run, first_commit):
        return FROM_NOTHING
    shown = start_shown(run, first_commit)
    return shown.checkpoint_id if shown is not None else origin_of(run)


def start_shown(run: JobRun, first_commit: datetime | None) -> Restored | None:
    """The restore with which the run came to its first commit, where Flink still shows that one."""
    return None if _was_at_work(run, first_commit) else first_shown(run)


def came_up_at(run: JobRun) -> datetime:
    """When it was restored last, or started with nothing."""
    return run.restored.at if run.restored is not None else run.started_at


def began_without_state(run: JobRun, first_commit: datetime | None) -> bool:
    """Whether Flink restored it from nothing at its start: it was never restored, or once only and after it had
    completed a checkpoint of its own or committed.

    `first_commit`: when its first commit came; None where there is none. A JobManager that took over counts anew and
    starts anew, so what lies before its start says nothing.
    """
    if run.restored is None:
        return run.restored_count == 0 and not _is_known_by_its_end(run)
    if run.restored_count != 1 or run.restored.is_savepoint:
        return False
    return _was_at_work(run, first_commit)


def origin_of(run: JobRun) -> CheckpointId | None:
    """The checkpoint that the run began from, `FROM_NOTHING` without one, where Flink shows no restore, or only one of
    a failover: ids of checkpoints rise by one from the restored one, so a history without a gap tells. None where it
    does not, as where it was restored from below that since: a failover discarded what came before its history."""
    if run.restored is None and not run.restored_count:
        # Of a run that is over, and of which no checkpoint is told, its cluster is gone: only its end is known.
        return FROM_NOTHING if not run.is_terminal or run.completed_count > 0 else None
    ids = _whole_history(run)
    if not ids or len(ids) != max(ids) - min(ids) + 1:
        return None
    origin = CheckpointId(min(ids) - 1)
    return origin if run.restored is None or origin <= run.restored.checkpoint_id else None


def first_shown(run: JobRun) -> Restored | None:
    """The restore with which the run began, where that is its newest, so that Flink shows it. After a second one only
    the path tells that it was of the same point again."""
    point = run.restored
    if point is None or is_its_own(point, run) or (run.restored_count > 1 and point.path is None):
        return None
    return point


def is_its_own(point: Restored, run: JobRun) -> bool:
    """Whether a failover of the run went back to a checkpoint of its own, as far as can be told: that tells nothing of
    where it began. A submission before it may have had the same job id, and another counter."""
    if any(c.checkpoint_id == point.checkpoint_id for c in run.checkpoints):
        return True
    ids = _whole_history(run)
    is_before_all = ids is not None and all(checkpoint > point.checkpoint_id for checkpoint in ids)
    return names_run(point.path, run.job_id) and not is_before_all


def _is_known_by_its_end(run: JobRun) -> bool:
    """Whether its cluster is gone, and the Flink operator remembers no more than its end: not what it was restored
    from. Flink itself tells the operators of a run also when that is over."""
    return run.is_terminal and not run.vertices and not run.completed_count


def _was_at_work(run: JobRun, first_commit: datetime | None) -> bool:
    """Whether it had completed a checkpoint of its own or committed before its newest restore, so that this was not
    the first."""
    done = [c.triggered_at for c in run.checkpoints] + ([first_commit] if first_commit is not None else [])
    return run.restored is not None and any(run.started_at <= each < run.restored.at for each in done)


def _whole_history(run: JobRun) -> frozenset[CheckpointId] | None:
    """The ids of all checkpoints that this submission has ended; None where Flink has forgotten some."""
    ids = frozenset(c.checkpoint_id for c in run.checkpoints if c.status != "IN_PROGRESS")
    return ids if len(ids) == run.completed_count + run.failed_count else None


class Rewind(Record):
    """Run `run` goes on from below `reached`, the newest checkpoint that `earlier` has on main."""

    run: JobId
    earlier: JobId
    """The same as `run` where Flink kept the job id."""
    restored: CheckpointId | None
    """Where Flink restored it from; None when only the falling ids show the rewind."""
    reached: CheckpointId
    first: SnapshotId | None
    """The run's first commit on main after the restore; None while it is silent."""
    last_before: SnapshotId
    """The newest snapshot on main before `first`; the head while the run is silent."""
    fork: SnapshotId | None
    """The snapshot on main that holds what the restore point held; None when it is no longer listed."""
    is_interleaved: bool
    """Whether the earlier run committed on: then two jobs write the table (F13)."""
    only_if_of_job: JobId | None = None
    """It is one only if this run, which Flink does not list, is the job's, or only if it is not; None: it is one."""

    @property
    def keeps_job_id(self) -> bool:
        """Whether the restored run goes on under the job id that it had."""
        return self.run == self.earlier


def flink_commits(table: TableState) -> Sequence[Snapshot]:
    """The commits on main that carry a run and a checkpoint id, oldest first."""
    return table.of_flink


def of_one_sink(commits: Sequence[Snapshot]) -> Iterator[tuple[Snapshot, Snapshot]]:
    """(before, after) of every two commits that follow each other under one operator id, or where one of them names
    none: a job may write a table through several sinks, which commit the same checkpoint ids."""
    newest: dict[OperatorId | None, Snapshot] = {}
    for after in commits:
        before = newest.get(after.operator_id, newest.get(None)) if after.operator_id is not None else _latest(newest)
        if before is not None:
            yield before, after
        newest[after.operator_id] = after


def _latest(newest: Mapping[OperatorId | None, Snapshot]) -> Snapshot | None:
    return max(newest.values(), key=lambda s: s.committed_at, default=None)


def rewinds(table: TableState, runs: Iterable[JobRun]) -> tuple[Rewind, ...]:
    """Every rewind that main or Flink shows, oldest first, silent ones last. The order of `runs` is no matter.

    A run without any restore is none: it started without state (F4, F15). One that goes on after a drained
    commit is none either (F5). `runs`: those that Flink lists as the job's; a guest's commits do not count for them.
    """
    known = {run.job_id: run for run in runs}
    mine = Predecessors(table, known.values())
    by_run = {switch.run: switch for switch in switches(table)}
    found = [_unlisted(table, switch, mine) for switch in by_run.values() if switch.run not in known]
    for run in sorted(known.values(), key=lambda run: (run.started_at, run.job_id)):
        if (first := mine.first_of(run.job_id)) is not None:
            found += [_listed(table, run, first, by_run.get(run.job_id), mine), _under_one_id(table, run)]
        else:
            found.append(_silent(table, run, mine))
    place = {s.snapshot_id: index for index, s in enumerate(reversed(table.chain))}
    return tuple(sorted((r for r in found if r is not None), key=lambda r: place[r.first] if r.first else len(place)))


def _unlisted(table: TableState, switch: Switch, mine: Predecessors) -> Rewind | None:
    """A new run that Flink does not list."""
    commits, first = flink_commits(table), table.by_id[switch.first]
    told = [(s, switch_to(s, first, switch.run)) for s in mine.newest_by_sink(switch, first)]
    found = _agreed([(s, _at_switch(table, each, None, commits)) for s, each in told], mine)
    if found is None or found.only_if_of_job is not None or mine.may_be_forgotten(first):
        return found
    return found.model_copy(update={"only_if_of_job": switch.run})


def _listed(table: TableState, run: JobRun, place: int, of_sink: Switch | None, mine: Predecessors) -> Rewind | None:
    """A new run that Flink lists; `place`: of its first commit. `of_sink`: its switch by its own sink, which counts too
    where that was from a run of the job: another one, as of a backfill, may have come between by a sink of its own."""
    commits = flink_commits(table)
    told = [(s, switch_to(s, commits[place], run.job_id)) for s in mine.newest(run, place)]
    found = _agreed([(s, _at_switch(table, each, run, filter(mine.may_be_own, commits))) for s, each in told], mine)
    if found is None and of_sink is not None and of_sink.earlier in mine.own:
        return _at_switch(table, of_sink, run, filter(mine.may_be_own, commits))
    return found


def _agreed(told: Sequence[tuple[Snapshot, Rewind | None]], mine: Predecessors) -> Rewind | None:
    """What all of the commits say from which the run may have gone on; where they do not agree, with the unlisted run
    that it depends on."""
    found = [rewind for _, rewind in told if rewind is not None]
    if not found:
        return None
    rewind = next((each for each in found if not each.is_interleaved), found[0])
    unlisted = next((s.job_id for s, _ in told if s.job_id not in mine.own), None)
    return rewind if len(found) == len(told) else rewind.model_copy(update={"only_if_of_job": unlisted})


def _at_switch(table: TableState, switch: Switch, run: JobRun | None, held: Iterable[Snapshot]) -> Rewind | None:
    """A new run whose first commit is there: its ids fall, or Flink says that it was restored from below. `held`: what
    may be the job's, oldest first."""
    first = table.by_id[switch.first]
    started_empty = switch.first_checkpoint == 1 or (run is not None and began_without_state(run, first.committed_at))
    listed = run.restored if run and run.restored and run.restored.at <= first.committed_at + CLOCKS_DIFFER else None
    restored = listed.checkpoint_id if listed and listed.checkpoint_id < switch.first_checkpoint else None
    falls = switch.first_checkpoint <= switch.reached
    if switch.reached == DRAINED or started_empty or not (falls or _below(restored, switch.reached)):
        return None
    commits = flink_commits(table)
    if restored is not None and _brought_nothing_above(table, restored, switch):
        return None
    own = [index for index, s in enumerate(commits) if s.job_id == switch.run]
    return Rewind(
        run=switch.run,
        earlier=switch.earlier,
        restored=restored,
        reached=switch.reached,
        first=switch.first,
        last_before=SnapshotId(first.parent_id or switch.first),
        fork=_fork(
            takewhile(lambda s: s.job_id != switch.run, held), switch.earlier, restored, switch.first_checkpoint
        ),
        is_interleaved=any(s.job_id == switch.earlier for s in commits[own[0] : own[-1]]),
    )


def _brought_nothing_above(table: TableState, restored: CheckpointId, switch: Switch) -> bool:
    """Whether the earlier run's commits above `restored` are all listed and carry nothing, as Flink makes them from
    time to time: then the new run reads nothing again, and no id of a new job stands against it."""
    mine = [s for s in flink_commits(table) if s.job_id == switch.earlier]
    above = [s for s in mine if s.checkpoint_id is not None and s.checkpoint_id > restored]
    return len(above) < len(mine) and all(brings_nothing(table, s) for s in above)


def _silent(table: TableState, run: JobRun, mine: Predecessors) -> Rewind | None:
    """A living run that has committed nothing, and was restored from below what another run had reached."""
    if run.is_terminal or run.restored is None or table.head is None or began_without_state(run, None):
        return None
    commits, at = flink_commits(table), run.restored.at + CLOCKS_DIFFER
    until = next((place for place in range(len(commits), 0, -1) if commits[place - 1].committed_at <= at), 0)
    told = [(s, _above_silent(table, run, s, until, mine)) for s in mine.newest(run, until)]
    found = _agreed(told, mine)
    if found is None or found.only_if_of_job is not None or found.earlier in mine.own:
        return found
    return found.model_copy(update={"only_if_of_job": found.earlier}) if _is_of_none_on_main(run, table) else found


def _is_of_none_on_main(run: JobRun, table: TableState) -> bool:
    """Whether the run was restored from a point of a run that has no commit on main, by its path: then what others have
    committed is the job's only where these went on from the same line."""
    writer = writer_of(run.restored.path) if run.restored is not None else None
    return writer is not None and not any((s.job_id or "").startswith(writer) for s in flink_commits(table))


def _above_silent(table: TableState, run: JobRun, newest: Snapshot, until: int, mine: Predecessors) -> Rewind | None:
    """A silent run, held against the job's newest commit before its restore; `until`: so many came before that."""
    commits = flink_commits(table)
    restored = run.restored.checkpoint_id if run.restored is not None else None
    if restored is None or newest.checkpoint_id in (None, DRAINED) or not _below(restored, newest.checkpoint_id):
        return None
    earlier = JobId(newest.job_id or "")
    return Rewind(
        run=run.job_id,
        earlier=earlier,
        restored=restored,
        reached=CheckpointId(newest.checkpoint_id or 0),
        first=None,
        last_before=table.head or newest.snapshot_id,
        fork=_fork(filter(mine.may_be_own, commits[:until]), earlier, restored, None),
        is_interleaved=any(
            (s.checkpoint_id or 0) > restored and s.job_id in (earlier, *mine.own) for s in commits[until:]
        ),
    )


def _under_one_id(table: TableState, run: JobRun) -> Rewind | None:
    """A run that Flink restored, under its own job id, from below what it had committed."""
    if run.restored is None or table.head is None:
        return None
    restored = run.restored.checkpoint_id
    mine = [s for s in flink_commits(table) if s.job_id == run.job_id]
    place = max((index for index, s in enumerate(mine) if came_before(s, run)), default=-1)
    before = mine[: place + 1]
    if not before or before[-1].checkpoint_id in (None, DRAINED) or not _below(restored, before[-1].checkpoint_id):
        return None
    if before[-1].committed_at < run.started_at and began_without_state(run, None):
        return None
    first = next(iter(mine[place + 1 :]), None)
    return Rewind(
        run=run.job_id,
        earlier=run.job_id,
        restored=restored,
        reached=CheckpointId(before[-1].checkpoint_id or 0),
        first=first.snapshot_id if first else None,
        last_before=SnapshotId(first.parent_id or first.snapshot_id) if first else table.head,
        fork=_fork(before, run.job_id, restored, None),
        is_interleaved=False,
    )


def untold_rewind(table: TableState, run: JobRun) -> Snapshot | None:
    """The run's newest commit above what Flink restored it from, where nothing tells whether it came before the restore
    (a rewind) or after it (the run went on); None where all of them are told. Silent runs and others alike."""
    if run.restored is None or _under_one_id(table, run) is not None:
        return None
    mine = [s for s in flink_commits(table) if s.job_id == run.job_id and s.checkpoint_id != DRAINED]
    above = [s for s in mine if _below(run.restored.checkpoint_id, s.checkpoint_id)]
    return next((s for s in reversed(above) if came_before(s, run) is None), None)


def _fork(
    before: Iterable[Snapshot], earlier: JobId, restored: CheckpointId | None, first: CheckpointId | None
) -> SnapshotId | None:
    """The newest commit at or below `restored`, or below `first` where the restore point is not known."""
    limit = restored if restored is not None else CheckpointId((first or 1) - 1)
    held = [s for s in before if s.checkpoint_id is not None and s.checkpoint_id <= limit]
    own = [s for s in held if s.job_id == earlier]
    return (own or held)[-1].snapshot_id if held else None


def _below(restored: CheckpointId | None, reached: CheckpointId | None) -> bool:
    return restored is not None and reached is not None and restored < reached
