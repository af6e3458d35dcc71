"""An incident whose consumers were promised word, the time that passes, and what was reminded of."""

from datetime import datetime, timedelta

import pytest

from bot.incident.entries import PromiseReminded
from bot.observation.ids import IncidentId
from bot.workspace import Workspace
from tests.slack.people import Responder
from tests.watch.watching_bot import WatchingBot

ONE = IncidentId("wl-1")


@pytest.fixture
def ben(slack: Workspace, bot: WatchingBot) -> Responder:
    """Comes on duty later."""
    return Responder(slack.url, slack.person("ben").person)


@pytest.fixture
def warned(ana: Responder, bot: WatchingBot) -> datetime:
    """wl-1 is open, and consumers were promised word within 30 minutes; when they were."""
    ana.opens_and_warns()
    ana.sees_on_card(":mega: fraud_model")
    return max(view.queued_at for view in bot.services.store.get(ONE).notices.values())


def reminded(bot: WatchingBot) -> list[str]:
    """Kinds of entries about promises, in order."""
    kinds = (entry.body.kind for entry in bot.services.store.get(ONE).entries)
    return [kind for kind in kinds if kind.startswith("promise-")]


def comes(bot: WatchingBot, minutes: float) -> None:
    """Time passes, and every replica looks what is due."""
    bot.clock.advances(timedelta(minutes=minutes))
    for _ in range(2):
        bot.services.reconciler._remind(ONE)


def of_kind(bot: WatchingBot, what: str) -> list[PromiseReminded]:
    """The reminders of one kind, in order."""
    bodies = (entry.body for entry in bot.services.store.get(ONE).entries)
    return [body for body in bodies if isinstance(body, PromiseReminded) and body.what == what]
