"""Ways to start a job on a Flink that is told what to answer."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest

from bot.adapters.flink_rest import FlinkRest
from bot.adapters.flink_starting import JarStart, SqlGatewayStart
from bot.settings import JarStartSettings, SqlGatewayStartSettings
from tests.adapters.flink_wire import F21, RUN_21, PassingTime, Wire, body

JOB = "orders-to-iceberg"
PATH = "file:/lab/savepoints/savepoint-c96e2d-1"
CREATE, INSERT = "CREATE CATALOG lake WITH ('type' = 'iceberg')", "INSERT INTO lake.sales.orders SELECT 1"
DETAIL = f"GET /jobs/{RUN_21}"
UNKNOWN = (404, {"errors": ["Job not found"]})
SESSION = "/v1/sessions/s1"
RUN_JAR = "POST /jars/orders.jar/run"
ORDERS_JAR = JarStartSettings(
    kind="jar",
    jar_id="orders.jar",
    entry_class="com.acme.Orders",
    args=("--table", "t"),
    timeout=timedelta(seconds=30),
)


def statements_at(url: str) -> SqlGatewayStartSettings:
    """As a gateway at this address gets them."""
    return SqlGatewayStartSettings(
        kind="sql-gateway",
        url=url,
        statements=(CREATE, INSERT),
        properties={"pipeline.name": JOB},
        timeout=timedelta(seconds=30),
    )


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    """What a test opens is closed at its end."""
    with ExitStack() as stack:
        yield stack


def starting(wire: Wire, closing: ExitStack, starter: SqlGatewayStart | JarStart) -> FlinkRest:
    """An adapter with this way of starting."""
    adapter = FlinkRest(wire.url, starter=starter, start_limit=timedelta(seconds=30), poll_every=timedelta(seconds=1))
    closing.callback(adapter.close)
    return adapter


@pytest.fixture
def by_gateway(wire: Wire, closing: ExitStack, passing_time: PassingTime) -> FlinkRest:
    """Starts through a gateway that accepts everything."""
    wire.says("POST /v1/sessions", {"sessionHandle": "s1"})
    wire.says(f"POST {SESSION}/statements", {"operationHandle": "o1"}, {"operationHandle": "o2"})
    for operation in ("o1", "o2"):
        wire.says(f"GET {SESSION}/operations/{operation}/status", {"status": "RUNNING"}, {"status": "FINISHED"})
        wire.says(f"GET {SESSION}/operations/{operation}/result/0", {"resultType": "PAYLOAD"})
    wire.says(f"DELETE {SESSION}", {"status": "CLOSED"})
    wire.says(DETAIL, UNKNOWN, UNKNOWN, body(F21, "job"))
    gateway = SqlGatewayStart(statements_at(wire.url), poll_s=1)
    return starting(wire, closing, gateway)


@pytest.fixture
def by_jar(wire: Wire, closing: ExitStack, passing_time: PassingTime) -> FlinkRest:
    """Starts an uploaded jar."""
    wire.says(RUN_JAR, {"jobid": RUN_21})
    wire.says(DETAIL, UNKNOWN, UNKNOWN, body(F21, "job"))
    jar = JarStart(wire.url, ORDERS_JAR)
    return starting(wire, closing, jar)


Answers = Mapping[str, Sequence[Any]]
"""Request -> what is answered to it, one after another."""


def failed(operation: str, reason: str) -> Answers:
    """The gateway ran this statement, in vain."""
    asked = f"GET {SESSION}/operations/{operation}"
    return {
        f"{asked}/status": [{"status": "ERROR"}],
        f"{asked}/result/0": [(500, {"errors": ["Internal", reason]})],
    }
