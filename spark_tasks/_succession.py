"""What the run that came after a manifest's run tells of it, where no restore point lists the manifest any more."""

from collections.abc import Set

from bot.domain.beginnings import FROM_NOTHING, first_shown, origin_of
from bot.domain.evidence import Observation
from bot.domain.findings import LeakStanding
from bot.domain.flink import FlinkManifest, names_run
from bot.domain.ids import JobId, short_job
from spark_tasks._restarts import of_start_without_state

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
