"""Sends OpenTelemetry spans where the standard environment variables say; without them there are none."""

import os
from contextlib import ExitStack

from opentelemetry import trace

from bot.observation.errors import BadConfiguration

_WHERE = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def send_spans(stack: ExitStack) -> None:
    """By OTLP over HTTP, until `stack` closes; what is not sent by then is sent first. Raises BadConfiguration where
    the packages for it are missing."""
    where = next((name for name in _WHERE if os.environ.get(name)), None)
    if where is None:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as missing:
        raise BadConfiguration(
            f"{where} is set, and spans cannot be sent.",
            f"Expected OpenTelemetry's SDK and its exporter; found: {missing}.",
            "Install waterline[traces], or unset the variable.",
        ) from missing
    os.environ.setdefault("OTEL_SERVICE_NAME", "waterline")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    stack.callback(provider.shutdown)
