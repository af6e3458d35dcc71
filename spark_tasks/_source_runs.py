"""Which run read a commit's rows from the source, and whether a later commit shows that they were read again."""

from bot.domain.ids import JobId
from bot.domain.other_writers import origin_of
from bot.domain.table import Snapshot, TableState
from spark_tasks._same_checkpoint import BATCH


def run_of(table: TableState, commit: Snapshot) -> JobId | None:
    """The Flink run that read its rows; of a cherry-pick that of the commit which it copied. None also of what moves
    rows, and of a copy whose source is no longer listed."""
    origin = origin_of(table, commit)
    return origin.job_id if origin is not None and commit.operation != "replace" else None


def was_read_again(table: TableState, first: Snapshot, again: Snapshot, *, is_exact: bool) -> bool:
    """Whether a part of the source that both cover says so. `is_exact`: positions show it.

    Event times of one run overlap in order, and so do positions of the batches of one CDC checkpoint.
    """
    runs = [run_of(table, commit) for commit in (first, again)]
    if None in runs:
        return False
    batches = BATCH in first.summary and BATCH in again.summary and first.checkpoint_id == again.checkpoint_id
    return runs[0] != runs[1] or (is_exact and not batches)
