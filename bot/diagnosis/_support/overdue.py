"""Which checkpoints Flink calls completed and no commit carries, though there was time to commit them."""

from collections.abc import Collection, Sequence
from datetime import datetime

from bot.diagnosis._support.case import by_sink, in_window, sinks_of
from bot.diagnosis._support.lost_and_expired import SEVERAL
from bot.history.base import has_first_position
from bot.history.case import Case
from bot.history.checkpoint_pace import completed_at, limit_of_one, time_to_commit
from bot.history.other_jobs import commits_of_job
from bot.observation.flink import STORAGE_CLOCK_DIFFERS, CheckpointKind, JobRun, names_run
from bot.observation.ids import CheckpointId, OperatorId, SnapshotId
from bot.observation.table import Snapshot


def overdue_of_run(case: Case, run: JobRun, checked: SnapshotId | None) -> list[CheckpointId]:
    """What is overdue of any sink of the run, rising."""
    sinks = _sinks_so_far(case, run)
    return sorted({i for operator in sinks for i in overdue_of_sink(case, run, checked, operator)})


def _sinks_so_far(case: Case, run: JobRun) -> tuple[OperatorId | None, ...]:
    """Each sink of the run, and of the job before: one whose commits of this run are gone with every trace is known by
    earlier ones."""
    commits = commits_of_job(case)
    last = max((place for place, s in enumerate(commits) if s.job_id == run.job_id), default=len(commits))
    sinks = {*sinks_of(case, run), *(s.operator_id for s in commits[: last + 1])}
    return tuple((sinks - {None}) or {None})


def none_written_before(case: Case, run: JobRun, checked: SnapshotId | None) -> datetime | None:
    """The moment before which no file of what is overdue of the run can have been written; None: nothing tells it."""
    late = {operator: overdue_of_sink(case, run, checked, operator) for operator in _sinks_so_far(case, run)}
    told = [_after_newest(case, run, checked, operator, ids) for operator, ids in late.items() if ids]
    moments = [each for each in told if each is not None]
    return min(moments) if moments and len(moments) == len(told) else None


def _after_newest(
    case: Case, run: JobRun, checked: SnapshotId | None, operator: OperatorId | None, ids: Collection[CheckpointId]
) -> datetime | None:
    """The same of one sink: its files of later checkpoints are begun once that of its newest commit with rows was
    triggered. Where Flink lists that one no longer, the commit's time bounds it, if no restore can have delayed it, nor
    a catalog that held it while checkpoints failed that the job tolerates."""
    newest = _newest_with_rows(case, _mine(case, run, operator), checked)
    if newest is None or newest.checkpoint_id is None or min(ids) <= newest.checkpoint_id:
        return None
    done = (c for c in run.checkpoints if c.checkpoint_id == newest.checkpoint_id and c.status == "COMPLETED")
    if (listed := next(done, None)) is not None:
        return listed.triggered_at - STORAGE_CLOCK_DIFFERS
    if run.restored is not None and newest.checkpoint_id <= run.restored.checkpoint_id:
        return None
    if run.failed_count and (run.settings is None or run.settings.tolerable_failures != 0):
        return None
    return newest.committed_at - limit_of_one(run) - time_to_commit(run) - STORAGE_CLOCK_DIFFERS


def overdue_of_sink(
    case: Case, run: JobRun, checked: SnapshotId | None, operator: OperatorId | None
) -> frozenset[CheckpointId]:
    """Completed ids above the newest commit with rows up to `checked` that no listed commit of the sink carries, though
    there was time: those that the run took itself since the window began, and what a living run was restored from.
    Where main has no commit of any listed run of the job, all that it completed count: what main begins with may be
    another job's. So do those below the first with rows that the table begins with: no position shows what lay below
    all that lives. What an ended run has below the rows of one that went on from it counts no more."""
    until = settled(case, run)
    since = _window_began(case, run) if run.is_terminal and _is_known(case) else run.started_at
    mine = _mine(case, run, operator)
    newest = _newest_with_rows(case, mine, checked)
    own = max((newest.checkpoint_id or 0) if newest else 0, _gone_on_from(case, run, checked, operator))
    carried = {s.checkpoint_id for s in mine}
    first = _below_all(case, run)
    late = {
        i for i, at in completed(run).items() if since < at <= until and (i > own or i < first) and i not in carried
    }
    return frozenset(late | _never_made(case, run, checked, operator))


def _is_known(case: Case) -> bool:
    """Whether main has a commit of any listed run of the job."""
    on_main = {s.job_id for s in case.observation.table.of_flink}
    return any(each.job_id in on_main for each in case.runs)


def _mine(case: Case, run: JobRun, operator: OperatorId | None) -> tuple[Snapshot, ...]:
    """The run's listed commits by the sink; none where the job is not known on main."""
    listed = case.observation.table.snapshots if _is_known(case) else ()
    return by_sink((s for s in listed if s.job_id == run.job_id), operator)


