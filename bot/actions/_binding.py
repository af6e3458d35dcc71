"""Which commits on main bind a start from what a stopped run left: all of Flink's but those of guests that surely wrote
beside the job.

As `commits_that_bind` has it of a case, with the stopped run among the job's also where Flink has forgotten it, and
kin, which read what the job reads, never among the guests.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile

from bot.actions._world import World
from bot.domain.contract import TableContract
from bot.domain.diagnosis import Case
from bot.domain.evidence import Observation
from bot.domain.flink import JobRun
from bot.domain.guests import commits_that_bind
from bot.domain.ids import JobId
from bot.domain.kin import kin
from bot.domain.looked import NotSeen, Seen
from bot.domain.rewinds import flink_commits
from bot.domain.table import Snapshot, TableState, Window

_UNASKED = NotSeen(source="everything else", reason="Nobody has looked.", remedy="Look again.")


def binding_now(world: World, job: str, run: JobId, runs: Sequence[JobRun]) -> Sequence[Snapshot]:
    """Those of the table as it is, oldest first. `runs`: of the job, as its Flink tells. The other jobs are asked only
    where somebody else's commit lies above the job's newest. Raises CouldNotLook."""
    own = {run, *(each.job_id for each in runs)}
    above = {s.job_id for s in takewhile(lambda s: s.job_id not in own, reversed(flink_commits(world.table)))}
    if not above:
        return flink_commits(world.table)
    told = (each for name, ports in world.jobs.items() if name != job for each in ports.flink.runs(name))
    return binding(world.table, job, run, runs, [each for each in told if each.job_id in above])


def binding(
    table: TableState, job: str, run: JobId, runs: Sequence[JobRun], others: Iterable[JobRun]
) -> Sequence[Snapshot]:
    """Those on main of `table`, oldest first. `others`: runs of other jobs that may have written it."""
    known = any(each.job_id == run for each in runs)
    jobs = Seen[JobRun](source="Flink", values=tuple(runs) if known else (*runs, *_by_its_commits(table, job, run)))
    beside = Seen[JobRun](source="Flink", values=tuple(others))
    seen = Observation(table=table, jobs=jobs, checkpoints=_UNASKED, reads=_UNASKED, others=beside)
    window = Window(since=None, until=table.head)
    bound = commits_that_bind(Case(observation=seen, window=window, contract=TableContract(), job_name=job))
    family, ids = {each.job_id for each in kin(jobs, beside)}, {s.snapshot_id for s in bound}
    return tuple(s for s in flink_commits(table) if s.snapshot_id in ids or s.job_id in family)


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
