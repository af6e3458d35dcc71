"""The sinks through which one run writes the table: each commits by itself, under its own operator id, and counts what
it has committed by itself (facts 1.5)."""

from collections.abc import Iterable

from bot.domain.diagnosis import Case
from bot.domain.flink import JobRun
from bot.domain.gone_commits import Sinks
from bot.domain.ids import OperatorId
from bot.domain.ledger import Sink
from bot.domain.table import Snapshot


def sinks_of(case: Case, run: JobRun) -> tuple[OperatorId | None, ...]:
    """The operators by which the run has committed, to whatever branch, or left manifests. (None,): any, because
    nothing tells one from another."""
    world = case.observation
    told = {s.operator_id for s in world.table.snapshots if s.job_id == run.job_id}
    told |= {m.operator_id for m in world.flink_manifests.values if m.job_id == run.job_id}
    return tuple(sorted(each for each in told if each is not None)) or (None,)


def by_sink(commits: Iterable[Snapshot], operator: OperatorId | None) -> tuple[Snapshot, ...]:
    """Those that the sink may have made: a commit that names no operator may be any's."""
    return tuple(s for s in commits if operator is None or s.operator_id in (None, operator))


def leaves_out_empty_ones(case: Case, run: JobRun, operator: OperatorId | None) -> bool:
    """Whether it is DynamicIcebergSink, which never commits without rows (facts 1.3): no silence of it is too long."""
    return Sinks(case.observation.jobs.values).of_run(run.job_id, operator) is Sink.FLINK_DYNAMIC
