"""Flink's side of the wire: a real HTTP server that answers with recorded bodies and remembers what it was asked."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.adapters import flink_http
from bot.adapters.flink_rest import FlinkRest
from bot.observation.flink import JobRun
from bot.observation.ids import JobId
from tests.adapters.serving import served

FIXTURES = Path(__file__).parent / "fixtures"
METHODS = ["GET", "POST", "PATCH", "DELETE"]
WAITED_IN_VAIN = (
    "java.util.concurrent.CompletionException: java.util.concurrent.TimeoutException: Invocation of "
    "[RemoteRpcInvocation(JobMasterGateway.stopWithSavepoint(String))] at recipient "
    "[pekko.tcp://flink@jobmanager:6123/user/rpc/jobmanager_2] timed out. This is usually caused by: 1) Pekko failed "
    "sending the message silently.\n\tat java.base/java.util.concurrent.CompletableFuture.encodeRelay(Unknown Source)\n"
    "Caused by: java.util.concurrent.TimeoutException: Invocation of [RemoteRpcInvocation(JobMasterGateway."
    "stopWithSavepoint(String))] at recipient [pekko.tcp://flink@jobmanager:6123/user/rpc/jobmanager_2] timed out.\n"
    "\tat jdk.internal.reflect.GeneratedMethodAccessor17.invoke(Unknown Source)\n"
    "Caused by: org.apache.pekko.pattern.AskTimeoutException: Ask timed out on "
    "[Actor[pekko://flink/user/rpc/jobmanager_2#-17]] after [10000 ms].\n\t... 9 more\n"
)
"""Flink's stack trace where one part of it did not answer another; shortened."""


def body(folder: str, name: str) -> Any:
    """A body that a real Flink answered."""
    return json.loads((FIXTURES / folder / f"{name}.json").read_text(encoding="utf-8"))


class Wire:
    """Answers by method and path; a list is given out one by one, its last item again and again.

    An answer is a body, or (status, body). What has none is 404, as Flink says it.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, Any]] = []
        self.url = ""

    def says(self, request: str, *answers: Any) -> None:
        """`request` is `GET /jobs/overview`."""
        self.answers[request] = list(answers)

    def sent(self, method: str) -> list[tuple[str, Any]]:
        """Path and body of each request with this method, in order."""
        return [(key.split(" ", 1)[1], content) for key, content in self.asked if key.startswith(f"{method} ")]

    async def answer(self, request: Request) -> Response:
        """One request."""
        raw = await request.body()
        query = f"?{request.url.query}" if request.url.query and request.method != "GET" else ""
        key = f"{request.method} {request.url.path}{query}"
        self.asked.append((key, json.loads(raw) if raw else None))
        if key not in self.answers:
            return Response(json.dumps({"errors": ["Not found: " + key]}), 404)
        queue = self.answers[key]
        chosen = queue.pop(0) if len(queue) > 1 else queue[0]
        status, content = chosen if isinstance(chosen, tuple) else (200, chosen)
        return Response(content if isinstance(content, (str, bytes)) else json.dumps(content), status)


@contextmanager
def flink_wire() -> Iterator[Wire]:
    """A wire that is up."""
    wire = Wire()
    with served(Starlette(routes=[Route("/{path:path}", wire.answer, methods=METHODS)])) as url:
        wire.url = url
        yield wire


def tell_run(wire: Wire, folder: str, job_id: str, *, exceptions: str, checkpoints: str) -> None:
    """All pages of one recorded run."""
    detail = body(folder, "job")
    wire.says(f"GET /jobs/{job_id}", detail)
    wire.says(f"GET /jobs/{job_id}/checkpoints", body(folder, checkpoints))
    wire.says(f"GET /jobs/{job_id}/checkpoints/config", body(folder, "checkpoints_config"))
    wire.says(f"GET /jobs/{job_id}/exceptions", body(folder, exceptions))
    wire.says(f"GET /jobs/{job_id}/config", body(folder, "job_config"))
    vertex = body(folder, "vertex")
    wire.says(f"GET /jobs/{job_id}/vertices/{vertex['id']}", vertex)


F120 = "flink_rest_1_20"
F21 = "flink_rest_2_1"
RUN_120 = JobId("3824b02af8b4ac6e90607416acc8dabc")
RUN_21 = JobId("5457e33a5fd04345a210b16d93164afe")


def told(flink: FlinkRest, job_id: JobId) -> JobRun:
    """The run, which Flink knows."""
    run = flink.run(job_id)
    assert run is not None
    return run


ENDED = JobId("c1090702533ba71f3c7d52dfd8cb5d03")
ARCHIVE = Path(__file__).parent / "fixtures" / "flink_history_2_1"
"""The folder that a history server is pointed at."""


def archived_pages() -> Iterator[tuple[str, Any]]:
    """Path and body of each page, as the history server serves them."""
    for page in json.loads((ARCHIVE / ENDED).read_text(encoding="utf-8"))["archive"]:
        yield page["path"], json.loads(page["json"])


class PassingTime:
    """What `polled` needs of the module `time`."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        """Seconds that were slept so far."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """So much time passes at once."""
        self._now += seconds


@pytest.fixture
def passing_time(monkeypatch: pytest.MonkeyPatch) -> PassingTime:
    """A limit of 30 s that is looked at every second is thirty looks, however slow each of them is."""
    made = PassingTime()
    monkeypatch.setattr(flink_http, "time", made)
    return made
