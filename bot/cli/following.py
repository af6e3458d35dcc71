"""What a terminal shows while an examination runs, and how Ctrl-C ends it."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from typing import TypeVar

import typer
from rich.console import Console

from bot.service.examining import Examiner
from bot.service.examining_course import Course

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells know it."""
_AGAIN_AFTER_S = 0.3
_ENDING = "Ending what runs on Spark …"
_ENDED = "Cancelled. What ran on Spark was ended, and nothing was changed."
Answer = TypeVar("Answer")


def followed(examiner: Examiner, ask: Callable[[Course], Answer], console: Console | None = None) -> Answer:
    """The answer of `ask`. A terminal at stderr is shown how far it is; stdout is left to the answer.

    The work has a thread of its own, so that Ctrl-C reaches the one that waits and no query half sent. It then ends
    with exit code 130, once what runs on Spark is interrupted. Raises what `ask` raises.
    """
    told = console or Console(stderr=True, highlight=False)
    status = told.status(Course().words) if told.is_terminal else None
    course = Course(lambda: status.update(_line(course)) if status is not None else None)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="examination") as pool:
        with status if status is not None else nullcontext():
            work = pool.submit(ask, course)
            try:
                while not wait([work], _AGAIN_AFTER_S).done:
                    pass
                return work.result()
            except KeyboardInterrupt:
                if status is not None:
                    status.update(_ENDING)
                _end(examiner, course, work)
        told.print(_ENDED)
        raise typer.Exit(INTERRUPTED)


def _end(examiner: Examiner, course: Course, work: Future[Answer]) -> None:
    """Interrupts until the work has ended: a task that is just beginning is not known to Spark yet. What reads Flink
    or storage has a time limit of its own."""
    while True:
        examiner.cancel(course)
        if wait([work], _AGAIN_AFTER_S).done:
            return


def _line(course: Course) -> str:
    return course.words.replace("[", r"\[")
