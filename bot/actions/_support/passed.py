"""Whether the job has read past what main has, by the source positions of its commits.

A run that was restored from too far below still reads rows that main has: copies that are taken out meanwhile are not
the last, and evidence that counted them tells of those only that had come.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bot.actions._support.draft import live_run
from bot.history.case import Case
from bot.history.counted import Counted
from bot.history.other_jobs import OtherJobs, commits_that_bind
from bot.history.run_commits import lives
from bot.incident.action import Plan
from bot.observation.errors import Refused
from bot.observation.ids import JobId, SnapshotId, short_job
from bot.observation.table import Snapshot


class _Read(NamedTuple):
    """How far a run has read; source partition -> position."""

    reached: Mapping[str | None, int]
    """Where it is, by the newest commits of its newest start: not the highest that it ever brought."""
    tops: Mapping[str | None, int]
    """The highest that main has of the job."""
    is_whole: bool
    """Whether it is known of each commit."""

    @property
    def has_passed(self) -> bool:
        return self.is_whole and all(
            self.reached.get(partition, top - 1) >= top for partition, top in self.tops.items()
        )


def must_have_passed(plan: Plan) -> tuple[str, ...]:
    """What an approver must know where it cannot be told, or where no run is alive that could pass it, sentences; none
    where the job has passed what main has, and where all copies are known to be of commits that were made twice (F1).

    A run that has committed nothing is not asked: the job is not started from what it leaves unless that pairs.
    Raises Refused where the run is still below, CouldNotLook when Flink was not seen.
    """
    live, case = live_run(plan), plan.case
    again = _made_twice(case) | {*plan.match.repeating}
    commits = [s for s in _of_job(case) if s.snapshot_id not in again]
    run = live.job_id if live is not None else next((s.job_id for s in reversed(commits)), None)
    if run is None or all(s.job_id != run for s in commits) or _has_none_but(case, again):
        return ()
    read = _read(case, commits, run)
    if OtherJobs(case).is_untold:
        return (_untold(run, "several jobs write the table, and Flink lists no run by which to tell them apart"),)
    for partition, reached in read.reached.items():
        if reached < read.tops[partition]:
            if live is None:
                return (_down(case, run, reached, read.tops[partition]),)
            raise _below(case, run, reached, read.tops[partition])
    if not read.is_whole:
        is_alone = case.extra_copies is None and all(s.job_id == run for s in commits)
        why = "the commit history does not tell the source positions of every commit"
        return () if is_alone else (_untold(run, why),)
    if silent := read.tops.keys() - read.reached.keys():
        which = ", ".join(sorted(map(str, silent)))
        return (_untold(run, f"it has brought nothing yet of source partition {which}"),)
    return ()


def may_have_come_since(case: Case, head: SnapshotId | None) -> bool:
    """Whether rows that the job has added above `head`, which evidence looked at, may repeat some that main had: unless
    the run that has added all of them is known to have passed, by then, what main had. What others committed makes
    evidence stale anyway, and so does a `head` that is not on main."""
    table, again = case.observation.table, _made_twice(case)
    if head not in table.chain_ids or _has_none_but(case, again):
        return False
    below = {s.snapshot_id for s in table.ancestors(head)}
    commits = [s for s in _of_job(case) if s.snapshot_id not in again]
    had, since = ([s for s in commits if (s.snapshot_id in below) is is_below] for is_below in (True, False))
    if not since:
        return False
    run = since[-1].job_id
    is_one_start = {s.job_id for s in since} == {run} and len({*lives([*had[-1:], *since]).values()}) == 1
    return run is None or OtherJobs(case).is_untold or not (is_one_start and _read(case, had, run).has_passed)


def _has_none_but(case: Case, again: frozenset[SnapshotId]) -> bool:
    """Whether it is known that there are no extra copies but by these commits."""
    found = case.extra_copies
    return found is not None and found.rows <= sum(each.rows for each in found.commits if each.snapshot_id in again)


def _made_twice(case: Case) -> frozenset[SnapshotId]:
    """Commits that only bring again what an older one had brought (F1), as evidence tells."""
    repeated = case.duplicate_commits.repeated if case.duplicate_commits is not None else ()
    files = case.duplicate_files.again if case.duplicate_files is not None else ()
    return frozenset({*files, *(each.again for each in repeated if each.how != "same-source-range")})


def _of_job(case: Case) -> list[Snapshot]:
    """The job's commits on main with rows that nothing has taken out, oldest first."""
    other_jobs, gone = OtherJobs(case), case.observation.table.taken_out
    commits = (s for s in commits_that_bind(case) if s.adds_rows and s.snapshot_id not in gone)
    return [s for s in commits if not other_jobs.has_run(s.job_id)]


def _read(case: Case, commits: Sequence[Snapshot], run: JobId) -> _Read:
    """Each source partition is compared by itself; one range over all of them proves nothing. Under one job id another
    start begins where checkpoint ids fall; all sinks of a run commit the same checkpoint."""
    rows, own = Counted(case), [s for s in commits if s.job_id == run]
    life = lives(own)
    present = [s for s in own if life[s.snapshot_id] == life[own[-1].snapshot_id]]
    reached = dict[str | None, int]()
    for newest in dict.fromkeys(s.checkpoint_id for s in reversed(present)):
        reached = rows.reached_by(s for s in present if s.checkpoint_id == newest) | reached
    is_whole = bool(reached) and all(rows.spans_of(s) is not None for s in commits)
    return _Read(reached, rows.reached_by(commits), is_whole)


def _untold(run: JobId, why: str) -> str:
    return (
        f"It is not known whether run {short_job(run)} has read past all rows on main: {why}. If it was restored "
        "from too old a state and has not, the job duplicates the rest after this repair. Wait until it has read "
        "past them, or roll back table and job."
    )


def _down(case: Case, run: JobId, reached: int, highest: int) -> str:
    is_hidden = case.contract.hides(case.contract.position)
    at, until = f"at source position {reached:,} of {highest:,} that main has", f"{highest:,}"
    return (
        f"The job is down, {'below what main has of its source' if is_hidden else at}. Run {short_job(run)} had not "
        "read past the rows between. They are duplicated when the job continues from there. Propose this again when "
        f"the job runs and has passed {'that' if is_hidden else until}, or roll back table and job."
    )


def _below(case: Case, run: JobId, reached: int, highest: int) -> Refused:
    is_hidden = case.contract.hides(case.contract.position)
    return Refused(
        f"Run {short_job(run)} still reads rows that main already has, so more copies would follow this repair.",
        "Expected it to have read past all rows on main, up to "
        f"{'a source position that is not shown' if is_hidden else f'source position {highest:,}'}; since its last "
        f"start it has committed up to {'a lower one' if is_hidden else f'{reached:,}'}.",
        "Wait until it has passed that. Then collect the evidence again (`/waterline run ledger`, `/waterline run "
        "extra_copies`) and propose this again. Or roll back table and job (`/waterline propose "
        "roll_back_table_and_restore_job`). If the source has several partitions, name the partition column as "
        "`position_partition` in the table's contract. If rows carry no such column, remove `position` from the "
        "contract. Collect the evidence again; the proposal then says that this is not known, and its approvers "
        "decide.",
    )
