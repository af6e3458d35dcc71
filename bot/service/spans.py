"""Spans of the service, and how work in another thread stays in the span of who asked for it."""

from collections.abc import Callable
from typing import ParamSpec

from opentelemetry import context, trace

TRACER = trace.get_tracer("waterline")
_Given = ParamSpec("_Given")


def in_this_span(do: Callable[_Given, None]) -> Callable[_Given, None]:
    """The same, for another thread. Only the span goes along: what a thread writes is tied to its own delivery."""
    here = context.get_current()

    def within(*args: _Given.args, **named: _Given.kwargs) -> None:
        token = context.attach(here)
        try:
            do(*args, **named)
        finally:
            context.detach(token)

    return within
