"""Whether the job has passed what main has, by the source positions that the ledger tells of each commit.

A run that was restored from too far below still reads rows that main has. Copies that are taken out meanwhile are not
the last: what the job goes on from repeats the rest.

Whether the job may have brought further copies since evidence counted them: that of a run which re-reads what main
has lists only those that had come.
"""

from collections.abc import Mapping, Sequence, Set
from itertools import groupby

from bot.actions._draft import live_run
from bot.domain.action import Plan
from bot.domain.diagnosis import Case
from bot.domain.errors import Refused
from bot.domain.guests import Guests, commits_that_bind
from bot.domain.ids import JobId, OperatorId, SnapshotId, short_job
from bot.domain.table import Snapshot
from bot.history.run_commits import lives


def by_start(commits: Sequence[Snapshot], run: JobId) -> tuple[list[Snapshot], list[list[Snapshot]]]:
    """What the newest start of `run` has committed, and what each other start has; all oldest first. Each sink counts
    its own checkpoints; one that has committed nothing since another of the run's began is of an earlier start, under
    another uid. A commit that only brings an older one's files again (F1) is of no start."""
    by_sink: dict[tuple[JobId | None, OperatorId | None], list[Snapshot]] = {}
    for each in commits:
        by_sink.setdefault((each.job_id, each.operator_id), []).append(each)
    now, others = list[list[Snapshot]](), list[list[Snapshot]]()
    for (job_id, _), mine in by_sink.items():
        once = [s for at, s in enumerate(mine) if not _is_made_twice(mine, at)]
        life = lives(once)
        *earlier, newest = (list(start) for _, start in groupby(once, key=lambda s: life[s.snapshot_id]))
        others += earlier
        (now if job_id == run else others).append(newest)
    place = {s.snapshot_id: at for at, s in enumerate(commits)}
    began = max((place[start[0].snapshot_id] for start in now), default=0)
    present = [s for start in now if place[start[-1].snapshot_id] >= began for s in start]
    return present, others + [start for start in now if place[start[-1].snapshot_id] < began]


def _is_made_twice(mine: Sequence[Snapshot], at: int) -> bool:
    """Whether this one of a sink's commits alone brings again what an older one brought. After a start from below
    several checkpoints come again, and after one without state the first."""
    highest, found, after = _number(mine[max(at - 1, 0)]), mine[at], mine[at + 1 : at + 2]
    if not 1 < _number(found) < highest or any(_number(s) <= highest for s in after):
        return False
    return any(_brought(s) == _brought(found) for s in mine[:at])


def _number(commit: Snapshot) -> int:
    return commit.checkpoint_id or 0


def _brought(commit: Snapshot) -> tuple[int, int, int]:
    return _number(commit), commit.counted("added-records"), commit.counted("added-files-size")


