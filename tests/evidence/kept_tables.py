"""Tables that are kept for so long, and what is asked about them later."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.observation.evidence import Ask
from bot.observation.flink import JobRun, StoredCheckpoint
from tests.evidence.restore_points import stored
from tests.evidence.test_ledger import run_of
from tests.tables import OrdersTable, job, of_table

DAY = timedelta(days=1)
HOUR_MS = "3600000"


@pytest.fixture
def brief(tmp_path: Path) -> Iterator[OrdersTable]:
    """A table that lets snapshots expire after an hour."""
    table = OrdersTable(tmp_path, {"history.expire.max-snapshot-age-ms": HOUR_MS})
    yield table
    table.close()


def ended(name: str) -> JobRun:
    """A run that is over."""
    return run_of(name).model_copy(update={"state": "FINISHED"})


def at(ask: Ask, later: timedelta, **changes: object) -> Ask:
    """The same, asked later, with the table changed."""
    return of_table(ask, read_at=datetime.now(UTC) + later, **changes)


def savepoint(checkpoint: int, age: timedelta) -> StoredCheckpoint:
    """A restore point of run `a` on storage."""
    return stored(job("a"), checkpoint, path=f"file:/state/savepoint-{checkpoint}", written_at=datetime.now(UTC) - age)


def completed(name: str, started_at: datetime) -> JobRun:
    """A run that is alive, began then and has completed checkpoints."""
    return run_of(name).model_copy(update={"started_at": started_at, "completed_count": 7})
