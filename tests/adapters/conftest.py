"""A real Iceberg table in a SQLite catalog, and a clock that stands."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.adapters.flink_rest import FlinkRest
from bot.adapters.iceberg import PyIcebergCatalog
from tests.adapters.flink_wire import Wire, flink_wire, passing_time
from tests.adapters.kubernetes import Kubernetes, kubernetes
from tests.adapters.lake import Lake
from tests.adapters.operated_job import schema
from tests.adapters.operator_hand import NAMESPACE

__all__ = ["passing_time"]

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


@pytest.fixture(scope="session")
def wire_server() -> Iterator[Wire]:
    """One HTTP server for all tests."""
    with flink_wire() as up:
        yield up


@pytest.fixture
def wire(wire_server: Wire) -> Wire:
    """Flink's side, which knows nothing yet."""
    wire_server.answers.clear()
    wire_server.asked.clear()
    return wire_server


@pytest.fixture
def flink(wire: Wire) -> Iterator[FlinkRest]:
    """Our side."""
    adapter = FlinkRest(wire.url)
    yield adapter
    adapter.close()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    """An API server that knows the operator's kinds, and a namespace; each test has a resource of its own."""
    with kubernetes(tmp_path_factory.mktemp("kubernetes")) as server:
        for kind in ("FlinkDeployment", "FlinkSessionJob"):
            server.installed(schema(kind))
        for name in (NAMESPACE, "waterline"):
            server.asked("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        yield server