def must_have_passed(plan: Plan) -> tuple[str, ...]:
    """What an approver must know where it cannot be told, or where no run is alive that could pass it, sentences; none
    where the job has passed what main has.

    Where one start alone wrote main, it may be two: one without state under one job id passes over the checkpoints that
    main has, so that its ids only rise (F4), and its positions fall. That counts where copies were found that no commit
    made twice (F1) accounts for; where nobody looked for copies, it is only told to the approver.

    Each source partition is compared by itself; one range over all of them proves nothing. Another job's positions may
    be of another source. A run that has committed nothing is not asked: the job is not started from what it leaves
    unless that pairs. Raises Refused where the run is still below, CouldNotLook when Flink was not seen.
    """
    live, case, guests = live_run(plan), plan.case, Guests(plan.case)
    commits = [s for s in commits_that_bind(case) if not guests.has_run(s.job_id)]
    run = live.job_id if live is not None else next((s.job_id for s in reversed(commits)), None)
    present, others = by_start(commits, run) if run is not None else ([], [])
    if not others:
        present = made_once(case, present)
    is_reread = True if others else has_own_copies(case, present)
    if run is None or not present or is_reread is False:
        return ()
    bound = {s.snapshot_id for start in (present, *others) for s in start} - case.observation.table.taken_out
    told, is_whole = _highest(case, bound)
    reached, tops = _reached(told, present), _tops(told)
    if (why := _why_untold(case, guests, is_whole=bool(reached) and is_whole)) is not None:
        return (_untold(run, why),) if is_reread else ()
    for partition in (each for each in tops if reached.get(each, tops[each]) < tops[each]):
        if is_reread is None:
            return (_untold(run, "its source positions fall, and no evidence says whether that duplicated rows"),)
        if live is None:
            return (_down(case, run, reached[partition], tops[partition]),)
        raise _below(case, run, reached[partition], tops[partition])
    if is_reread and (silent := tops.keys() - reached.keys()):
        return (_untold(run, f"it has brought nothing yet of source partition {', '.join(map(str, silent))}"),)
    adding = [[s for s in start if s.adds_rows and s.snapshot_id in bound] for start in (others or [present])]
    edges = [start[-1] if others else start[0] for start in adding if start]
    beyond = next((s.job_id for s in edges if s.snapshot_id not in told), None)
    if beyond is None or is_reread is None:
        return ()
    whose = f"commits of run {short_job(beyond)}" if beyond != run else "commits of an earlier start of it"
    return (_untold(run, f"the commit history does not reach the {whose if others else 'first commits of it'}"),)


_Highest = Mapping[SnapshotId, Mapping[str | None, int]]
"""Commit -> source partition -> the highest position that it brought."""


def _highest(case: Case, commits: Set[SnapshotId]) -> tuple[_Highest, bool]:
    """(Of these commits, as far as the ledger tells it; whether it does of each that it lists.)"""
    is_partitioned = case.contract.position_partition is not None
    rows = [r for r in (case.ledger.rows if case.ledger else ()) if r.snapshot_id in commits and r.added_rows]
    ranges = {r.snapshot_id: r.positions(is_partitioned=is_partitioned) for r in rows}
    told = {id_: {each.partition: each.high for each in found} for id_, found in ranges.items() if found is not None}
    return told, len(told) == len(rows)


def _reached(told: _Highest, start: Sequence[Snapshot]) -> dict[str | None, int]:
    """Where the sinks of a start are, by their newest commits: not the highest that it ever brought."""
    newest = {(s.operator_id, p): high for s in start for p, high in told.get(s.snapshot_id, {}).items()}
    return {p: max(high for (_, other), high in newest.items() if other == p) for _, p in newest}


def _tops(told: _Highest) -> dict[str | None, int]:
    found: dict[str | None, int] = {}
    for partition, high in (each for highs in told.values() for each in highs.items()):
        found[partition] = max(high, found.get(partition, high))
    return found


def made_once(case: Case, start: Sequence[Snapshot]) -> list[Snapshot]:
    """Its commits but for those that only bring a checkpoint, or files, of an older one again, as far as is told."""
    again = set(case.duplicate_files.again) if case.duplicate_files else set()
    first = {(s.operator_id, s.checkpoint_id): s for s in reversed(start)}
    return [s for s in start if s is first[s.operator_id, s.checkpoint_id] and s.snapshot_id not in again]


def has_own_copies(case: Case, commits: Sequence[Snapshot]) -> bool | None:
    """Whether there are extra copies that no other commit accounts for; None: nobody looked."""
    if (found := case.extra_copies) is None:
        return None
    own = {s.snapshot_id for s in commits}
    return found.rows > sum(each.rows for each in found.commits if each.snapshot_id not in own)


def _why_untold(case: Case, guests: Guests, *, is_whole: bool) -> str | None:
    if guests.is_untold:
        return "several jobs write the table, and Flink lists no run by which to tell them apart"
    if not is_whole and case.contract.position_partition is not None:
        return "the source has several partitions, and the commit history does not tell where it is in each"
    if not is_whole:
        return "the commit history lacks source positions of its commits"
    return None


