"""Which ten commits of a long ledger are shown."""

from datetime import UTC, datetime, timedelta

from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId, SnapshotId
from bot.domain.ledger import LedgerRow
from spark_tasks._chain import telling
from tests.tables import job

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def commit(number: int, run: str) -> LedgerRow:
    """The commit of that number on main, by a run."""
    return LedgerRow(
        snapshot_id=SnapshotId(number),
        parent_id=None,
        sequence_number=number,
        committed_at=NOON + timedelta(seconds=number),
        on_main=True,
        operation="append",
        engine="flink",
        job_id=job(run),
        operator_id=None,
        checkpoint_id=CheckpointId(number),
        checkpoint_kind=CheckpointKind.UNKNOWN,
        attempts=None,
        added_files=1,
        added_rows=10,
        removed_files=0,
        removed_rows=0,
        code_version=None,
        readers=(),
    )


def test_a_long_ledger_shows_where_the_chain_breaks() -> None:
    """Of a hundred commits: the last of one run, the first of the next, and the newest."""
    rows = [commit(n, "a" if n < 60 else "b") for n in range(100)]

    shown = [row.snapshot_id for row in telling(rows)]

    assert shown == [58, 59, 60, 61, *range(94, 100)]


def test_a_short_ledger_is_shown_whole() -> None:
    """Nothing is left out while there is room."""
    rows = [commit(n, "a") for n in range(7)]

    assert telling(rows) == rows
