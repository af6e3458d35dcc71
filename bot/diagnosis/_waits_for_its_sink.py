"""Flink manifests of ended runs that wait for a restore under their own sink's id, or that evidence has not seen."""

from bot.diagnosis._came_since import came_since
from bot.diagnosis._case import committer_ids, living
from bot.domain.diagnosis import Case
from bot.domain.findings import LeakStanding
from bot.domain.flink import FlinkManifest
from bot.domain.guests import commits_of_job
from bot.domain.ids import short_job
from bot.domain.unread_rows import rows_of


def of_another_sink(case: Case) -> str | None:
    """What is missing to know that nothing was owed where a manifest of an ended run waits for a restore under its own
    sink's id, and the living run has another, or one that it has not shown yet; None: none does."""
    alive = living(case)
    if len(alive) != 1 or alive[0].restored is None or case.leaked is None:
        return None
    run, known = alive[0], committer_ids(case, alive[0])
    owed = (leak for leak in case.leaked.of(LeakStanding.PENDING) if not leak.is_empty and leak.job_id != run.job_id)
    mine = {run.job_id for run in case.runs} | {s.job_id for s in commits_of_job(case)}
    open_ones = (leak for leak in owed if leak.job_id in mine and leak.operator_id not in known)
    leak = next((leak for leak in open_ones if known or leak.checkpoint_id <= alive[0].restored.checkpoint_id), None)
    if leak is None:
        return None
    whose = f"checkpoint {leak.checkpoint_id} of run {short_job(leak.job_id)}, whose sink was {leak.operator_id[:6]}"
    sink = f"whose sink is {next(iter(known))[:6]}" if known else "which has not shown its sink yet"
    return (
        f"whether the restore point of run {short_job(run.job_id)}, {sink}, owed {rows_of((leak,))} of {whose}: under "
        f"another id they are lost. {leak.reason}"
    )


def left_since(case: Case) -> FlinkManifest | None:
    """A manifest by an ended run of the job that evidence has not seen."""
    ended = {run.job_id for run in case.runs if run.is_terminal}
    return next((each for each in came_since(case) if each.job_id in ended), None)
