"""What a Flink manifest that is still on storage means: the rule, from table, runs and restore points (facts 2.3).

What the run that came after a manifest's run tells of it, where no restore point lists the manifest any more.
"""

from collections.abc import Iterable, Sequence, Set

from bot.domain.evidence import Observation
from bot.domain.findings import LeakStanding
from bot.domain.flink import V1_COMMITTER, CheckpointKind, FlinkManifest, JobRun, StoredCheckpoint, names_run
from bot.domain.ids import DRAINED, CheckpointId, JobId, short, short_job
from bot.domain.looked import NotSeen
from bot.domain.paths import may_be_same
from bot.domain.rewinds import FROM_NOTHING, first_shown, origin_of
from bot.domain.table import TableState
from spark_tasks._other_branches import committed_elsewhere
from spark_tasks._restarts import (
    lists,
    of_its_job,
    of_start_without_state,
    of_untold_start,
    ran_through,
    runs_of,
    was_completed,
    went_back,
)

BEGAN_ANYWHERE = "where its source began, and whether it has read these rows, or will, is not known."
"""Said of a run that began with nothing: its offsets may be the earliest, the latest, or a time."""


def after_its_run(leak: FlinkManifest, world: Observation, behind: Set[JobId]) -> tuple[LeakStanding, str]:
    """Its standing, and a clause that says why. Lost only where Flink shows that the next run began behind its rows,
    and that none has begun with nothing since: ids that are low or high do not tell whether the rows were read again,
    and what begins with nothing may begin at the earliest of its source. `behind`: as `of_untold_start` has it."""
    successor = _successor(leak, world)
    if successor is None:
        return LeakStanding.UNTOLD, "no run that came next tells whether its rows were read again."
    name = f"run {short_job(successor)}, which came next,"
    run = next((run for run in world.jobs.values if run.job_id == successor), None)
    shown = first_shown(run) if run is not None else None
    if shown is not None and names_run(shown.path, leak.job_id) and shown.checkpoint_id >= leak.checkpoint_id:
        why = f"{name} was restored from checkpoint {shown.checkpoint_id}, which knew nothing of it."
        return unless_begun_anew(leak, world, behind, why)
    origin = origin_of(run) if run is not None and shown is None else None
    if origin == FROM_NOTHING and successor in behind:
        why = f"{name} was restored from nothing, and the first rows that it brought lie behind these in the source."
        return unless_begun_anew(leak, world, behind, why)
    if origin == FROM_NOTHING:
        return LeakStanding.UNTOLD, f"{name} was restored from nothing: {BEGAN_ANYWHERE}"
    if origin is not None and origin < leak.checkpoint_id:
        return LeakStanding.GIVEN_UP, f"{name} began at checkpoint {origin}, by its history, and read its rows again."
    return LeakStanding.UNTOLD, (
        f"what Flink still shows of {name} does not tell whether it read the rows of checkpoint {leak.checkpoint_id} "
        "again."
    )


def unless_begun_anew(
    leak: FlinkManifest, world: Observation, behind: Set[JobId], why: str
) -> tuple[LeakStanding, str]:
    """Lost for this reason, a clause; untold where a run has begun with nothing since, or may have."""
    if (later := of_start_without_state(leak, world, behind)) is None:
        return LeakStanding.LOST_STATE, why
    return LeakStanding.UNTOLD, (
        f"{why[:-1]}; but run {short_job(later)}, which was at work after that, began with nothing, or may have: "
        f"{BEGAN_ANYWHERE}"
    )


def _successor(leak: FlinkManifest, world: Observation) -> JobId | None:
    """The first run to commit after the manifest was written, else one that is alive; another that was there before
    has not come after it. None also where storage does not tell when the manifest was written."""
    written_at, chain = leak.written_at, world.table.chain
    if written_at is None:
        return None
    before = {s.job_id for s in chain if s.committed_at < written_at} | {leak.job_id}
    before |= {run.job_id for run in world.jobs.values if run.started_at < written_at}
    committed = [s.job_id for s in reversed(chain) if s.committed_at >= written_at and s.job_id is not None]
    alive = [run.job_id for run in world.jobs.values if not run.is_terminal]
    return next((job for job in (*committed, *alive) if job not in before), None)


Standing = tuple[LeakStanding, str]
"""Where it stands, and the sentence that says why."""


