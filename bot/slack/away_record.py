"""Waits for a record that is away; says so once."""

import time

import structlog

from bot.domain.errors import CouldNotKeep

log = structlog.get_logger(__name__)
_AGAIN_S = 0.5
"""Between two tries to read or write a record that is away."""


class AwayRecord:
    """Of one thread."""

    def __init__(self, who: str) -> None:
        """`who` waits."""
        self._who = who
        self._is_away = False

    def wait(self, away: CouldNotKeep) -> None:
        """It could not be read or written now."""
        if not self._is_away:
            log.warning(f"{self._who} waits for the record", problem=str(away))
        self._is_away = True
        time.sleep(_AGAIN_S)

    def is_back(self) -> None:
        """It was read or written; that it is away is said anew next time."""
        self._is_away = False
