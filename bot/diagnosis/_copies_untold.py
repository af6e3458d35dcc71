"""Copies of which nothing that is listed tells how they came: who brought them is open, and nobody is acquitted of it.

Flink shows the newest start of a run and its newest restore only, and forgets runs; main forgets commits that expire.
That none of them shows a way back below what was committed says nothing where rows of the source live twice.
"""

from collections.abc import Iterator
from typing import NamedTuple

from bot.diagnosis._case import empty_starts, in_window, rewinds_in, run_of
from bot.diagnosis._read_again_once import overlap
from bot.diagnosis._upsert import why_upsert
from bot.diagnosis._wrong_rows import repeats_unexplained
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import JobRun
from bot.domain.guests import Guests
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.table import Snapshot


class Copies(NamedTuple):
    """A commit that brought rows again, by the job as far as is known."""

    first: SnapshotId
    again: SnapshotId
    run: JobId | None
    """None where the later commit has expired, so that nothing tells who made it."""
    is_by_itself: bool
    """Whether its own run had brought them."""


def copies_of_others(case: Case) -> CannotTell | None:
    """What is missing to know whether a run went back below what another had committed, or one that is not listed any
    more (F2); None: no copies, or what is seen tells how they came."""
    return _untold(case, is_by_itself=False)


def copies_of_itself(case: Case) -> CannotTell | None:
    """The same of a run below what it had committed itself, under its job id (F3)."""
    return _untold(case, is_by_itself=True)


def _untold(case: Case, *, is_by_itself: bool) -> CannotTell | None:
    if why_upsert(case) is not None or rewinds_in(case) or empty_starts(case):
        return None
    repeats = repeats_unexplained(case)
    by_key = (each for each in _by_key(case) if each.is_by_itself is is_by_itself)
    if (found := next(by_key, None)) is not None:
        return CannotTell(missing=(_how(case, found, "keys"),))
    by_range = (each for each in _by_range(case) if each.is_by_itself is is_by_itself)
    if repeats is None or (found := next(by_range, None)) is None:
        return None
    return CannotTell(missing=(_how(case, found, "source positions"), *repeats.missing), asks=repeats.asks)


def _by_key(case: Case) -> Iterator[Copies]:
    """But for those that one commit wrote (F16), that are no commit's of the job (F21), or that the source gave."""
    repeated = _made_twice(case)
    for pair in case.duplicates.pairs if case.duplicates is not None else ():
        if pair.first == pair.second or pair.second in repeated or overlap(case, pair.first, pair.second) is False:
            continue
        if (found := _copies(case, pair.first, pair.second)) is not None:
            yield found


def _by_range(case: Case) -> Iterator[Copies]:
    for each in case.duplicate_commits.repeated if case.duplicate_commits is not None else ():
        if each.how == "same-source-range" and (found := _copies(case, each.first, each.again)) is not None:
            yield found


def _copies(case: Case, first: SnapshotId, again: SnapshotId) -> Copies | None:
    """None where the later commit is listed, and none of the job's in the window, or its run has gone on from before
    the older one without a restore: then the source gave these rows twice."""
    table = case.observation.table
    if (brought := table.by_id.get(again)) is None:
        return Copies(first, again, None, is_by_itself=False)
    if brought.job_id is None or brought not in in_window(case) or Guests(case).has(brought):
        return None
    had = table.by_id.get(first)
    if had is not None and _ran_on(run_of(case, brought.job_id), had):
        return None
    return Copies(first, again, brought.job_id, had is not None and had.job_id == brought.job_id)


def _ran_on(run: JobRun | None, since: Snapshot) -> bool:
    """Whether Flink shows one start of the run, from before that commit of its own."""
    if run is None or run.job_id != since.job_id or run.restored is not None or run.restored_count:
        return False
    return run.started_at <= since.committed_at


def _made_twice(case: Case) -> frozenset[SnapshotId]:
    """Commits that bear what another bears, which is F1."""
    repeated = case.duplicate_commits.repeated if case.duplicate_commits is not None else ()
    return frozenset(each.again for each in repeated if each.how != "same-source-range")


def _how(case: Case, found: Copies, what: str) -> str:
    listed = case.observation.table.by_id
    had = short(found.first) if found.first in listed else f"{short(found.first)}, which has expired,"
    if found.run is None:
        return (
            f"which run made {short(found.again)}, which has expired and had brought {what} of {had} again, and from "
            "which point it began"
        )
    return (
        f"from which point run {short_job(found.run)} began when it made {short(found.again)}, which brought {what} of "
        f"{had} again: Flink lists no start of then that went back, and of each job id it shows the newest start only; "
        "the JobManager's log tells, or whoever started it"
    )