def standing(leak: FlinkManifest, world: Observation, behind: Set[JobId] = frozenset()) -> Standing:
    """Of a manifest whose files are not all in the table.

    A run that is over can still be restored from a point that lists the manifest, and then commits it: as long as
    such a point is there, and no run has been started from it in vain, the manifest is pending. Where what was seen
    does not tell whether its rows were read again, it is untold: neither an accusation nor a release. So it is where
    its run commits to another branch (`toBranch`) and not to main: its rows are that branch's.

    `behind`: runs that are told to have begun behind the manifest's rows, by the positions of what they brought first.
    """
    run = next((run for run in world.jobs.values if run.job_id == leak.job_id), None)
    committed = committed_of(leak, world.table)
    owing = _owing(leak, world.checkpoints.values)
    if run is not None and (back := went_back(leak, (run,), world)) is not None:
        return _read_again(back, leak)
    if committed is not None and leak.checkpoint_id <= committed:
        return _below(leak, committed, run, owing, world, behind)
    elsewhere = committed_elsewhere(leak, world.table)
    if elsewhere is None and committed is None and run is not None and _is_below_drained(leak, run, world.table):
        head = f"Run {short_job(leak.job_id)} goes on from a drained job, whose last commit carries Long.MAX_VALUE"
        skips = f"{head}: its V1 sink takes checkpoint {leak.checkpoint_id} for committed"
        return _passed_over(leak, (head, skips), run, owing, world, behind)
    reached = "nothing" if committed is None else f"checkpoint {committed}"
    head = f"Main has {reached} of run {short_job(leak.job_id)}"
    if run is not None and not run.is_terminal:
        return (
            LeakStanding.PENDING,
            f"{head}, which is {run.state}: it may still commit checkpoint {leak.checkpoint_id}.",
        )
    if elsewhere is not None:
        ref, commits = elsewhere
        return LeakStanding.UNTOLD, (
            f"{head}; that run, or its sink, commits to {ref}, up to checkpoint {commits[0].checkpoint_id} "
            f"({short(commits[0].snapshot_id)}): what it wrote belongs there, and not on main."
        )
    vain = next((r for r in world.jobs.values if _started_in_vain(r, leak, owing)), None)
    if vain is not None:
        why = "was restored from the point that listed this manifest and has not committed it: its committer came "
        found, said = unless_begun_anew(leak, world, behind, f"run {short_job(vain.job_id)} {why}without state.")
        return found, f"{head}; {said}"
    if owing:
        where = owing[0].path.rstrip("/").rsplit("/", 1)[-1]
        return LeakStanding.PENDING, f"{head}, which is over; a restore from {where} would commit it."
    if (unseen := _unseen(world)) is not None:
        return LeakStanding.PENDING, f"{head}{unseen}"
    if (back := went_back(leak, of_its_job(leak, world), world)) is not None:
        return _read_again(back, leak)
    ended = f"ended as {run.state}" if run is not None else "is not known to Flink any more"
    is_unread = any(_may_owe(leak, point) for point in world.checkpoints.values)
    memory = "no restore point that could be read lists it" if is_unread else "no restore point lists it"
    where, why = after_its_run(leak, world, behind)
    return where, f"{head}, which {ended}, and {memory}; {why}"


def _unseen(world: Observation) -> str | None:
    """What was not looked at that might remember a manifest, a clause; None: all was."""
    if isinstance(world.jobs, NotSeen):
        return "; whether that run is alive is not known, because Flink was not asked."
    if isinstance(world.checkpoints, NotSeen):
        return ", which is over; whether a restore point lists it could not be looked at."
    return None


def _read_again(run: JobRun, leak: FlinkManifest) -> Standing:
    point = run.restored.checkpoint_id if run.restored else FROM_NOTHING
    if point >= leak.checkpoint_id:
        return LeakStanding.GIVEN_UP, (
            f"Run {short_job(run.job_id)} was restored from a checkpoint {point} that was there before run "
            f"{short_job(leak.job_id)} began to write the manifest's rows, and read them again."
        )
    return LeakStanding.GIVEN_UP, (
        f"Run {short_job(run.job_id)} went back to checkpoint {point} after the manifest was written, and read its "
        "rows again."
    )


def committed_of(leak: FlinkManifest, table: TableState) -> CheckpointId | None:
    """The checkpoint id that the sink itself finds for this run and operator: of the newest ancestor of the head
    (facts 1.5), not the highest; None if there is none."""
    same = (
        commit.checkpoint_id
        for commit in table.chain
        if commit.job_id == leak.job_id and commit.operator_id in {None, leak.operator_id}
    )
    return next((checkpoint for checkpoint in same if checkpoint is not None), None)


def _below(
    leak: FlinkManifest,
    committed: CheckpointId,
    run: JobRun | None,
    owing: Sequence[StoredCheckpoint],
    world: Observation,
    behind: Set[JobId],
) -> Standing:
    head = f"Main has checkpoint {committed} of run {short_job(leak.job_id)}"
    is_v1 = run is not None and any(V1_COMMITTER in vertex.name for vertex in run.vertices)
    if run is not None and is_v1 and not run.is_terminal and ran_through(leak, run):
        return (
            LeakStanding.PENDING,
            f"{head}; its V1 sink keeps checkpoint {leak.checkpoint_id} in memory until an id above {committed} "
            "completes, and drops it if the job fails over before that.",
        )
    if _is_of_a_savepoint_above(leak, owing, world.table) and went_back(leak, of_its_job(leak, world), world) is None:
        return LeakStanding.UNTOLD, (
            f"{head}, and had less when savepoint {leak.checkpoint_id} was written: a sink that goes on commits that. "
            "So a restart came before, which may have been from below it and have read the rows again."
        )
    skips = f"{head}, so the sink takes checkpoint {leak.checkpoint_id} for committed and skips it"
    return _passed_over(leak, (head, skips), run, owing, world, behind)


