"""F14: two starts of the job share one job id, so commits of different starts look like one run.

Application mode with high availability and no fixed id gives every start the id that is hashed from the cluster's
id, and very old versions give zero. Not a fault by itself: but any restart below the head then loses commits (F3, F4).
"""

import re
from itertools import groupby

from bot.diagnosis._support.case import in_window, rows_by, time_in, unseen
from bot.history.case import Case
from bot.history.starts import began_without_state, flink_commits
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.flink import CLOCKS_DIFFER, JobRun
from bot.observation.ids import JobId, short_job
from bot.observation.looked import NotSeen
from bot.observation.table import Snapshot

MODE = Mode(
    code="F14",
    name="job_id_reused",
    title="different starts of the job share one job id",
    needs=(),
    false_positives=(
        "A JobManager that failed over: it gives the same run a new start time, and brings it back from its newest "
        "checkpoint. A restart from there looks the same, and only the JobManager's log tells.",
        "An id that somebody fixed on purpose, with every restart from the newest checkpoint.",
    ),
    neighbours={
        "F3": "There a start from below the head keeps commits out. Here the id has several starts, which "
        "alone changes no row.",
        "F4": "There a start without state under the id has its commits dropped. Here the id has several "
        "starts, which alone changes no row.",
        "F15": "There the start had no state, whatever its id. Here the id was used before, whatever the start had.",
    },
    act=Act.NOTE,
    remedies=(Remedy.NOTHING,),
)
_HASHED = re.compile(r"(?:0{8}|f{8})[0-9a-f]{8}0{16}")
"""A 32-bit hash, widened with its sign to the first half; the other half is zero (facts F14)."""


def examine(case: Case) -> Examined:
    """Matches on an id that no submission draws by itself, or on commits by a run from before a start that no failover
    of the JobManager explains."""
    ids = dict.fromkeys(s.job_id for s in in_window(case) if s.job_id)
    ids |= dict.fromkeys(run.job_id for run in case.runs)
    hashed = next((job for job in ids if _HASHED.fullmatch(job)), None)
    if hashed is not None:
        return _matches(case, hashed, _form(hashed))
    for job, starts in groupby(case.runs, key=lambda run: run.job_id):
        said = _starts(case, list(starts))
        if said is not None:
            return _matches(case, job, said)
    if isinstance(case.observation.jobs, NotSeen):
        return CannotTell(missing=(unseen(case.observation.jobs),))
    taken_over = next((run for run in case.runs if _older_commits(case, run)), None)
    if taken_over is not None:
        return CannotTell(missing=(_may_be_failover(case, taken_over),))
    if not ids:
        return Excluded(reason="No commit in the window carries a Flink job id, and Flink knows no run of the job.")
    return Excluded(
        reason=f"Each of the {len(ids)} job ids ({', '.join(short_job(job) for job in ids)}) was drawn for one start, "
        "and no commit is older than the start of its run."
    )


def _form(job: JobId) -> str:
    if set(job) == {"0"}:
        return f"The id {job} is zero: application mode gives it to every start."
    return (
        f"The id {job} is a hash of high-availability.cluster-id: application mode with high availability and without "
        "a fixed id gives it to every start."
    )


def _starts(case: Case, runs: list[JobRun]) -> str | None:
    """What shows that the id had an earlier start than its newest one; None if nothing does."""
    if len(runs) > 1:
        return (
            f"Flink lists {len(runs)} starts of {runs[0].job_id}, the newest at {time_in(case, runs[-1].started_at)}."
        )
    run = runs[0]
    older = _older_commits(case, run)
    how = _submitted(run, older) if older else None
    if how is None:
        return None
    return (
        f"Flink says that {run.job_id} started at {run.started_at:%Y-%m-%d %H:%M:%S} UTC, and the table has commits "
        f"by it since {older[0].committed_at:%Y-%m-%d %H:%M:%S} UTC. {how}"
    )


def _older_commits(case: Case, run: JobRun) -> list[Snapshot]:
    """The id's commits from before the run's start, oldest first, by more than clocks may differ."""
    before = run.started_at - CLOCKS_DIFFER
    return [c for c in flink_commits(case.observation.table) if c.job_id == run.job_id and c.committed_at < before]


def _submitted(run: JobRun, older: list[Snapshot]) -> str | None:
    """What shows that somebody started it anew: a JobManager that takes over brings a run back from the newest
    checkpoint that it completed, never from a savepoint or from further back. None: nothing does."""
    if began_without_state(run, None):
        return "It was started without state, as no JobManager that fails over does."
    if run.restored is None:
        return None
    restored, newest = run.restored.checkpoint_id, older[-1].checkpoint_id
    if run.restored.is_savepoint:
        return "It was restored from a savepoint, as no JobManager that fails over does."
    if newest is not None and restored < newest:
        return f"It was restored from checkpoint {restored}, below {newest}, as no JobManager that fails over does."
    if run.restored.path is not None and run.job_id not in run.restored.path:
        return "It was restored from another run's checkpoint, as no JobManager that fails over does."
    return None


def _may_be_failover(case: Case, run: JobRun) -> str:
    whence = f" from checkpoint {run.restored.checkpoint_id}" if run.restored is not None else ""
    return (
        f"whether run {short_job(run.job_id)}, which began at {time_in(case, run.started_at)}{whence} and has older "
        "commits, was started anew or brought back by a JobManager that failed over: the JobManager's log tells; "
        "nothing is skipped either way while it goes on from its newest checkpoint"
    )


def _matches(case: Case, job: JobId, said: str) -> Matches:
    return Matches(
        headline=f"Job id {short_job(job)} is used by more than one start, so tell its runs apart by their start time.",
        reasons=(
            said,
            "The sink knows a run by its id alone: a restart from below the head, or without state, makes it skip "
            "commits (F3, F4).",
            "Nothing is wrong with the rows for this alone; give the next deployment an id of its own.",
        ),
        rows=rows_by(case, (job,), None),
        remedy=Remedy.NOTHING,
    )
