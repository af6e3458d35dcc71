"""Flink manifests that lie on storage and that no commit took along: told where no failure mode explains them."""

from bot.diagnosis._case import living
from bot.diagnosis._leaks import in_words
from bot.domain.diagnosis import Case
from bot.domain.findings import LeakStanding
from bot.domain.ids import short_job
from bot.domain.watch import Sign

LEAKED = "leaked"


def leaked(case: Case) -> Sign | None:
    """The newest run's manifests whose rows the table does not have and nothing will commit, from the evidence of a
    closer look; None before one, and while no run is alive: a restore may still take them along.

    What waits for its commit is no leak (F11 tells when it waits for too long), nor is what a job read again after it
    went back: a checkpoint in progress leaves its manifest behind whenever a job fails, or is restored from below it.
    """
    if case.leaked is None or not living(case):
        return None
    lost = [each for each in case.leaked.of(LeakStanding.DROPPED, LeakStanding.LOST_STATE) if not each.is_empty]
    if not lost:
        return None
    run = lost[-1].job_id
    mine = sorted((each for each in lost if each.job_id == run), key=lambda each: each.checkpoint_id)
    what = "rows" if any(each.rows != 0 for each in mine) else "deletes"
    return Sign(
        code=LEAKED,
        subject=run,
        headline=f"Run {short_job(run)} wrote {what} that no commit took along.",
        reasons=(in_words(mine), *dict.fromkeys(each.reason for each in mine)),
        advice="open an incident and look whether their rows came again; remove no orphan files until then",
        severity="sev2",
        runbook="missing-rows",
        is_urgent=False,
    )
