"""Whether the head of main is the one that was approved, or came of it only by what may follow it: of Flink's commits
those of other jobs that surely wrote beside the job.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import takewhile

from bot.actions._support.current_state import CurrentState
from bot.history.case import Case
from bot.history.other_jobs import commits_that_bind
from bot.history.other_writers import keeps_its_rows, name_of
from bot.history.starts import flink_commits
from bot.incident.proposal import HeadDescends
from bot.observation.contract import TableContract
from bot.observation.errors import CouldNotLook
from bot.observation.evidence import Observation
from bot.observation.flink import JobRun, StoredCheckpoint
from bot.observation.ids import JobId, OperatorId, SnapshotId, short, short_job
from bot.observation.looked import NotSeen, Seen
from bot.observation.sentences import clock_time
from bot.observation.table import Snapshot, TableState, Window

_UNASKED = NotSeen(source="everything else", reason="This was not read.", remedy="Look again.")


def case_now(
    world: CurrentState, job: str, run: JobId, runs: Sequence[JobRun], points: Iterable[StoredCheckpoint] = ()
) -> Case:
    """Table and job as they are, with what was read of restore points: by it the commits are told that bind `run`.
    `runs`: of the job, as its Flink tells. The other jobs are asked only where somebody else's commit lies above the
    job's newest. Raises CouldNotLook."""
    own = {run, *(each.job_id for each in runs)}
    newest_first = (s for s in reversed(flink_commits(world.table)) if not s.is_repair)
    above = {s.job_id for s in takewhile(lambda s: s.job_id not in own, newest_first)}
    return case_with_owners(world, job, run, runs, {each for each in above if each is not None}, points)


def case_with_owners(
    world: CurrentState,
    job: str,
    run: JobId,
    runs: Sequence[JobRun],
    asked: Set[JobId],
    points: Iterable[StoredCheckpoint] = (),
) -> Case:
    """As `case_now`, where only of the runs `asked` it matters whose they are.

    The table's `other_jobs` are asked first, and no further cluster once each of these runs is found. One that is not
    found is told by its sink. Raises CouldNotLook where a cluster is silent that might tell otherwise: one of the
    `other_jobs` may hold related jobs, and any other one another job.
    """
    found, silent = _told(world, job, asked)
    case = _case(world.table, job, run, runs, found, points)
    untold = asked - {each.job_id for each in found}
    declared = [error for name, error in silent.items() if name in world.other_jobs]
    if untold and silent:
        other_jobs = [guest for each in untold for guest in _by_its_commits(world.table, "", each)]
        otherwise = _case(world.table, job, run, runs, [*found, *other_jobs])
        if declared or len(commits_that_bind(otherwise)) < len(commits_that_bind(case)):
            raise (*declared, *silent.values())[0]
    return case


def _told(world: CurrentState, job: str, asked: Set[JobId]) -> tuple[list[JobRun], Mapping[str, CouldNotLook]]:
    """(those of the runs `asked` that a cluster lists under another job, job -> why its cluster told nothing)."""
    found: list[JobRun] = []
    silent: dict[str, CouldNotLook] = {}
    for name in dict.fromkeys((*world.other_jobs, *world.jobs)):
        if name == job or asked <= {each.job_id for each in found}:
            continue
        try:
            found += [each for each in world.jobs[name].flink.runs(name) if each.job_id in asked]
        except CouldNotLook as error:
            silent[name] = error
    return found, silent


def _case(
    table: TableState,
    job: str,
    run: JobId,
    runs: Sequence[JobRun],
    others: Iterable[JobRun],
    points: Iterable[StoredCheckpoint] = (),
) -> Case:
    """`others`: runs of other jobs that may have written the table."""
    seen = Observation(
        table=table,
        jobs=Seen[JobRun](source="Flink", values=_with(table, job, run, runs)),
        checkpoints=Seen[StoredCheckpoint](source="storage", values=tuple(points)),
        reads=_UNASKED,
        others=Seen[JobRun](source="Flink", values=tuple(others)),
    )
    window = Window(since=None, until=table.head)
    return Case(observation=seen, window=window, contract=TableContract(), job_name=job)


def knowing(case: Case, run: JobId) -> Case:
    """The case with `run` among the job's also where Flink, which was seen, has forgotten it."""
    seen = case.observation
    if case.job_name is None or isinstance(seen.jobs, NotSeen):
        return case
    runs = _with(seen.table, case.job_name, run, seen.jobs.values)
    jobs = seen.jobs.model_copy(update={"values": runs})
    return case.model_copy(update={"observation": seen.model_copy(update={"jobs": jobs})})


