"""A command that was typed for an earlier incident of the channel, and comes late, does nothing to the next one."""

import json
from datetime import timedelta

import pytest

from bot.domain.entries import NoteAdded
from bot.ports import Delivery
from bot.slack.requests import SENT_AT
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder

CHANNEL = "C0ONCALL01"


def arrives(bot: LittleBot, ana: Responder, text: str, *, stored: timedelta, sent: timedelta | None = None) -> None:
    """A command is in the inbox, stored and sent so long after the incident was opened; `sent` None: nobody tells."""
    [incident] = bot.services.store.all()
    opened = incident.opened_at
    body = {
        "command": "/waterline", "text": text, "user_id": ana.id, "channel_id": incident.opened.channel,
        "trigger_id": f"1.2.{text}",
    }  # fmt: skip
    if sent is not None:
        body[SENT_AT] = str(int((opened + sent).timestamp()))
    key = f"command/{text}"
    bot.store.inbox.put(Delivery(key=key, kind="command", payload=json.dumps(body), received_at=opened + stored))


def notes(bot: LittleBot) -> list[str]:
    """What was put on record by hand."""
    [incident] = bot.services.store.all()
    return [entry.body.text for entry in incident.entries if isinstance(entry.body, NoteAdded)]


LATE, AT_ONCE = timedelta(seconds=30), timedelta(seconds=1)


@pytest.mark.parametrize(
    ("stored", "sent"), [(LATE, -LATE), (-LATE, None)], ids=["sent before, over HTTP", "waited in the inbox"]
)
def test_it_is_refused_with_both_times(
    bot: LittleBot, ana: Responder, stored: timedelta, sent: timedelta | None
) -> None:
    """Whoever typed it is told, and may type it again."""
    ana.opens()

    answer = ana.answer_to(lambda: arrives(bot, ana, "note Duplicates again.", stored=stored, sent=sent))

    assert "typed before wl-1 was opened here" in answer
    assert "If you mean wl-1, type it again." in answer
    assert notes(bot) == []


@pytest.mark.parametrize("sent", [LATE, -AT_ONCE, None], ids=["after", "clocks differ by a second", "not told"])
def test_what_was_typed_since_is_done(bot: LittleBot, ana: Responder, sent: timedelta | None) -> None:
    """Clocks differ a little, and Socket Mode tells no time."""
    ana.opens()

    answer = ana.answer_to(lambda: arrives(bot, ana, "note Seen.", stored=LATE, sent=sent))

    assert "Noted in wl-1." in answer
    assert notes(bot) == ["Seen."]
