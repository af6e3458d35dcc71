"""Ends a server beside the next test."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def ended_aside(opened: AbstractContextManager[T]) -> Iterator[T]:
    """What is entered, left in a thread of its own: uvicorn takes two tenths of a second to end, in which it only
    waits. For what the next test has one of its own of; the process does not end before it has."""
    yield opened.__enter__()
    threading.Thread(target=opened.__exit__, args=(None, None, None), name="ends-aside").start()