def _with(table: TableState, job: str, run: JobId, runs: Sequence[JobRun]) -> tuple[JobRun, ...]:
    known = any(each.job_id == run for each in runs)
    return tuple(runs) if known else (*runs, *_by_its_commits(table, job, run))


def _by_its_commits(table: TableState, job: str, run: JobId) -> tuple[JobRun, ...]:
    """A run that Flink does not list any more, as a cluster for one job does once that has ended."""
    first = next((s for s in flink_commits(table) if s.job_id == run), None)
    if first is None:
        return ()
    return (
        JobRun(
            job_id=run,
            name=job,
            state="FINISHED",
            started_at=first.committed_at,
        ),
    )


def unforeseen(requirement: HeadDescends, world: CurrentState) -> str | None:
    """Why the head is neither the one that was approved nor descends from it only by what may follow it. Flink is asked
    only where somebody else has committed. Raises CouldNotLook."""
    table, head = world.table, requirement.head
    if head not in table.chain_ids:
        return (
            f"Approved for head {short(head)}; the head is now {short(table.head)}, which does not descend from it. "
            "The table was rolled back or its snapshots expired."
        )
    if requirement.by_anybody:
        return None
    newer = list(takewhile(lambda s: s.snapshot_id != head, table.chain))[::-1]
    others = _not_of_run(table, head, requirement.job_id, newer)
    found = next(iter(_that_matter(others, requirement, world) if requirement.starts and others else others), None)
    if found is None:
        return None
    return (
        f"Approved for head {short(head)} ({_allowed(requirement)}); now {short(found.snapshot_id)} was committed by "
        f"{committer(found)} at {clock_time(found.committed_at, table.read_at, seconds=True)}."
    )


def _allowed(requirement: HeadDescends) -> str:
    run = [f"commits of run {short_job(requirement.job_id)}"] if requirement.job_id else []
    other_jobs = (
        [f"commits of other Flink jobs that wrote concurrently with {requirement.starts}"] if requirement.starts else []
    )
    return " and ".join(("the head itself", *run, *other_jobs)) if run or other_jobs else "exactly this head"


def _that_matter(others: Sequence[Snapshot], requirement: HeadDescends, world: CurrentState) -> Sequence[Snapshot]:
    """Of `others` those that are no compaction, unless files are named, and no other job's. Raises CouldNotLook."""
    job, run, is_exact = requirement.starts, requirement.goes_on_from or requirement.job_id, requirement.files_are_named
    changing = [s for s in others if is_exact or s.job_id is not None or not keeps_its_rows(world.table, s)]
    by_flink = frozenset(s.job_id for s in changing if s.job_id is not None)
    if job is None or run is None or not by_flink:
        return changing
    case = case_with_owners(world, job, run, world.jobs[job].flink.runs(job), by_flink)
    bound = {s.snapshot_id for s in commits_that_bind(case)}
    return [s for s in changing if s.job_id is None or s.snapshot_id in bound]


def _not_of_run(
    table: TableState, head: SnapshotId, job_id: JobId | None, newer: Sequence[Snapshot]
) -> Sequence[Snapshot]:
    """Those that are not the run's, or repeat what it had committed: each sink's checkpoint ids rise above what it has
    at the head, and right below it. All are oldest first."""
    reached = dict[OperatorId | None, int]()
    for snapshot in takewhile(lambda s: job_id == s.job_id and s.operator_id not in reached, table.ancestors(head)):
        reached[snapshot.operator_id] = snapshot.checkpoint_id or 0
    found = list[Snapshot]()
    for snapshot in newer:
        checkpoint, sink = snapshot.checkpoint_id or 0, snapshot.operator_id
        below = max((reached[of] for of in reached if of == sink or None in (of, sink)), default=-1)
        if job_id is None or snapshot.job_id != job_id or checkpoint <= below:
            found.append(snapshot)
        else:
            reached[sink] = checkpoint
    return found


def committer(snapshot: Snapshot) -> str:
    """Who wrote a commit: `Flink run a3f1c2 (checkpoint 7)`, `spark application local-17`."""
    which = f" (checkpoint {snapshot.checkpoint_id})" if snapshot.job_id else ""
    return f"{name_of(snapshot)}{which}"
