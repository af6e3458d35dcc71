"""A real Iceberg table in a SQLite catalog, and a clock that stands."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.adapters.iceberg import PyIcebergCatalog
from tests.adapters.lake import Lake

NOON = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)


class StandingClock:
    """Always noon."""

    def now(self) -> datetime:
        """Aware, UTC."""
        return NOON


@pytest.fixture
def clock() -> StandingClock:
    """A clock that does not move."""
    return StandingClock()


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """`sales.orders` with three commits."""
    made = Lake(tmp_path)
    for first in (1, 3, 5):
        made.append(first, first + 1)
    yield made
    made.close()


@pytest.fixture
def catalog(lake: Lake, clock: StandingClock) -> Iterator[PyIcebergCatalog]:
    """The adapter on that lake."""
    adapter = PyIcebergCatalog("lake", lake.properties, clock)
    yield adapter
    adapter.close()
