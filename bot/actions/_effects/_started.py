"""What is looked at of a run that was started: that it came up, and that it goes on committing where it should."""

from bot.actions._effects._between import came_between
from bot.actions._requirements import World
from bot.domain.checkpoint_pace import PROPERTY, empty_commits_allowed
from bot.domain.effects import StartJob
from bot.domain.entries import Check
from bot.domain.errors import CouldNotLook
from bot.domain.flink import JobRun
from bot.domain.ids import CheckpointId, JobId, SnapshotId, short, short_job
from bot.domain.table import Snapshot, TableState
from bot.ports import FlinkJobs


def own_id(flink: FlinkJobs, asked: JobId) -> JobId:
    """The id under which the run commits: `asked`, or the one that the cluster chose for that start (an operator
    chooses its own). `asked` where Flink cannot be asked: then its commits are not found, and that is said."""
    try:
        run = flink.run(asked)
    except CouldNotLook:
        return asked
    return run.job_id if run is not None else asked


def commits_after(table: TableState, base: SnapshotId, job_id: JobId) -> tuple[Snapshot, ...]:
    """Commits of run `job_id` on main after `base`, oldest first."""
    return tuple(s for s in _after(table, base) if s.job_id == job_id)


def standing(run: JobRun) -> str:
    """How the run stands, with the newest cause that Flink tells where it does not simply run."""
    said = f"Run {short_job(run.job_id)} is {run.state}"
    if run.state == "RUNNING" and not run.is_settled:
        waiting = run.waiting[0]
        said += f", and its operator {waiting.name} is {waiting.status}"
    newest = None if run.is_settled else max(run.failures, key=lambda each: each.at, default=None)
    return f"{said}." if newest is None else f"{said}. Flink says: {newest.exception}: {newest.message.rstrip('.')}."


def run_check(effect: StartJob, job_id: JobId, world: World) -> Check:
    """It was restored there, and runs with every operator. A failover of its own since then is restored from a later
    checkpoint."""
    name = f"The job runs from checkpoint {effect.checkpoint_id}"
    try:
        run = world.jobs[effect.job].flink.run(job_id)
    except CouldNotLook as error:
        return Check(name=name, passed=None, sentence=str(error))
    if run is None:
        return Check(name=name, passed=False, sentence=f"Flink does not know run {short_job(job_id)}.")
    if run.restored is None:
        return Check(name=name, passed=False, sentence=f"{standing(run)} It shows no restore.")
    restored = run.restored.checkpoint_id
    is_from_there = restored == effect.checkpoint_id
    has_failed_over = run.restored_count > 1 and restored > effect.checkpoint_id and not run.restored.is_savepoint
    found = f"{standing(run)} It was restored from checkpoint {restored}"
    return Check(
        name=name,
        passed=run.is_settled and (is_from_there or has_failed_over),
        sentence=f"{found}, one of its own, after a failure since the start." if has_failed_over else f"{found}.",
    )


def owed_check(effect: StartJob, job_id: JobId, table: TableState) -> Check | None:
    """What the restore point held beyond the table is committed first, under the id of the run that wrote it. None
    where nothing is owed, or the record does not say."""
    owed = effect.owes
    if owed is None:
        return None
    paid = [
        s
        for s in _after(table, owed.head)
        if s.job_id not in {None, job_id}
        and s.checkpoint_id is not None
        and owed.checkpoint_id <= s.checkpoint_id <= effect.checkpoint_id
    ]
    return Check(
        name=f"Main has the pending files of checkpoint {owed.checkpoint_id}, after {short(owed.head)}",
        passed=bool(paid),
        sentence=f"Commit {short(paid[0].snapshot_id)} added them, as checkpoint {paid[0].checkpoint_id}."
        if paid
        else f"No commit after {short(owed.head)} has added them.",
    )


