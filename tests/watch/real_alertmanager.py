"""A real Alertmanager on loopback: `python -m tests.watch.real_alertmanager` records what it sends.

The kept body, `payloads/alertmanager_v4.json`, was sent by Alertmanager 0.25.0 of Debian 12 (prometheus-alertmanager).
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.adapters.serving import served, unused_address

BINARY = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
_UP_S = 90.0
ALERTS: tuple[dict[str, Any], ...] = (
    {
        "labels": {
            "alertname": "FlinkCheckpointsFailing",
            "job": "flink",
            "job_name": "orders-to-iceberg",
            "namespace": "streaming",
            "severity": "critical",
        },
        "annotations": {
            "description": "No checkpoint of orders-to-iceberg has completed for 10 minutes.",
            "summary": "Checkpoints of orders-to-iceberg fail",
            "waterline_runbook": "failed-checkpoints",
        },
        "startsAt": "2026-11-03T09:05:00.123456789+01:00",
        "generatorURL": "https://prometheus.acme.example/graph?g0.expr=flink_jobmanager_job_numberOfFailedCheckpoints"
        "+%3E+3&g0.tab=1",
    },
    {
        "labels": {"alertname": "TableStale", "severity": "warning", "table": "lake.sales.orders"},
        "startsAt": "2026-11-03T08:06:00Z",
    },
    {
        "labels": {"alertname": "DiskFull", "instance": "db-7:9100", "severity": "warning"},
        "annotations": {"summary": "A disk is nearly full"},
        "startsAt": "2026-11-03T08:06:00Z",
    },
)
"""As Prometheus posts them: two of one table, by its job's name and by its own, and one of something else."""


@contextmanager
def alertmanager(folder: Path, receiver: str, token: str) -> Iterator[str]:
    """Its address; it sends every group of alerts to `receiver`, with that token, and goes when the test ends."""
    assert BINARY is not None
    config = folder / "alertmanager.yml"
    config.write_text(
        "route: {receiver: waterline, group_wait: 200ms, group_interval: 1s, repeat_interval: 1h}\n"
        "receivers:\n"
        "  - name: waterline\n"
        "    webhook_configs:\n"
        f"      - {{url: '{receiver}', http_config: {{authorization: {{credentials: '{token}'}}}}}}\n"
    )
    address = unused_address().removeprefix("http://")
    options = (f"--config.file={config}", f"--storage.path={folder / 'data'}", f"--web.listen-address={address}")
    own = ("--web.external-url=https://alertmanager.acme.example", "--web.route-prefix=/", "--cluster.listen-address=")
    with (folder / "alertmanager.log").open("w") as log:
        process = subprocess.Popen([BINARY, *options, *own], stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_until_up(f"http://{address}")
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(60)


def post(address: str, alerts: Sequence[dict[str, Any]]) -> None:
    httpx.post(f"{address}/api/v2/alerts", json=list(alerts), trust_env=False).raise_for_status()


def _wait_until_up(address: str) -> None:
    until = time.monotonic() + _UP_S
    while time.monotonic() < until:
        try:
            if httpx.get(f"{address}/-/ready", trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.05)
    raise TimeoutError(f"Alertmanager at {address} did not come up within {_UP_S:.0f} s.")


def recorded() -> bytes:
    """The first body that it sends of all `ALERTS`: they are old, so the first may go out before the next is in its
    group."""
    bodies: list[bytes] = []

    async def take(request: Request) -> Response:
        bodies.append(await request.body())
        return Response()

    routes = Starlette(routes=[Route("/hook", take, methods=["POST"])])
    with TemporaryDirectory() as folder, served(routes) as url, alertmanager(Path(folder), f"{url}/hook", "t") as up:
        post(up, ALERTS)
        until = time.monotonic() + _UP_S
        while time.monotonic() < until:
            whole = next((body for body in bodies if len(json.loads(body)["alerts"]) == len(ALERTS)), None)
            if whole is not None:
                return whole
            time.sleep(0.05)
    raise TimeoutError(f"Alertmanager sent no body with all {len(ALERTS)} alerts within {_UP_S:.0f} s.")


if __name__ == "__main__":
    sys.stdout.write(json.dumps(json.loads(recorded()), indent=2) + "\n")
