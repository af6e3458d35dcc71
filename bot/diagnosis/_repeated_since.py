"""Whether main shows a repeated checkpoint that evidence has not seen yet: a commit bears it in its summary."""

from bot.diagnosis._asked import checked_until
from bot.diagnosis._empty_starts import empty_starts
from bot.domain.diagnosis import Case
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId


def repeated_since(case: Case) -> SnapshotId | None:
    """A commit with rows, newer than the evidence, under the checkpoint that another one of its run and sink bears; but
    for a start without state in between, with which ids count anew."""
    table = case.observation.table
    edge = table.place_of(checked_until(case, "duplicate_commits"))
    anew = {table.place_of(start.first) for start in empty_starts(case) if start.first is not None}
    seen: dict[tuple[JobId | None, OperatorId | None, CheckpointId | None], int] = {}
    for s in table.of_flink:
        place, key = table.place_of(s.snapshot_id), (s.job_id, s.operator_id, s.checkpoint_id)
        before = seen.get(key)
        if before is not None and s.adds_rows and place > edge and not any(before < each <= place for each in anew):
            return s.snapshot_id
        seen[key] = place
    return None
