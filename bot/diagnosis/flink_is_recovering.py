"""`wait`: Flink is recovering the job right now; nothing should be decided before it has settled."""

from datetime import datetime, timedelta
from itertools import takewhile

from bot.diagnosis._support.asked import checked_until
from bot.diagnosis._support.case import living, time_in, unseen
from bot.diagnosis._support.may_commit_on import loop, since_checkpoint, stuck
from bot.diagnosis._support.rightness import root_in_doubt
from bot.diagnosis._support.wrong_rows import repeats_unexplained
from bot.history.ancestry import ancestry_of
from bot.history.case import Case
from bot.history.lineage import Lineage
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.flink import CLOCKS_DIFFER, Failure, JobRun, cause_of
from bot.observation.ids import short_job
from bot.observation.looked import NotSeen

RECENT = timedelta(minutes=1)
"""A failure this young, with no checkpoint after it, is not over."""
MODE = Mode(
    code="wait",
    name="flink_is_recovering",
    title="Flink is recovering the job now",
    needs=(),
    false_positives=(
        "A restart loop: the job fails again and again with the same exception.",
        "A run that never comes up, for want of slots: it is waited for the timeout of its checkpoints, ten minutes at "
        "least, and two intervals, an hour at most.",
    ),
    neighbours={
        "healthy": "There the run is settled and everything was looked at. Here what is seen now may change "
        "within seconds.",
        "no-advance": "There no run is alive, or it failed three times since its last completed checkpoint. Or it has "
        "not come up for longer than a recovery takes. Here it may still come back by itself.",
        "F3": "There the run is settled and completes checkpoints that are not committed. Here it is not settled.",
        "F7": "There each restart fails for the same Flink manifest, and waiting ends nothing. Here none "
        "has failed so.",
        "F11": "There the run is settled and only commits stay out. Here it is not settled.",
        "F20": "There the job runs and checkpoints of it failed. Here the job itself is being restarted.",
    },
    act=Act.WAIT,
    remedies=(Remedy.WAIT,),
)


def examine(case: Case) -> Examined:
    """Matches while a living run is not settled, unless it only fails again and again, or does not come up."""
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    alive = living(case)
    if not alive:
        return Excluded(reason=_nothing_alive(case))
    run = alive[-1]
    if (ended := loop(case, run) or stuck(case, run)) is not None:
        return Excluded(reason=f"{ended} Waiting does not end it: see `no-advance`.")
    fresh = _fresh(run, case.observation.table.read_at)
    if not is_recovering(run, case.observation.table.read_at):
        if _has_to_catch_up(case, run):
            return root_in_doubt(case) or repeats_unexplained(case) or _catching_up(case, run)
        return Excluded(
            reason=f"Run {short_job(run.job_id)} is RUNNING with every operator running: there is nothing to wait for."
        )
    return Matches(
        headline=f"Flink is recovering run {short_job(run.job_id)} now: wait until it has settled.",
        reasons=_reasons(case, run, fresh),
        remedy=Remedy.WAIT,
    )


def _has_to_catch_up(case: Case, run: JobRun) -> bool:
    """Whether rows that main lost are still to come again, and a restored run may be to write them; not where another
    one has brought rows since they were counted, nor, of several source partitions, where it brought what main lost: it
    may have read partitions of its own."""
    is_all = case.gaps is not None and bool(case.gaps.to_come) and not case.gaps.missing
    if not is_all or run.restored is None or (case.duplicates is not None and case.duplicates.keys):
        return False
    checked = checked_until(case, "missing_positions")
    newer = takewhile(lambda s: s.snapshot_id != checked, case.observation.table.chain)
    is_by_others = any(s.adds_rows and s.job_id != run.job_id for s in newer)
    came_up = run.restored.at + CLOCKS_DIFFER
    lost = (s for s in case.observation.table.rolled_back if s.adds_rows and s.committed_at >= came_up)
    line = ancestry_of(case, run.job_id).segments
    beside = (s for s in lost if s.job_id is not None and not any(each.is_by(s) for each in line))
    is_apart = case.contract.position_partition is not None and any(beside)
    return not is_by_others and not is_apart and not any(Lineage(case, run).lost)


def _catching_up(case: Case, run: JobRun) -> Matches:
    to_come = case.gaps.to_come if case.gaps else 0
    restored = run.restored.checkpoint_id if run.restored else None
    return Matches(
        headline=f"Run {short_job(run.job_id)} writes the removed rows again: {to_come} positions are to come.",
        reasons=(
            f"The table and run {short_job(run.job_id)} were rolled back together, the run to checkpoint {restored}.",
            f"{to_come} positions that were on main before lie above the highest live one; none below it is missing.",
            "Look for missing positions again once the run has caught up.",
        ),
        remedy=Remedy.WAIT,
    )


def is_recovering(run: JobRun, at: datetime) -> bool:
    """Whether the run is not settled, or failed within the last minute without a checkpoint since."""
    return not run.is_settled or bool(_fresh(run, at))


def _fresh(run: JobRun, at: datetime) -> list[Failure]:
    return [f for f in since_checkpoint(run) if timedelta(0) <= at - f.at <= RECENT]


def _reasons(case: Case, run: JobRun, fresh: list[Failure]) -> tuple[str, ...]:
    said = [f"Flink says that run {short_job(run.job_id)} is {run.state}."]
    waiting = run.waiting
    if waiting:
        said.append(f"{len(waiting)} of {len(run.vertices)} operators are not running yet: {waiting[0].name} is "
                    f"{waiting[0].status}.")  # fmt: skip
    if fresh:
        said.append(
            f"It failed at {time_in(case, fresh[0].at)} with {fresh[0].exception}, "
            "and no checkpoint has completed since."
        )
        if (cause := cause_of(fresh[0])).first is not None:
            said.append(cause.in_words)
    said.append("Evidence that is collected now may change within seconds.")
    return tuple(said)


def _nothing_alive(case: Case) -> str:
    ended = case.runs
    if not ended:
        return "Flink knows no run of this job, so nothing is being recovered."
    return f"Run {short_job(ended[-1].job_id)} is {ended[-1].state} and does not come back by itself."
