"""Asks Slack, and goes on without its answer after a moment: these pages are needed most while Slack is away."""

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLong
from typing import Any, TypeVar

from bot.domain.errors import CouldNotLook

_PATIENCE_S = 2.0
T = TypeVar("T")


class Promptly:
    """One question of a kind is under way at a time, in a thread that nobody has to wait for."""

    def __init__(self, patience_s: float = _PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._asked: dict[Hashable, Future[Any]] = {}

    def ask(self, key: Hashable, do: Callable[[], T]) -> T | None:
        """What `do` returns; None where it takes too long, or could not look. Who asks with the same `key` meanwhile is
        given the same answer."""
        with self._lock:
            under_way = self._asked.get(key)
            if under_way is None:
                under_way = self._asked[key] = Future()
                threading.Thread(target=self._fill, args=(under_way, key, do), name="asks-slack", daemon=True).start()
        answer: Future[T] = under_way
        try:
            return answer.result(timeout=self._patience_s)
        except (TookTooLong, CouldNotLook):
            return None

    def names(
        self, names: Callable[[Iterable[str]], Mapping[str, str]]
    ) -> Callable[[Iterable[str]], Mapping[str, str]]:
        """The same names, or none of them."""

        def of(users: Iterable[str]) -> Mapping[str, str]:
            asked = tuple(users)
            return self.ask(("names", asked), lambda: names(asked)) or {}

        return of

    def _fill(self, answer: Future[T], key: Hashable, do: Callable[[], T]) -> None:
        try:
            found = do()
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits, where it is raised
            self._ended(key)
            answer.set_exception(error)
        else:
            self._ended(key)
            answer.set_result(found)

    def _ended(self, key: Hashable) -> None:
        with self._lock:
            del self._asked[key]
