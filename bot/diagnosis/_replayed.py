"""Whether a run's first commit brought again what another run had brought, by the rows that live twice."""

from bot.domain.diagnosis import Case
from bot.domain.ids import JobId, SnapshotId


def is_replayed(case: Case, commit: SnapshotId, earlier: JobId) -> bool:
    """Whether keys of the earlier run's commits live again in the new run's first commit, as far as is known from the
    same source positions: else the source gave them twice."""
    by_id = case.observation.table.by_id
    return any(
        pair.second == commit
        and (one := by_id.get(pair.first)) is not None
        and one.job_id == earlier
        and overlap(case, pair.first, pair.second) is not False
        for pair in (case.duplicates.pairs if case.duplicates is not None else ())
    )


def overlap(case: Case, first: SnapshotId, second: SnapshotId) -> bool | None:
    """Whether the later commit begins below where the earlier one ends in the source; None: bounds of several source
    partitions together tell nothing, nor do those that are not known."""
    rows = {row.snapshot_id: row for row in (case.ledger.main if case.ledger else ())}
    one, other = rows.get(first), rows.get(second)
    if one is None or other is None or case.contract.position_partition is not None:
        return None
    until, begins = one.position_until, other.position_from
    return None if until is None or begins is None else begins <= until
