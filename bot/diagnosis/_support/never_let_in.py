"""A run that came after a drained commit, took it for its own, and was replaced before anybody saw that it commits
nothing (F5): what it wrote may still be on storage."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from bot.diagnosis._support.asked import lacking
from bot.diagnosis._support.case import takes_for_its_own
from bot.diagnosis._support.leaks import came_again, can_be_appended, in_words, leaks_of
from bot.history.case import Case
from bot.history.other_jobs import commits_of_job
from bot.history.starts import came_up_at
from bot.history.unread_points import rows_of
from bot.incident.diagnosis import CannotTell, Matches, Remedy
from bot.observation.findings import LeakedManifest, LeakStanding
from bot.observation.flink import JobRun
from bot.observation.ids import DRAINED, JobId, short, short_job
from bot.observation.sentences import counted
from bot.observation.table import Snapshot


class _KeptOut(NamedTuple):
    drained: Snapshot
    run: JobRun
    following: Snapshot | None
    """The job's next commit, by another run; None: there is none."""
    leaks: tuple[LeakedManifest, ...]
    """Its Flink manifests with rows that nobody is known to have read again."""


def never_let_in(case: Case) -> Matches | CannotTell | None:
    """The newest such run whose rows are lost, or may be, by its Flink manifests; None: none is known."""
    kept_out = tuple(_kept_out(case))
    found = [each for each in kept_out if each.leaks]
    lost = [each for each in found if any(leak.standing is LeakStanding.DROPPED for leak in each.leaks)]
    if lost:
        return _matches(case, lost[-1])
    if found:
        return _untold(found[-1])
    may_owe = any(_has_completed_any(each.run) for each in kept_out)
    missing = lacking(case, "leaked_manifests") if may_owe else ()
    return CannotTell(missing=missing) if missing else None


def runs_never_let_in(case: Case) -> frozenset[JobId]:
    return frozenset(each.run.job_id for each in _kept_out(case) if each.leaks)


def _kept_out(case: Case) -> Iterator[_KeptOut]:
    """Oldest first."""
    commits = commits_of_job(case)
    for drained, following in zip_longest(commits, commits[1:]):
        if drained is not None and drained.checkpoint_id == DRAINED:
            for run in _between(case, drained, following):
                leaks = leaks_of(case, run.job_id, LeakStanding.DROPPED, LeakStanding.UNTOLD)
                owing = tuple(leak for leak in leaks if came_again(leak, case) is not True)
                yield _KeptOut(drained, run, following, owing)


def _between(case: Case, drained: Snapshot, following: Snapshot | None) -> Iterator[JobRun]:
    """Runs of the job that came after the one, and before the other where there is one, and take the drained commit for
    their own, or may."""
    later = {s.job_id for s in case.observation.table.snapshots if s.committed_at > drained.committed_at}
    for run in case.runs:
        is_before = following is None or run.started_at < following.committed_at
        is_there = drained.committed_at < came_up_at(run) and is_before and run.job_id not in later
        if is_there and takes_for_its_own(case, run, drained) is not False:
            yield run


def _has_completed_any(run: JobRun) -> bool:
    return bool(run.completed_count) or any(c.status == "COMPLETED" for c in run.checkpoints)


def _untold(found: _KeptOut) -> CannotTell:
    many = len(found.leaks)
    return CannotTell(
        missing=(
            f"whether anybody read again what run {short_job(found.run.job_id)} wrote, which came after the drained "
            f"commit {short(found.drained.snapshot_id)} and never committed: {counted(many, 'Flink manifest')} of it "
            f"with {rows_of(found.leaks)} {'is' if many == 1 else 'are'} still on storage",
        )
    )


def _matches(case: Case, found: _KeptOut) -> Matches:
    drained, run, following, leaks = found
    dropped = tuple(leak for leak in leaks if leak.standing is LeakStanding.DROPPED)
    how = "has the same job id" if run.job_id == drained.job_id else "was restored from a state of that job"
    return Matches(
        headline=f"Run {short_job(run.job_id)} came after a drained job and never committed; what it read is in no "
        "snapshot.",
        reasons=(
            f"{short(drained.snapshot_id)} was committed by run {short_job(drained.job_id)} under checkpoint {DRAINED} "
            f"(`drain: true`): the sink of a run that {how} takes every id of its own for committed.",
            f"Run {short_job(run.job_id)} came after it, "
            + (
                f"and the next commit {short(following.snapshot_id)} is by run {short_job(following.job_id)}."
                if following is not None
                else "and nothing was committed since."
            ),
            in_words(dropped),
        ),
        rows=tuple(s.snapshot_id for s in (drained, following) if s is not None),
        last_good=drained.snapshot_id,
        remedy=Remedy.RECOVER_LEAKED_MANIFESTS if can_be_appended(case, dropped) else Remedy.REPLAY_SOURCE_RANGE,
    )
