"""`wait`: Flink is recovering the job right now; nothing should be decided before it has settled."""

from datetime import datetime, timedelta

from bot.diagnosis._asked import checked_until
from bot.diagnosis._case import is_live, living, time_in, unseen
from bot.diagnosis._may_commit_on import loop, since_checkpoint, stuck
from bot.diagnosis._read_again_once import started_after_a_drain
from bot.diagnosis._rewound_in_doubt import rewound_in_doubt
from bot.diagnosis._to_come_again import may_come_again
from bot.diagnosis._which_point import which_point
from bot.diagnosis._wrong_rows import repeats_unexplained
from bot.domain.diagnosis import Act, CannotTell, Case, Examined, Excluded, Matches, Mode, Remedy
from bot.domain.flink import Failure, JobRun, names_run
from bot.domain.guests import Guests
from bot.domain.ids import JobId, OperatorId, short, short_job
from bot.domain.looked import NotSeen
from bot.domain.rollbacks import rollbacks
from bot.domain.sentences import counted
from bot.domain.suspicion import is_unexplained

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
        if _is_catching_up(case, run):
            return _in_doubt(case, run) or _catching_up(case, run)
        return Excluded(
            reason=f"Run {short_job(run.job_id)} is RUNNING with every operator running: there is nothing to wait for."
        )
    return Matches(
        headline=f"Flink is recovering run {short_job(run.job_id)} now: wait until it has settled.",
        reasons=_reasons(case, run, fresh),
        rows=(),
        last_good=None,
        wrong_run=None,
        remedy=Remedy.WAIT,
    )


def _is_catching_up(case: Case, run: JobRun) -> bool:
    """Whether a restored run is still to write again what a rewind of the table took off main."""
    table = case.observation.table
    if case.gaps is None or not case.gaps.to_come or case.gaps.missing or run.restored is None:
        return False
    taken = [r for r in rollbacks(table, case.runs) if r.is_within(case.window, table)]
    is_told = not any(is_unexplained(r, case.observation.jobs) or rewound_in_doubt(case, r) for r in taken)
    return bool(taken) and is_told and (which_point(case) or _left_by_a_restore(case)) is None


def _in_doubt(case: Case, run: JobRun) -> CannotTell | None:
    """What is missing to know that nothing else than that is to be waited for; None: nothing is."""
    repeated = repeats_unexplained(case)
    again = may_come_again(case, checked_until(case, "missing_positions"))
    if (left := repeated or started_after_a_drain(case)) is not None:
        return left
    if case.duplicates is not None and case.duplicates.keys:
        return CannotTell(missing=(f"why {counted(case.duplicates.keys, 'key')} came twice: no rewind does that",))
    if again is not None:
        return CannotTell(missing=(again,))
    table = case.observation.table
    since = table.place_of(checked_until(case, "duplicate_commits"))
    others = (s for s in table.chain if s.adds_rows and s.job_id != run.job_id)
    newer = next((s for s in others if table.place_of(s.snapshot_id) > since), None)
    if case.duplicate_commits is None or newer is None:
        return None
    said = f"duplicate_commits, once more: {short(newer.snapshot_id)}, by another writer, is newer"
    return CannotTell(missing=(said,), asks=("duplicate_commits",))


def _catching_up(case: Case, run: JobRun) -> Matches:
    to_come = case.gaps.to_come if case.gaps else 0
    restored = run.restored.checkpoint_id if run.restored else None
    return Matches(
        headline=f"Run {short_job(run.job_id)} writes again what the rewind took off: {to_come} positions are to come.",
        reasons=(
            f"The table and run {short_job(run.job_id)} were rewound together, the run to checkpoint {restored}.",
            f"{to_come} positions that were on main before lie above the highest live one; none below it is missing.",
            "Look for missing positions again once the run has caught up.",
        ),
        rows=(),
        last_good=None,
        wrong_run=None,
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
    said.append("Evidence that is collected now may change within seconds.")
    return tuple(said)


def _nothing_alive(case: Case) -> str:
    ended = case.runs
    if not ended:
        return "Flink knows no run of this job, so nothing is being recovered."
    return f"Run {short_job(ended[-1].job_id)} is {ended[-1].state} and does not come back by itself."


def _left_by_a_restore(case: Case) -> str | None:
    """What is missing to know that its rows come: no commit carries it, though a living run was restored from above it
    and runs. None: there is none."""
    listing = case.observation.flink_manifests
    if isinstance(listing, NotSeen) or not listing.values:
        return None
    reached, guests = _reached(case), Guests(case)
    for run in living(case):
        point = run.restored
        if point is None or not run.is_settled:
            continue
        for left in listing.values:
            is_named = point.path is None or names_run(point.path, left.job_id)
            is_of_state = is_named and left.checkpoint_id <= point.checkpoint_id
            if left.job_id == run.job_id or not is_of_state or guests.has_run(left.job_id):
                continue
            is_carried = reached.get((left.job_id, left.operator_id), 0) >= left.checkpoint_id
            if not is_carried and not _lives(case, left.path):
                name = left.path.rsplit("/", 1)[-1]
                return (
                    f"whether the rows of Flink manifest {name} come: checkpoint {left.checkpoint_id} of run "
                    f"{short_job(left.job_id)} was in the state from which run {short_job(run.job_id)} was restored "
                    f"(checkpoint {point.checkpoint_id}), and no listed commit carries it; `leaked_manifests` and "
                    "`missing_positions` tell once its next rows are committed"
                )
    return None


def _reached(case: Case) -> dict[tuple[JobId | None, OperatorId | None], int]:
    """Run and sink -> the highest checkpoint that a listed commit of theirs carries, on main or not."""
    found: dict[tuple[JobId | None, OperatorId | None], int] = {}
    for commit in case.observation.table.snapshots:
        key = commit.job_id, commit.operator_id
        found[key] = max(found.get(key, 0), commit.checkpoint_id or 0)
    return found


def _lives(case: Case, path: str) -> bool:
    """Whether each position of the manifest is in a live row: its commit may have expired, and its deletion failed."""
    found = (leak for leak in (case.leaked.manifests if case.leaked is not None else ()) if leak.path == path)
    return any(is_live(leak, case.gaps, case.contract) for leak in found)
