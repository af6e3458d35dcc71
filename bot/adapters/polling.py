"""Asks again and again until there is an answer, for so long."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def polled(ask: Callable[[], T | None], limit_s: float, every_s: float) -> T | None:
    """The first answer that is not None; None where there was none within the limit. Asks at least once; what `ask`
    raises ends it."""
    ends = time.monotonic() + limit_s
    while True:
        answer = ask()
        if answer is not None or time.monotonic() >= ends:
            return answer
        time.sleep(every_s)
