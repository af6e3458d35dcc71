"""A run that came after a drained commit, took it for its own, and was replaced before anybody saw that it commits
nothing (F5): what it wrote may still be on storage."""

from collections.abc import Iterator
from datetime import datetime
from itertools import zip_longest

from bot.diagnosis._drained import takes_for_its_own
from bot.diagnosis._leaks import can_be_appended, in_words, leaks_of
from bot.domain.diagnosis import CannotTell, Case, Matches, Remedy
from bot.domain.findings import LeakedManifest, LeakStanding
from bot.domain.flink import JobRun
from bot.domain.guests import commits_of_job
from bot.domain.ids import DRAINED, JobId, short, short_job
from bot.domain.sentences import counted
from bot.domain.table import Snapshot
from bot.domain.unread_rows import rows_of


def never_let_in(case: Case) -> Matches | CannotTell | None:
    """The newest such run whose rows are lost, or may be, by its Flink manifests; None: none is known."""
    found = list(_found(case))
    lost = [each for each in found if any(leak.standing is LeakStanding.DROPPED for leak in each[2])]
    if lost:
        return _matches(case, *lost[-1])
    return _untold(*found[-1]) if found else None


def runs_never_let_in(case: Case) -> frozenset[JobId]:
    """All of them."""
    return frozenset(run.job_id for _, run, _ in _found(case))


def began(run: JobRun) -> datetime:
    """When it was restored, or started with nothing."""
    return run.restored.at if run.restored else run.started_at


def _found(case: Case) -> Iterator[tuple[Snapshot, JobRun, tuple[LeakedManifest, ...]]]:
    """(The drained commit, the run, its Flink manifests), oldest first."""
    commits = commits_of_job(case)
    for drained, following in zip_longest(commits, commits[1:]):
        if drained is not None and drained.checkpoint_id == DRAINED:
            runs = _between(case, drained, following)
            yield from ((drained, run, leaks) for run in runs if (leaks := _rows_of(case, run)))


def _between(case: Case, drained: Snapshot, following: Snapshot | None) -> Iterator[JobRun]:
    """Runs of the job that came after the one, and before the other where there is one, and take the drained commit for
    their own."""
    table = case.observation.table
    later = {s.job_id for s in table.snapshots if s.committed_at > drained.committed_at}
    for run in case.runs:
        is_before = following is None or began(run) < following.committed_at
        is_there = drained.committed_at < began(run) and is_before and run.job_id not in later
        if is_there and takes_for_its_own(case, run, drained):
            yield run


def _rows_of(case: Case, run: JobRun) -> tuple[LeakedManifest, ...]:
    """Its Flink manifests with rows that nobody is known to have read again."""
    found = leaks_of(case, run.job_id, LeakStanding.DROPPED, LeakStanding.UNTOLD)
    return tuple(leak for leak in found if not leak.is_empty)


def _untold(drained: Snapshot, run: JobRun, leaks: tuple[LeakedManifest, ...]) -> CannotTell:
    return CannotTell(
        missing=(
            f"whether anybody read again what run {short_job(run.job_id)} wrote, which came after the drained commit "
            f"{short(drained.snapshot_id)} and never committed: {counted(len(leaks), 'Flink manifest')} of it with "
            f"{rows_of(leaks)} {'is' if len(leaks) == 1 else 'are'} still on storage",
        )
    )


def _matches(case: Case, drained: Snapshot, run: JobRun, leaks: tuple[LeakedManifest, ...]) -> Matches:
    dropped = tuple(leak for leak in leaks if leak.standing is LeakStanding.DROPPED)
    following = next((s for s in commits_of_job(case) if s.committed_at > began(run)), None)
    return Matches(
        headline=f"Run {short_job(run.job_id)} was restored after a drained job and never committed; what it read is "
        "in no snapshot.",
        reasons=(
            f"{short(drained.snapshot_id)} was committed by run {short_job(drained.job_id)} under checkpoint {DRAINED} "
            "(`drain: true`): the sink of a run that is restored from there takes every id of its own for committed.",
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
        wrong_run=None,
        remedy=Remedy.RECOVER_LEAKED_MANIFESTS if can_be_appended(dropped) else Remedy.REPLAY_SOURCE_RANGE,
    )
