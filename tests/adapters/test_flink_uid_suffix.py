"""The suffix of the sink's uid stands where the start declares it, and nowhere else."""

from contextlib import ExitStack

import pytest

from bot.adapters.flink_starting import JarStart, SqlGatewayStart
from tests.adapters.flink_wire import Wire
from tests.adapters.recorded_runs import RUN_21
from tests.adapters.started_runs import PATH, RUN_JAR, SESSION


@pytest.mark.parametrize(("asked", "stands"), [(None, "v1"), ("wl-1-abcd", "wl-1-abcd")])
def test_it_stands_in_the_statement(wire: Wire, asked: str | None, stands: str) -> None:
    """Else the configured one."""
    insert = "INSERT INTO t /*+ OPTIONS('uid-suffix'='{uid_suffix}') */ SELECT 1"
    wire.says("POST /v1/sessions", {"sessionHandle": "s1"})
    wire.says(f"POST {SESSION}/statements", {"operationHandle": "o1"})
    wire.says(f"GET {SESSION}/operations/o1/status", {"status": "FINISHED"})
    wire.says(f"GET {SESSION}/operations/o1/result/0", {"resultType": "PAYLOAD"})
    with ExitStack() as closing:
        gateway = SqlGatewayStart(wire.url, ("SET x", insert), {}, uid_suffix="v1", limit_s=30)
        closing.callback(gateway.close)
        gateway.submit(PATH, RUN_21, allow_non_restored=True, uid_suffix=asked)

    sent = [told["statement"] for path, told in wire.sent("POST") if path == f"{SESSION}/statements"]
    assert sent == ["SET x", f"INSERT INTO t /*+ OPTIONS('uid-suffix'='{stands}') */ SELECT 1"]


def test_it_stands_in_the_arguments(wire: Wire) -> None:
    """Of a jar."""
    wire.says(RUN_JAR, (202, {"jobid": RUN_21}))
    with ExitStack() as closing:
        jar = JarStart(wire.url, "orders.jar", args=("--uid", "sink-{uid_suffix}"), limit_s=30)
        closing.callback(jar.close)
        jar.submit(PATH, RUN_21, allow_non_restored=True, uid_suffix="wl-1-abcd")

    [(_, told)] = wire.sent("POST")
    assert (told["programArgsList"], told["allowNonRestoredState"]) == (["--uid", "sink-wl-1-abcd"], True)