def goes_on_check(effect: StartJob, job_id: JobId, world: World) -> Check:
    """A checkpoint after the restore point is completed or committed: a run that only came up shows none."""
    name = f"The job has continued after checkpoint {effect.checkpoint_id}"
    flink, run = world.jobs[effect.job].flink, None
    try:
        run = flink.run(job_id)
    except CouldNotLook as error:
        return Check(name=name, passed=None, sentence=str(error))
    own = run.job_id if run is not None else job_id
    committed = [s.checkpoint_id for s in world.table.chain if s.job_id == own and s.checkpoint_id is not None]
    completed = [c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED"] if run is not None else []
    newest = max((*committed, *completed), default=CheckpointId(0))
    if newest <= effect.checkpoint_id:
        return Check(name=name, passed=False, sentence=f"Run {short_job(own)} has completed no checkpoint yet.")
    did = "committed" if newest in committed else "completed"
    return Check(name=name, passed=True, sentence=f"Run {short_job(own)} has {did} checkpoint {newest}.")


def commit_check(effect: StartJob, base: SnapshotId, job_id: JobId, world: World) -> Check:
    """The first commit is of a checkpoint after the restore point, on top of the snapshot that pairs. Between the two
    may lie what does not bind the job: commits of other engines, and of guests. Ids in between are those of checkpoints
    that failed, or had no files: the sink leaves these out for a while."""
    name = f"The first commit is of a later checkpoint than {effect.checkpoint_id}, on top of {short(base)}"
    commits = commits_after(world.table, base, job_id)
    if not commits:
        return Check(name=name, passed=False, sentence=f"Run {short_job(job_id)} has not committed yet.")
    first = commits[0]
    ids = ", ".join(str(s.checkpoint_id) for s in commits[:6])
    said = f"Run {short_job(job_id)} committed checkpoints {ids} on top of {short(first.parent_id)}."
    if base not in world.table.chain_ids or first.checkpoint_id is None or first.checkpoint_id <= effect.checkpoint_id:
        return Check(name=name, passed=False, sentence=said)
    try:
        between = came_between(effect.job, job_id, base, first, world)
    except CouldNotLook as error:
        return Check(name=name, passed=None, sentence=str(error))
    said = f"{said} {between.sentence}".rstrip()
    if between.is_bound:
        return Check(name=name, passed=False, sentence=said)
    skipped = range(effect.checkpoint_id + 1, first.checkpoint_id)
    if not skipped:
        return Check(name=name, passed=True, sentence=said)
    completed, told = _told_of(skipped, effect.job, job_id, world)
    allowed = empty_commits_allowed(world.table.properties)
    if completed > allowed:
        told += f" By `{PROPERTY}` at most {allowed} in a row may be without files, so some commits were dropped."
    return Check(name=name, passed=completed <= allowed, sentence=f"{said} {told}")


def _told_of(skipped: range, job: str, job_id: JobId, world: World) -> tuple[int, str]:
    """(how many of these checkpoints Flink calls completed, what is known of all of them)."""
    try:
        run = world.jobs[job].flink.run(job_id)
    except CouldNotLook:
        run = None
    listed = {c.checkpoint_id: c.status for c in run.checkpoints} if run is not None else {}
    completed = [each for each in skipped if listed.get(CheckpointId(each)) == "COMPLETED"]
    failed = [each for each in skipped if listed.get(CheckpointId(each)) == "FAILED"]
    others = len(skipped) - len(completed) - len(failed)
    parts = (
        (len(completed), "completed, with no files to commit"),
        (len(failed), "failed"),
        (others, "no longer listed by Flink; one without files is not committed"),
    )
    between = f"checkpoint {skipped[0]}" if len(skipped) == 1 else f"checkpoints {skipped[0]} to {skipped[-1]}"
    return len(completed), f"Before that, of {between}: {'; '.join(f'{n} {what}' for n, what in parts if n)}."


def _after(table: TableState, base: SnapshotId) -> tuple[Snapshot, ...]:
    kept = {s.snapshot_id for s in table.ancestors(base)}
    return tuple(s for s in reversed(table.chain) if s.snapshot_id not in kept)
