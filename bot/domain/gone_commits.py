"""Commits that a run may have made between its newest listed one and a later checkpoint, and that are listed no more:
main was rolled back, and what it lost has expired. Pure."""

from itertools import dropwhile

from bot.domain.empty_commits import PROPERTY, empty_commits_allowed
from bot.domain.flink import JobRun
from bot.domain.ids import CheckpointId, short_job
from bot.domain.ledger import Sink
from bot.domain.looked import NotSeen, Seen
from bot.domain.sentences import counted
from bot.domain.sinks import Sinks
from bot.domain.table import Snapshot, TableState


def gone_since(commit: Snapshot, table: TableState) -> int:
    """So many snapshots were made after `commit`, on whatever branch, and are listed no more; 0 also where nothing
    tells: each takes the next sequence number, but for format v1, and the metadata keeps the last. 0 where main's log
    shows that none of them was main's."""
    if table.last_sequence_number is None or not commit.sequence_number or _only_went_forward(commit, table):
        return 0
    made = table.last_sequence_number - commit.sequence_number
    return made - (len(table.snapshots) - 1 - table.place_of(commit.snapshot_id)) if made > 0 else 0


def gone_before(commit: Snapshot, table: TableState) -> int:
    """So many snapshots were made before `commit`, on whatever branch, and are listed no more; 0 also where nothing
    tells: in format v1 none has a number, and those from before an upgrade keep 0."""
    made, older = commit.sequence_number - 1, table.place_of(commit.snapshot_id)
    if made <= 0 or not older:
        return max(made, 0)
    return made - sum(0 < each.sequence_number < commit.sequence_number for each in table.snapshots)


def _only_went_forward(commit: Snapshot, table: TableState) -> bool:
    """Whether main came to `commit` and to all since by these commits themselves: expiry takes what main lost out of
    its log, but the way back to where it went stays there, with a later time than that commit's."""
    since = list(dropwhile(lambda move: move.snapshot_id != commit.snapshot_id, table.head_moves))
    return bool(since) and all(
        move.snapshot_id in table.by_id and move.at == table.by_id[move.snapshot_id].committed_at for move in since
    )


def gone_between(reached: Snapshot, until: int, table: TableState, jobs: Seen[JobRun] | NotSeen) -> str | None:
    """What shows that the run of `reached` may have committed more before it came to checkpoint `until`; None: nothing.
    `reached`: its newest listed commit below that. Where sequence numbers tell it, they alone count: a failover, a
    savepoint and a failed checkpoint let more checkpoints pass without a commit."""
    if table.last_sequence_number is not None and reached.sequence_number:
        return _numbers_missing(reached, until, table)
    return _too_long(reached, until, table, jobs)


def _numbers_missing(reached: Snapshot, until: int, table: TableState) -> str | None:
    """Ordinary expiry takes older ones first. Whose those were, nothing tells."""
    is_next = until <= (reached.checkpoint_id or 0) + 1
    gone = 0 if is_next else gone_since(reached, table)
    if gone <= 0:
        return None
    return (
        f"{_listed_up_to(reached)}, and {counted(gone, 'newer snapshot')} of the table {'is' if gone == 1 else 'are'} "
        f"listed no more, by the sequence numbers: commits of checkpoints below {until} may have been lost and expired."
    )


def _too_long(reached: Snapshot, until: int, table: TableState, jobs: Seen[JobRun] | NotSeen) -> str | None:
    """A sink commits now and then also without files, but for DynamicIcebergSink (facts 1.3), counted from its newest
    restore on. A checkpoint that Flink calls failed is none to it; the newest may be on its way."""
    restored = (run.restored.checkpoint_id for run in jobs.values if run.job_id == reached.job_id and run.restored)
    since = max([reached.checkpoint_id or CheckpointId(0), *(each for each in restored if each <= until)])
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
