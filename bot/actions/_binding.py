"""Which commits on main bind a start from what a stopped run left: all of Flink's but those of guests that surely wrote
beside the job.

As `commits_that_bind` has it of a case, with the stopped run among the job's also where Flink has forgotten it.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import takewhile

from bot.actions._world import World
from bot.domain.contract import TableContract
from bot.domain.diagnosis import Case
from bot.domain.errors import CouldNotLook
from bot.domain.evidence import Observation
from bot.domain.flink import JobRun
from bot.domain.guests import commits_that_bind
from bot.domain.ids import JobId
from bot.domain.looked import NotSeen, Seen
from bot.domain.put_back import without_put_back
from bot.domain.rewinds import flink_commits
from bot.domain.table import Snapshot, TableState, Window

_UNASKED = NotSeen(source="everything else", reason="Nobody has looked.", remedy="Look again.")


def binding_now(world: World, job: str, run: JobId, runs: Sequence[JobRun]) -> Sequence[Snapshot]:
    """Those of the table as it is, oldest first. `runs`: of the job, as its Flink tells. The other jobs are asked only
    where somebody else's commit lies above the job's newest. Raises CouldNotLook."""
    own = {run, *(each.job_id for each in runs)}
    newest_first = (s for s in reversed(flink_commits(world.table)) if not s.is_repair)
    above = {s.job_id for s in takewhile(lambda s: s.job_id not in own, newest_first)}
    return binding_of(world, job, run, runs, {each for each in above if each is not None})


def binding_of(world: World, job: str, run: JobId, runs: Sequence[JobRun], asked: Set[JobId]) -> Sequence[Snapshot]:
    """As `binding_now`, where only of the runs `asked` it matters whose they are.

    The table's `other_jobs` are asked first, and no further cluster once each of these runs is found. One that is not
    found is told by its sink. Raises CouldNotLook where a cluster is silent that might tell otherwise: one of the
    `other_jobs` may hold kin of the job, and any other one a guest.
    """
    if not asked:
        return without_put_back(flink_commits(world.table), world.table)
    found, silent = _told(world, job, asked)
    bound = binding(world.table, job, run, runs, found)
    untold = asked - {each.job_id for each in found}
    declared = [error for name, error in silent.items() if name in world.other_jobs]
    if untold and silent:
        guests = [guest for each in untold for guest in _by_its_commits(world.table, "", each)]
        if declared or len(binding(world.table, job, run, runs, [*found, *guests])) < len(bound):
            raise (*declared, *silent.values())[0]
    return bound


def _told(world: World, job: str, asked: Set[JobId]) -> tuple[list[JobRun], Mapping[str, CouldNotLook]]:
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


def binding(
    table: TableState, job: str, run: JobId, runs: Sequence[JobRun], others: Iterable[JobRun]
) -> Sequence[Snapshot]:
    """Those on main of `table`, oldest first. `others`: runs of other jobs that may have written it."""
    jobs = Seen[JobRun](source="Flink", values=_with(table, job, run, runs))
    beside = Seen[JobRun](source="Flink", values=tuple(others))
    seen = Observation(table=table, jobs=jobs, checkpoints=_UNASKED, reads=_UNASKED, others=beside)
    window = Window(since=None, until=table.head)
    return commits_that_bind(Case(observation=seen, window=window, contract=TableContract(), job_name=job))


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
            ended_at=None,
            checkpoint_interval_ms=None,
            checkpoints=(),
            completed_count=0,
            failed_count=0,
            restored_count=0,
            restored=None,
            failures=(),
            vertices=(),
            code_version=None,
        ),
    )
