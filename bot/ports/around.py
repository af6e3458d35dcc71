"""Who is there, and what time it is."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from bot.observation.ids import UserId


class Directory(Protocol):
    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        """Everyone in any of these user groups, read now. Raises CouldNotLook."""

    def absent(self, users: Iterable[UserId]) -> frozenset[UserId]:
        """Those of them who are deactivated or unknown now. Raises CouldNotLook."""


class Clock(Protocol):
    """The time, so that tests need not wait."""

    def now(self) -> datetime:
        """Aware, UTC."""


class Timers(Protocol):
    """Things to do later. Late is better than lost: rebuilt from the journal at start."""

    def at(self, key: str, when: datetime, do: Callable[[], None]) -> None:
        """Call `do` at `when` (at once if past); the same key replaces an earlier one."""

    def every(self, key: str, seconds: float, do: Callable[[], None]) -> None:
        """Call `do` again and again."""