def _is_of_a_savepoint_above(leak: FlinkManifest, owing: Sequence[StoredCheckpoint], table: TableState) -> bool:
    """Whether savepoints alone list the manifest, and main had nothing of its run up to there when it was written. A
    failover never goes back to a savepoint, only to a checkpoint, which then is committed."""
    if leak.written_at is None or not owing or any(point.kind is CheckpointKind.CHECKPOINT for point in owing):
        return False
    before = (s for s in table.snapshots if s.job_id == leak.job_id and s.committed_at <= leak.written_at)
    return not any(s.checkpoint_id is not None and s.checkpoint_id >= leak.checkpoint_id for s in before)


def _passed_over(
    leak: FlinkManifest,
    told: tuple[str, str],
    run: JobRun | None,
    owing: Sequence[StoredCheckpoint],
    world: Observation,
    behind: Set[JobId],
) -> Standing:
    """Of a checkpoint that its sink takes for committed: lost where it was completed, and no run that came later has
    read its rows again, or may have. `told`: by what the sink measures, and that with what it makes of it."""
    head, skips = told
    if (back := went_back(leak, of_its_job(leak, world), world)) is not None:
        return _read_again(back, leak)
    if not owing and (run is None or not (ran_through(leak, run) or was_completed(leak, run))):
        return LeakStanding.UNTOLD, (
            f"{head}. Whether checkpoint {leak.checkpoint_id} was completed, and passed over, or was still in progress "
            "when the job went down, and was read again, is shown neither by Flink nor by a restore point."
        )
    if (later := of_untold_start(leak, world, behind)) is not None:
        return (
            LeakStanding.UNTOLD,
            f"{skips}; run {short_job(later)} was at work after that, and {_untold(later, leak, world, behind)}",
        )
    return LeakStanding.DROPPED, f"{skips}."


def _untold(later: JobId, leak: FlinkManifest, world: Observation, behind: Set[JobId]) -> str:
    """What is not known of a run that was at work after the manifest was written, a clause."""
    is_listed = any(other.job_id == later for other in runs_of(world))
    if is_listed and of_start_without_state(leak, world, behind) == later:
        return f"began with nothing: {BEGAN_ANYWHERE}"
    missing = "what Flink shows of it does not tell."
    if not is_listed:
        missing = (
            "Flink does not list it. If it is of another job, name that in the table's `other_jobs`: Flink shows then "
            "whether it reads another source."
        )
    return f"whether it began before the rows, and read them too, is not known: {missing}"


def _is_below_drained(leak: FlinkManifest, run: JobRun, table: TableState) -> bool:
    """A restored V1 sink measures its checkpoints by the run whose state it holds (facts 1.1): where the operator's
    newest commit was a drained one when the run was restored, none is ever above it. It was also where it still is,
    whatever the clocks say."""
    restored, is_v1 = run.restored, any(V1_COMMITTER in vertex.name for vertex in run.vertices)
    if restored is None or not is_v1:
        return False
    same = [s for s in table.chain if s.checkpoint_id is not None and s.operator_id == leak.operator_id]
    before = next((s for s in same if s.committed_at <= restored.at), None)
    return DRAINED in {s.checkpoint_id for s in (*same[:1], before) if s is not None}


def _owing(leak: FlinkManifest, stored: Iterable[StoredCheckpoint]) -> list[StoredCheckpoint]:
    """Restore points whose committer state lists the manifest."""
    return [point for point in stored if lists(point, leak)]


def _may_owe(leak: FlinkManifest, stored: StoredCheckpoint) -> bool:
    """A point of that run, late enough as far as is known, whose committer state could not be read."""
    is_late = stored.is_unread if stored.checkpoint_id is None else stored.checkpoint_id >= leak.checkpoint_id
    return is_late and not stored.is_committer_read and stored.job_id in {None, leak.job_id}


def _started_in_vain(run: JobRun, leak: FlinkManifest, owing: list[StoredCheckpoint]) -> bool:
    """Whether a run came up from a point that listed the manifest: a restored committer commits it at once."""
    if run.restored is None or run.restored.path is None or run.job_id == leak.job_id or not run.is_settled:
        return False
    return any(may_be_same(run.restored.path, point.path) for point in owing)