def _untold(run: JobId, why: str) -> str:
    return (
        f"It is not known whether run {short_job(run)} has read past all rows on main: {why}. If it was restored "
        "from too old a state and has not, the job duplicates the rest after this repair. Wait until it has read "
        "past them, or rewind table and job."
    )


def _down(case: Case, run: JobId, reached: int, highest: int) -> str:
    shown = not case.contract.hides(case.contract.position)
    at = (
        f"at source position {reached:,} of {highest:,} that main has" if shown else "below what main has of its source"
    )
    until = f"{highest:,}" if shown else "that"
    return (
        f"The job is down, {at}. Run {short_job(run)} had not read past the rows between. They are duplicated when "
        f"the job continues from there. Propose this again when the job runs and has passed {until}, or rewind "
        "table and job."
    )


def _below(case: Case, run: JobId, reached: int, highest: int) -> Refused:
    shown = not case.contract.hides(case.contract.position)
    up_to = f"source position {highest:,}" if shown else "a source position that is not shown"
    return Refused(
        f"Run {short_job(run)} still reads rows that main already has, so more copies would follow this repair.",
        f"Expected it to have read past all rows on main, up to {up_to}; since its last start it has "
        f"committed up to {f'{reached:,}' if shown else 'a lower one'}.",
        "Wait until it has passed that. Then collect the evidence again (`/waterline run ledger`, `/waterline run "
        "extra_copies`) and propose this again. Or rewind table and job (`/waterline propose "
        "rewind_table_and_job`). If the source has several partitions, name the partition column as "
        "`position_partition` in the table's contract. If rows carry no such column, remove `position` from the "
        "contract. Collect the evidence again; the proposal then says that this is not known, and its approvers "
        "decide.",
    )


def may_have_come_since(case: Case, head: SnapshotId | None) -> bool:
    """Whether rows that the job has added above `head`, which evidence looked at, may repeat some that main had.

    Not where the ledger tells that the start which wrote all of them had passed by then what main had, nor while one
    start alone has written the table and copies are none but of commits that were made twice (F1). Where nothing tells,
    they may. What others committed makes evidence stale anyway, and so does a `head` that is not on main.
    """
    table, guests = case.observation.table, Guests(case)
    if head not in table.chain_ids:
        return False
    below = {s.snapshot_id for s in table.ancestors(head)}
    commits = [s for s in commits_that_bind(case) if not guests.has_run(s.job_id)]
    since = [s for s in commits if s.adds_rows and s.snapshot_id not in below]
    if not since or since[-1].job_id is None:
        return False
    present, others = by_start(commits, since[-1].job_id)
    if not others:
        once = made_once(case, present)
        had = [s for s in once if s.snapshot_id in below]
        return has_own_copies(case, once) is True and not _had_passed(case, had[-1:], [had])
    is_of_several = not {s.snapshot_id for s in since} <= {s.snapshot_id for s in present}
    earlier = [[s for s in start if s.snapshot_id in below] for start in others]
    had = [s for s in present if s.snapshot_id in below]
    return is_of_several or guests.is_untold or not _had_passed(case, had, earlier)


def _had_passed(case: Case, present: list[Snapshot], others: list[list[Snapshot]]) -> bool:
    """Whether `present` had reached, by source positions, all that main had of these starts; False where the ledger
    does not tell it of each."""
    bound = {s.snapshot_id for start in (present, *others) for s in start if s.adds_rows}
    bound -= case.observation.table.taken_out
    told, is_whole = _highest(case, bound)
    newest = [next((s for s in reversed(start) if s.snapshot_id in bound), None) for start in others]
    reached, tops = _reached(told, present), _tops(told)
    is_whole = is_whole and bool(reached) and all(s is None or s.snapshot_id in told for s in newest)
    return is_whole and all(reached.get(partition, top - 1) >= top for partition, top in tops.items())
