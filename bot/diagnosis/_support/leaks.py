"""The Flink manifests of a run that were never committed, and whether their rows can still be appended."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from bot.diagnosis._support.asked import answers, lacking
from bot.diagnosis._support.case import listed, takes_for_its_own
from bot.history.case import Case, once_a_case
from bot.history.counted import Counted
from bot.history.other_jobs import commits_of_job
from bot.history.starts import came_up_at
from bot.history.unread_points import rows_of, some_are_live
from bot.incident.diagnosis import CannotTell, Matches, Remedy
from bot.observation.findings import LeakedManifest, LeakStanding
from bot.observation.flink import JobRun
from bot.observation.ids import DRAINED, CheckpointId, JobId, short, short_job
from bot.observation.sentences import counted
from bot.observation.table import Snapshot


def leaks_of(case: Case, job: JobId, *standings: LeakStanding) -> tuple[LeakedManifest, ...]:
    """Those of the run that stand so, by checkpoint id; empty also before anybody looked."""
    found = case.leaked.of(*standings) if case.leaked else ()
    return tuple(sorted((leak for leak in found if leak.job_id == job), key=lambda leak: leak.checkpoint_id))


def up_to(leaks: Sequence[LeakedManifest], checkpoint: CheckpointId) -> tuple[LeakedManifest, ...]:
    """Those of checkpoints at or below this one."""
    return tuple(leak for leak in leaks if leak.checkpoint_id <= checkpoint)


def can_be_appended(case: Case, leaks: Sequence[LeakedManifest]) -> bool:
    """Whether every one could be read, lists data files alone, and all of them are there, so that its rows are not
    lost, and none of them came to the table since. A delete that is appended now would take off rows that came since.
    """
    are_whole = all(leak.files is not None and not leak.missing_files for leak in leaks)
    came_since = any(some_are_live(leak, case.gaps, case.contract) for leak in leaks)
    return bool(leaks) and are_whole and not came_since and not any(leak.has_deletes for leak in leaks)


def in_words(leaks: Sequence[LeakedManifest]) -> str:
    """One sentence: how many, of which checkpoints, with how many rows, and whether they can be had."""
    ids = sorted({leak.checkpoint_id for leak in leaks})
    unread = sum(1 for leak in leaks if leak.rows is None)
    gone = sum(leak.missing_files for leak in leaks)
    tail = f"{gone} of their files are gone" if gone else "their files are all there"
    if unread:
        tail = f"what {'it lists' if len(leaks) == 1 else f'{unread} of them list'} cannot be had from it"
    return (
        f"{counted(len(leaks), 'Flink manifest')} of run {short_job(leaks[0].job_id)}, of "
        f"{'checkpoint' if len(ids) == 1 else 'checkpoints'} {listed(ids)}, still on storage with "
        f"{rows_of(leaks)} never committed; {tail}."
    )


def came_again(leak: LeakedManifest, case: Case) -> bool | None:
    """None: no position is known to be missing, and nobody knows whether that covers those of the manifest. Where a
    position is missing, or none was looked for, its rows count as lost.

    Deletes have no position, so nobody knows it of them. Bounds of the search are of all source partitions together:
    of several, the exact ranges of the manifest and of main's commits tell.
    """
    gaps, low, high = case.gaps, leak.position_from, leak.position_until
    if leak.is_empty:
        return True
    if gaps is None or gaps.missing:
        return False
    if low is None or high is None or not answers(case, "missing_positions"):
        return None
    is_inside = gaps.lowest is not None and gaps.highest is not None and gaps.lowest <= low and high <= gaps.highest
    if case.contract.position_partition is None:
        return is_inside
    return True if _lies_within(leak, _ends(case)) else None if is_inside else False


@once_a_case
def _ends(case: Case) -> Mapping[str | None, tuple[int, int]]:
    return Counted(case).ends


def _lies_within(leak: LeakedManifest, ends: Mapping[str | None, tuple[int, int]]) -> bool:
    """Whether main has positions on both sides of all its rows, in each of their source partitions: then no row of it
    is missing unless a position is."""
    empty = (0, -1)
    return leak.ranges is not None and all(
        ends.get(each.partition, empty)[0] <= each.low and each.high <= ends.get(each.partition, empty)[1]
        for each in leak.ranges
    )


def in_doubt(leaks: tuple[LeakedManifest, ...]) -> str:
    """What is missing to know it, a clause."""
    of = f" with {rows_of(known)}" if (known := [leak for leak in leaks if leak.rows or leak.has_deletes]) else ""
    return (
        f"whether the rows of {counted(len(leaks), 'Flink manifest')}{of} that nothing commits were read again: no "
        "position is missing among those that were looked at, and theirs are not known"
    )


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
