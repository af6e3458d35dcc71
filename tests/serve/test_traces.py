"""OpenTelemetry spans: of a whole incident, and as a collector gets them."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.cli.tour import playing
from bot.cli.walk import Walk
from bot.tour.recording import find_recording
from bot.workspace import Workspace
from tests.adapters.lake import Lake
from tests.adapters.serving import served
from tests.serve.test_health import serving
from tests.slack.people import eventually

pytestmark = pytest.mark.slow


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """What ended in this process. OpenTelemetry takes one provider for a process's life."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    yield kept
    provider.shutdown()


def test_the_way_of_a_click_leads_to_its_evidence_and_its_execution(spans: InMemorySpanExporter) -> None:
    """A recorded incident is walked to its end; what another thread does stays below the click."""
    recording = find_recording("rows-twice")
    with playing(recording, threading.Event(), pause=lambda _s: None) as workspace:
        Walk(workspace, recording.runbook, lambda _line: None).run()
    ended = {span.context.span_id: span for span in spans.get_finished_spans() if span.context is not None}

    def above(span: ReadableSpan) -> ReadableSpan | None:
        return None if span.parent is None else ended.get(span.parent.span_id)

    def begun_by(name: str) -> set[str]:
        """The names of the topmost spans over these."""
        found = set()
        for span in ended.values():
            if span.name.startswith(name):
                top = span
                while (parent := above(top)) is not None:
                    top = parent
                found.add(top.name)
        return found

    clicks = [span for span in ended.values() if span.name.startswith("slack ")]
    evidence = [span for span in ended.values() if span.name.startswith("evidence ")]
    effects = [span for span in ended.values() if span.name.startswith("effect ")]
    assert clicks
    assert evidence
    assert effects
    assert all(parent is not None and parent.name == "execution" for parent in map(above, effects))
    assert any(name.startswith("slack ") for name in begun_by("evidence "))
    assert any(name.startswith("slack ") for name in begun_by("effect "))
    assert {str((span.attributes or {})["waterline.verdict"]) for span in evidence} >= {"confirmed"}
    assert all(span.start_time <= span.events[0].timestamp for span in clicks if span.start_time is not None)


def test_spans_are_sent_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By OTLP over HTTP, the last ones at the end; each names the service."""
    requests: list[ExportTraceServiceRequest] = []

    async def take(request: Request) -> Response:
        requests.append(ExportTraceServiceRequest.FromString(await request.body()))
        return Response(media_type="application/x-protobuf")

    lake = Lake(tmp_path)
    lake.append(1, 2)
    with served(Starlette(routes=[Route("/v1/traces", take, methods=["POST"])])) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=trial")
        with Workspace().serve() as slack, serving(tmp_path / "bot", slack, lake, "socket") as bot:
            eventually(lambda: bot.ready()[0] == 200, timeout_s=60)
            ana = slack.person("ana")
            ana.types("/waterline help")
            ana.waits_for("/waterline open", timeout=60)
            code = bot.end()
    lake.close()
    resources = [each for request in requests for each in request.resource_spans]
    names = {span.name for each in resources for scope in each.scope_spans for span in scope.spans}
    told = {each.key: each.value.string_value for resource in resources for each in resource.resource.attributes}

    assert code == 0
    assert any(name.startswith("slack ") for name in names)
    assert (told["service.name"], told["deployment.environment"]) == ("waterline", "trial")
