"""Whether main has rows that the living run does not hold in its state, and so brings once more: those of a run that
wrote beside it and has ended, and those of lost commits that were picked again while it reads them anew.

Until it has brought rows itself no copy shows, and no checkpoint id falls.
"""

from collections.abc import Iterator

from bot.diagnosis._case import living
from bot.diagnosis._lost_and_expired import SEVERAL
from bot.domain.diagnosis import Case
from bot.domain.flink import CLOCKS_DIFFER, JobRun, names_run
from bot.domain.guests import commits_of_job
from bot.domain.ids import DRAINED, SnapshotId, short, short_job
from bot.domain.other_writers import origin_of
from bot.domain.predecessors import Predecessors
from bot.domain.rewinds import is_its_own
from bot.domain.table import Snapshot


def may_come_again(case: Case, checked: SnapshotId | None) -> str | None:
    """What is missing to know that the only living run brings none of main's rows again; None: nothing is. Its next
    rows settle it: then evidence finds copies, or none. `checked`: the newest commit that evidence covers."""
    alive = living(case)
    picked = _picked_again(case, alive[0], checked) if len(alive) == 1 else ()
    return brought_beside(case, checked) or next(iter(picked), None)


def brought_beside(case: Case, checked: SnapshotId | None) -> str | None:
    """The same of rows that other runs of the job have committed, or such as may be of the job."""
    alive = living(case)
    return next(_brought_beside(case, alive[0], checked), None) if len(alive) == 1 else None


def _brought_beside(case: Case, run: JobRun, checked: SnapshotId | None) -> Iterator[str]:
    """By other runs of the job, or that may be, and it has brought no rows since."""
    commits = [s for s in commits_of_job(case) if s.adds_rows and s.checkpoint_id != DRAINED]
    place_of = case.observation.table.place_of
    until, whose = place_of(checked), Predecessors(case.observation.table, case.runs)
    mine = [place for place, s in enumerate(commits) if s.job_id == run.job_id]
    seen = max((place for place in mine if place_of(commits[place].snapshot_id) <= until), default=-1)
    before = {run.job_id, *(s.job_id for s in commits[: seen + 1])}
    others = [(place, s) for place, s in enumerate(commits) if place > seen and s.job_id not in before]
    told = (s for place, s in others if not _may_be_held(run, s, came_after=any(each < place for each in mine)))
    beside = next(filter(whose.may_be_own, told), None)
    if beside is not None:
        yield (
            f"whether the rows of {short(beside.snapshot_id)} come again: run {short_job(beside.job_id)} committed "
            f"them beside run {short_job(run.job_id)}, whose state does not hold them, and which has committed no rows "
            "since; if both read the same source, it has these rows still before it. Ask again when it has committed"
        )


def _may_be_held(run: JobRun, commit: Snapshot, *, came_after: bool) -> bool:
    """Whether the run's state may hold what this commit of another brought. `came_after`: after rows of the run."""
    point = run.restored
    if point is not None and not names_run(point.path, run.job_id) and not is_its_own(point, run):
        return (commit.checkpoint_id or 0) <= point.checkpoint_id
    return not came_after and run.started_at + CLOCKS_DIFFER >= commit.committed_at


def _picked_again(case: Case, run: JobRun, checked: SnapshotId | None) -> Iterator[str]:
    """Of commits of the job that main had lost: where the run was restored from below them, it reads them anew."""
    table = case.observation.table
    for pick in reversed(table.chain):
        origin = origin_of(table, pick) if pick.is_pick else None
        if origin is None or origin.job_id is None or origin.checkpoint_id is None or not pick.adds_rows:
            continue
        if _holds(run, origin) or _has_passed(case, run, pick, checked):
            continue
        yield (
            f"whether the rows of {short(pick.snapshot_id)} come again: it is a cherry-pick of "
            f"{short(origin.snapshot_id)}, checkpoint {origin.checkpoint_id} of run {short_job(origin.job_id)}, and "
            f"run {short_job(run.job_id)} goes on from {_whence(run)}, from where it reads them anew. Ask again when "
            "it has committed as far"
        )


def _holds(run: JobRun, origin: Snapshot) -> bool:
    """Whether the run has these rows behind it: it brought them itself, or was restored from that checkpoint or a later
    one."""
    point = run.restored
    if run.job_id == origin.job_id:
        return point is None or point.at < origin.committed_at or point.checkpoint_id >= (origin.checkpoint_id or 0)
    return point is not None and not is_its_own(point, run) and point.checkpoint_id >= (origin.checkpoint_id or 0)


def _has_passed(case: Case, run: JobRun, pick: Snapshot, checked: SnapshotId | None) -> bool:
    """Whether it has brought rows as far since it began, by the bounds of their positions; where these do not tell,
    over several commits. A failover to a checkpoint of its own is no beginning."""
    table, point = case.observation.table, run.restored
    since = point.at if point is not None and not is_its_own(point, run) else run.started_at
    until = table.place_of(checked)
    mine = (s for s in table.of_flink if s.job_id == run.job_id and s.adds_rows and s.committed_at > since)
    later = [s for s in mine if table.place_of(s.snapshot_id) <= until]
    ends = _ends(case, [pick.snapshot_id, *(s.snapshot_id for s in later)])
    if case.contract.position_partition is None and None not in ends:
        told = [end for end in ends if end is not None]
        return len(told) > 1 and max(told[1:]) >= told[0]
    edge = table.place_of(pick.snapshot_id)
    return sum(table.place_of(s.snapshot_id) > edge for s in later) >= SEVERAL


def _ends(case: Case, commits: list[SnapshotId]) -> list[int | None]:
    told = {row.snapshot_id: row.position_until for row in (case.ledger.rows if case.ledger is not None else ())}
    return [told.get(each) for each in commits]


def _whence(run: JobRun) -> str:
    return f"checkpoint {run.restored.checkpoint_id}" if run.restored is not None else "a start of its own"
