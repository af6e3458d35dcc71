"""Which commits above and below a rollback's target are the job's, and not another job's that writes the table beside
it: only its own say what became of the rows that main lost."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from bot.domain.flink import JobRun
from bot.domain.ids import DRAINED, JobId, OperatorId
from bot.domain.table import Snapshot


def reached_by(below: Iterable[Snapshot], lost: Sequence[Snapshot]) -> int:
    """The id of the job's newest commit at or below the target (`below`, newest first), by a run or a sink that made
    what main lost: a guest counts by itself, and what a drain leaves is no count."""
    runs, sinks = {s.job_id for s in lost}, {s.operator_id for s in lost}
    mine = (s for s in below if s.job_id in runs or None in (s.operator_id, *sinks) or s.operator_id in sinks)
    ids = (s.checkpoint_id or 0 for s in mine)
    return next((each for each in ids if each < DRAINED), 0)


def sinks_of(
    lost: Iterable[Snapshot], commits: Iterable[Snapshot], runs: Mapping[JobId, JobRun]
) -> frozenset[OperatorId | None]:
    """The operators by which the job had committed what it lost, or by which a run of it has that Flink lists."""
    return frozenset({s.operator_id for s in lost} | {s.operator_id for s in commits if s.job_id in runs})


def first_of_job(
    above: Iterable[Snapshot],
    lost: Iterable[Snapshot],
    sinks: frozenset[OperatorId | None],
    runs: Mapping[JobId, JobRun],
) -> Snapshot | None:
    """The first of the commits above the target by a run that lost some (`lost`: where Flink lists one of these runs,
    those of listed ones alone) or that Flink lists as the job's, or by one of these sinks; a commit that names no sink
    may be any's. Another job's says nothing of what the job lost, also where it lost some itself. While a run of the
    job lives on, a run that Flink does not list is another job's also under the same sink id: that follows from the
    uid alone."""
    wrote = {s.job_id for s in lost if s.job_id is not None}
    alive_since = [run.started_at for run in runs.values() if not run.is_terminal]

    def is_of_job(commit: Snapshot) -> bool:
        if commit.job_id in wrote or commit.job_id in runs:
            return True
        if any(began <= commit.committed_at for began in alive_since):
            return False
        return None in (commit.operator_id, *sinks) or commit.operator_id in sinks

    return next((s for s in above if is_of_job(s)), None)


def doubtful_before(
    above: Sequence[Snapshot],
    lost: Sequence[Snapshot],
    first: Snapshot | None,
    reached: int,
    runs: Mapping[JobId, JobRun],
    allowed: int,
) -> Snapshot | None:
    """The first commit before `first`, the job's, by a run that may be the job's under another uid: from before all
    that Flink lists, for it forgets the oldest, and with ids between the target's and those of `first`, or where a
    living run began, so near to either as what a sink leaves out (`allowed`). None where `first` is by a run that lost
    some: it knows where that stood."""
    wrote = {s.job_id for s in lost if s.job_id is not None}
    if not wrote or not runs or (first is not None and first.job_id in wrote):
        return None
    listed_since = min(run.started_at for run in runs.values())
    began = (run.restored.checkpoint_id for run in runs.values() if run.restored is not None and not run.is_terminal)
    until = (first.checkpoint_id or 0) - 1 if first is not None else max(began, default=0)
    before = [s for s in takewhile(lambda s: s is not first, above) if s.committed_at < listed_since]
    for commit in before:
        own = (s.checkpoint_id or 0 for s in before if s.job_id == commit.job_id)
        ids = [each for each in own if each < DRAINED]
        if not ids or not reached < min(ids) <= max(ids) <= until:
            continue
        if min(ids) <= reached + allowed or until <= max(ids) + allowed:
            return commit
    return None
