"""A notice that waited in the outbox while something newer was said is not posted into the consumer's channel."""

import pytest

from bot.domain.entries import Body, NoticeQueued
from bot.domain.ids import IncidentId
from bot.domain.journal import WATERLINE
from bot.domain.notice import Notice
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually
from tests.slack.test_restart import REVENUE, ends

pytestmark = pytest.mark.slow

WL = IncidentId("wl-1")


def notice(kind: str) -> Body:
    """To revenue_daily, in Slack."""
    text = f"This is {kind}."
    return NoticeQueued(notice=Notice(kind=kind, revision=1, consumer="revenue_daily", channel="C0REVENUE2", text=text))


def test_only_what_still_holds_is_posted(ana: Responder, dana: Responder, bot: LittleBot) -> None:
    """The bot was down while an all-clear waited for Slack, and the table came under review again."""
    ana.opens()
    eventually(lambda: bot.services.store.get(WL).waterline is not None)
    bot.close()
    back = bot.services.store.get(WL).waterline
    assert back is not None
    bodies = (back.model_copy(update={"status": "trusted"}), notice("recovered"), back, notice("correction"))
    for body in bodies:
        _says(bot, body)

    bot.start()
    dana.sees("This is correction.", REVENUE)
    eventually(lambda: ends(bot) == ["overtaken", "delivered"])

    assert ["This is correction."] == [message.plain.split("\n")[0] for message in dana.messages(REVENUE)]
    ana.sees("is not sent in Slack (C0REVENUE2)")


def _says(bot: LittleBot, body: Body) -> None:
    bot.services.store.write(WL, by=WATERLINE, decide=lambda _now: [body])
