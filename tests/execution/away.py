"""Sources that do not answer, a clock that goes on, and what the record says of the wait."""

from datetime import datetime, timedelta
from typing import Any

from bot.adapters.clock import SystemClock
from bot.incident.entries import EffectStarted, NoteAdded
from bot.observation.errors import CommitRefused, CouldNotLook
from tests.execution.scene import Scene

LATE = CommitRefused("Table sales.orders was not changed: somebody was first.", "", "")
AWAY = CouldNotLook("It was asked, and did not answer.", "", "")


class Later:
    """A clock that is ahead."""

    def now(self) -> datetime:
        return SystemClock().now() + timedelta(hours=2)


def away(*_asked: Any, **_named: Any) -> Any:
    """A source that is down."""
    raise AWAY


def intents(scene: Scene) -> list[int]:
    """Of which effects, in the order of the record."""
    entries = scene.store.get(scene.incident).entries
    return [entry.body.index for entry in entries if isinstance(entry.body, EffectStarted)]


def notes(scene: Scene) -> list[str]:
    """What was noted for people."""
    entries = scene.store.get(scene.incident).entries
    return [entry.body.text for entry in entries if isinstance(entry.body, NoteAdded)]
