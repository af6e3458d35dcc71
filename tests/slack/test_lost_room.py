"""The incident's own channel is archived, or the bot is removed from it: people are told, and nothing is lost."""

from datetime import timedelta

import pytest

from bot.domain.entries import RoomLost, RoomReturned
from bot.domain.ids import IncidentId
from bot.workspace import SeenMessage, Workspace
from bot.workspace.refusal import CannotDo
from tests.slack.little_bot import LittleBot, as_time_goes_on, nothing_waits
from tests.slack.people import ONCALL, Responder, eventually, is_card

WL = IncidentId("wl-1")
_A_MINUTE = timedelta(minutes=1)
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


def is_told(person: Responder, room: str, text: str = "I cannot write into the channel of wl-1") -> SeenMessage:
    """Waits for the direct message."""
    eventually(lambda: any(text in message.plain for message in direct(person, room)))
    return next(message for message in direct(person, room) if text in message.plain)


def shows_the_proposal(card: SeenMessage) -> bool:
    """Whether a card is at the present step."""
    return "Proposal: proposed" in card.plain


def noted(bot: LittleBot) -> list[str]:
    """What the record says of the channel."""
    entries = bot.services.store.get(WL).entries
    return [entry.body.kind for entry in entries if isinstance(entry.body, RoomLost | RoomReturned)]


@pytest.mark.parametrize("how", ["archived", "removed"])
def test_responder_and_approvers_are_told_and_everything_comes_when_the_channel_is_back(
    collected: SeenMessage, ana: Responder, ben: Responder, dana: Responder, bot: LittleBot, slack: Workspace, how: str
) -> None:
    """Who responds and who decides hear it once, by direct message, with what to do; the card is posted anew."""
    ana.proposes()
    before = sum(is_card(m) for m in ana.messages())
    shut(slack, how)

    bot.services.desk.run_now(WL, "duplicate_rows")
    bot.services.desk.run_now(WL, "missing_positions")
    told = is_told(ana, TO_ANA)
    is_told(ben, TO_BEN)
    bot.clock.advances(_A_MINUTE)
    opened_again(slack, how)
    eventually(as_time_goes_on(bot, lambda: sum(is_card(m) for m in ana.messages()) == before + 1))

    assert ("Unarchive" if how == "archived" else "Invite me again") in told.plain
    assert "A proposal is proposed, and expires at" in told.plain
    assert noted(bot) == ["room-lost", "room-returned"]
    assert len(direct(ana, TO_ANA)) == 1
    assert direct(dana, TO_DANA) == []
    first = ana.messages()[[is_card(m) for m in ana.messages()].index(True)]
    eventually(lambda: any("Duplicate rows" in reply.plain for reply in first.replies))
    assert shows_the_proposal(ana.card)


def test_the_card_that_was_posted_anew_goes_on_as_the_first_does(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Both show the present step; the thread stays with the first."""
    shut(slack, "removed")
    bot.services.desk.run_now(WL, "duplicate_rows")
    is_told(ana, TO_ANA)
    opened_again(slack, "removed")
    eventually(as_time_goes_on(bot, lambda: sum(is_card(m) for m in ana.messages()) == 2))

    ana.proposes()
    eventually(lambda: all(shows_the_proposal(m) for m in ana.messages() if is_card(m)))

    assert [True, True] == [shows_the_proposal(m) for m in ana.messages() if is_card(m)]


def test_who_types_a_command_where_the_bot_cannot_write_is_answered_directly(
    collected: SeenMessage, ana: Responder, slack: Workspace
) -> None:
    """A click or a command is never without an answer."""
    shut(slack, "removed")

    ana.types("/waterline status")

    told = is_told(ana, TO_ANA, "I cannot write (invite me there")
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

    assert noted(bot) == []
    assert direct(ana, TO_ANA) == []


@pytest.mark.parametrize("between", ["ratelimited", "internal_error", "invalid_auth"])
def test_the_channel_is_back_whatever_came_between(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, between: str
) -> None:
    """Some other obstacle delays the first message after it: that the channel was lost is not forgotten over it, and
    who types a command there is answered there."""
    shut(slack, "removed")
    bot.services.desk.run_now(WL, "duplicate_rows")
    is_told(ana, TO_ANA)

    opened_again(slack, "removed")
    slack.faults.fails("chat.postMessage", between)
    eventually(as_time_goes_on(bot, lambda: any(e.error == between for e in slack.wire("api"))))
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))

    assert noted(bot) == ["room-lost", "room-returned"]
    assert "wl-1 sales.orders" in ana.asks("status")


def test_an_update_of_an_old_message_is_no_sign_that_the_channel_is_back(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Slack lets a bot that was removed change what it wrote before."""
    shut(slack, "removed")
    bot.services.desk.run_now(WL, "duplicate_rows")
    is_told(ana, TO_ANA)

    updates = len(slack.wire("api", "chat.update"))
    bot.services.desk.run_now(WL, "missing_positions")
    eventually(as_time_goes_on(bot, lambda: len(slack.wire("api", "chat.update")) > updates))

    assert noted(bot) == ["room-lost"]
    assert len(direct(ana, TO_ANA)) == 1
