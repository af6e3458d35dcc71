"""Commits that a run may have made between its newest listed one and a later checkpoint, and that are listed no more:
main was rolled back, and what it lost has expired. Pure."""

from bot.domain.empty_commits import PROPERTY, empty_commits_allowed
from bot.domain.flink import JobRun
from bot.domain.ids import CheckpointId, short_job
from bot.domain.ledger import Sink
from bot.domain.looked import NotSeen, Seen
from bot.domain.sinks import Sinks
from bot.domain.table import Snapshot, TableState


def gone_between(reached: Snapshot, until: int, table: TableState, jobs: Seen[JobRun] | NotSeen) -> str | None:
    """What shows that the run of `reached` may have committed more before it came to checkpoint `until`; None: nothing.
    `reached`: its newest listed commit below that."""
    return _too_long(reached, until, table, jobs)


def _too_long(reached: Snapshot, until: int, table: TableState, jobs: Seen[JobRun] | NotSeen) -> str | None:
    """A sink commits now and then also without files, but for DynamicIcebergSink (facts 1.3). A checkpoint that Flink
    calls failed is none to it; the newest may be on its way."""
    since = reached.checkpoint_id or CheckpointId(0)
    allowed = empty_commits_allowed(table.properties)
    passed = until - since - len(_failed(reached, jobs) & set(range(since + 1, until)))
    sink = Sinks(jobs.values).of_run(reached.job_id, reached.operator_id) if reached.job_id is not None else None
    if passed <= allowed + 1 or sink is Sink.FLINK_DYNAMIC:
        return None
    return (
        f"{_listed_up_to(reached)}, and of checkpoints {since + 1} to {until} it would have committed one even without "
        f"files (`{PROPERTY}`: {allowed}): commits between may have been lost and expired."
    )


def _failed(reached: Snapshot, jobs: Seen[JobRun] | NotSeen) -> set[int]:
    of_run = (run for run in jobs.values if run.job_id == reached.job_id)
    return {c.checkpoint_id for run in of_run for c in run.checkpoints if c.status == "FAILED"}


def _listed_up_to(reached: Snapshot) -> str:
    return f"Commits of run {short_job(reached.job_id)} are listed up to checkpoint {reached.checkpoint_id}"