def _newest_with_rows(case: Case, mine: Sequence[Snapshot], checked: SnapshotId | None) -> Snapshot | None:
    """Up to `checked`, by the id of the checkpoint."""
    table = case.observation.table
    until = table.place_of(checked)
    told = (s for s in mine if s.adds_rows and table.place_of(s.snapshot_id) <= until)
    return max(told, key=lambda s: s.checkpoint_id or 0, default=None)


def _gone_on_from(case: Case, run: JobRun, checked: SnapshotId | None, operator: OperatorId | None) -> CheckpointId:
    """The highest checkpoint of an ended run from which another was restored that has brought rows by the same sink up
    to `checked`; of a source in partitions, `SEVERAL` times. What was lost up to there lies between those rows and its
    own, where it has some on main, and would be missed as a hole. 0: there is none."""
    table = case.observation.table
    until = table.place_of(checked)
    commits = by_sink(commits_of_job(case), operator)
    brought = [s.job_id for s in commits if s.adds_rows and table.place_of(s.snapshot_id) <= until]
    if not run.is_terminal or run.job_id not in brought:
        return CheckpointId(0)
    many = 1 if case.contract.position_partition is None else SEVERAL
    later = (each for each in case.runs if brought.count(each.job_id) >= many)
    restored = [
        each.restored.checkpoint_id for each in later if each.restored is not None and _came_from(case, each, run)
    ]
    return max(restored, default=CheckpointId(0))


def _came_from(case: Case, later: JobRun, run: JobRun) -> bool:
    """Whether a run was restored from another, by the path; where Flink tells none, because the job has no third."""
    if later.restored is None or later.job_id == run.job_id or later.started_at < run.started_at:
        return False
    if later.restored.path is not None:
        return names_run(later.restored.path, run.job_id)
    known = {each.job_id for each in case.runs} | {s.job_id for s in commits_of_job(case)}
    return later.restored_count == 1 and known == {run.job_id, later.job_id}


def _below_all(case: Case, run: JobRun) -> CheckpointId:
    """The id of the run's first commit with rows, where the table begins with that, and not with the source's first
    position; 0: evidence of positions vouches for what lies below."""
    table = case.observation.table
    first = next((s for s in table.of_flink if s.adds_rows), None)
    is_root = first is not None and first.job_id == run.job_id and not table.chain[-1].has_commit_below
    if first is None or not is_root or case.gaps is None:
        return CheckpointId(0)
    return CheckpointId(0) if has_first_position(case) else first.checkpoint_id or CheckpointId(0)


def _window_began(case: Case, run: JobRun) -> datetime:
    """The moment of the commit below it; where there is none, or it is not listed, of its earliest commit. With an
    empty one of Flink's no table begins: where nothing lies below it, what did may be gone; then as the run began. A
    commit may come so late that the next checkpoint is completed by then: where Flink lists its own, that counts."""
    below = case.observation.table.by_id.get(case.window.since) if case.window.since is not None else None
    if below is not None:
        return _completed_or_made(run, below)
    first = min(in_window(case), key=lambda s: s.committed_at, default=None)
    if first is None or (first.job_id is not None and not first.adds_rows and not first.has_commit_below):
        return run.started_at
    return _completed_or_made(run, first)


def _completed_or_made(run: JobRun, commit: Snapshot) -> datetime:
    done = completed(run).get(commit.checkpoint_id or CheckpointId(0)) if commit.job_id == run.job_id else None
    return min(done, commit.committed_at) if done is not None else commit.committed_at


def _never_made(case: Case, run: JobRun, checked: SnapshotId | None, operator: OperatorId | None) -> set[CheckpointId]:
    """What a living run was restored from, where no commit of the sink carries it."""
    if run.restored is None or run.is_terminal:
        return set()
    table, commits = case.observation.table, commits_of_job(case)
    theirs = by_sink(commits, operator) or commits
    above = {s.snapshot_id for s in table.chain} - {s.snapshot_id for s in table.ancestors(checked)}
    base = next((c.checkpoint_id or 0 for c in reversed(theirs) if c.snapshot_id not in above), 0)
    restored = run.restored.checkpoint_id
    return {restored} if restored > base and restored not in {c.checkpoint_id for c in theirs} else set()


def completed(run: JobRun) -> dict[CheckpointId, datetime]:
    """What the run completed itself, with the time."""
    return {
        c.checkpoint_id: completed_at(c)
        for c in run.checkpoints
        if c.status == "COMPLETED" and c.kind is CheckpointKind.CHECKPOINT
    }


def settled(case: Case, run: JobRun) -> datetime:
    """What completed up to then has had the time to be committed."""
    return case.observation.table.read_at - time_to_commit(run)
