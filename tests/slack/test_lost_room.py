"""The incident's own channel is archived, or the bot is removed from it: nothing is lost, all are answered."""

from datetime import timedelta

import pytest

from bot.domain.ids import IncidentId
from bot.workspace import SeenMessage, Workspace
from bot.workspace.refusal import CannotDo
from tests.slack.little_bot import LittleBot, as_time_goes_on, nothing_waits
from tests.slack.people import ONCALL, Responder, eventually, is_card

WL = IncidentId("wl-1")
TO_ANA, TO_BEN, TO_DANA = "D0ANA00001", "D0BEN00002", "D0DANA0004"


def shut(slack: Workspace, how: str) -> None:
    """The channel takes no message of the bot any more."""
    if how == "archived":
        slack.faults.archives(ONCALL)
    else:
        slack.faults.removes(ONCALL)


def opened_again(slack: Workspace, how: str) -> None:
    """Somebody does what was asked."""
    if how == "archived":
        slack.world.directory.archive(slack.world.directory.channel(ONCALL).id, archived=False)
    else:
        slack.faults.adds(ONCALL)


def direct(person: Responder, room: str) -> list[SeenMessage]:
    """What the bot has written to this person alone."""
    try:
        return person.messages(room)
    except CannotDo:  # there is no such conversation before its first message
        return []


def is_told(person: Responder, room: str, text: str) -> SeenMessage:
    """Waits for the direct message."""
    eventually(lambda: any(text in message.plain for message in direct(person, room)))
    return next(message for message in direct(person, room) if text in message.plain)


@pytest.mark.parametrize("how", ["archived", "removed"])
def test_messages_wait_for_the_channel_and_come_when_it_is_back(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, how: str
) -> None:
    """Once each, in the card's thread; the record says nothing of it."""
    eventually(lambda: nothing_waits(bot))
    before = len(ana.card.replies)
    shut(slack, how)
    bot.services.desk.run_now(WL, "duplicate_rows")
    bot.services.desk.run_now(WL, "missing_positions")
    eventually(lambda: any(e.error in {"is_archived", "not_in_channel"} for e in slack.wire("api")))
    written = len(bot.services.store.get(WL).entries)
    bot.clock.advances(timedelta(minutes=1))

    opened_again(slack, how)
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))

    [card] = [message for message in ana.messages() if is_card(message)]
    new = [reply.plain for reply in card.replies][before:]
    assert [1, 1] == [sum(title in plain for plain in new) for title in ("Duplicate rows", "Missing positions")]
    assert written == len(bot.services.store.get(WL).entries)
    assert direct(ana, TO_ANA) == []


def test_who_types_a_command_where_the_bot_cannot_write_is_answered_directly(
    collected: SeenMessage, ana: Responder, slack: Workspace
) -> None:
    """A click or a command is never without an answer."""
    shut(slack, "removed")

    ana.types("/waterline status")

    told = is_told(ana, TO_ANA, "I cannot write in")
    assert "wl-1 sales.orders" in told.plain


def test_the_channel_of_a_closed_incident_may_be_archived(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """That is what people do with it: nobody is told, and nothing waits for ever."""
    ana.asks("close anyway, it was a test")
    ana.sees("Closed by")
    shut(slack, "archived")

    bot.services.store.write(WL, by="U0ANA00001", decide=lambda now: [now.entries[1].body])
    eventually(lambda: any(e.error == "is_archived" for e in slack.wire("api")) and nothing_waits(bot))

    assert direct(ana, TO_ANA) == []
