"""A refusal says nothing of the try before it: what Slack may have taken is looked for, or marked, until it is sent."""

import pytest

from bot.domain.ids import IncidentId
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot, as_time_goes_on, nothing_waits, proposal_is_sent
from tests.slack.people import Responder, eventually


def proposals(ana: Responder) -> list[str]:
    """Every message that shows the proposal."""
    return [m.plain for m in ana.messages() if "What will happen" in m.plain]


def is_answered(slack: Workspace, method: str, error: str) -> bool:
    """Whether Slack has answered so."""
    return any(entry.error == error for entry in slack.wire("api", method))


@pytest.mark.parametrize("refusal", ["ratelimited", "invalid_auth"])
def test_what_was_found_is_found_again_after_a_refusal(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, refusal: str
) -> None:
    """Slack took the message and its answer was lost; then Slack refuses to have it brought up to date."""
    ana.asks("status")
    eventually(lambda: nothing_waits(bot))
    slack.faults.fails_after_effect("chat.postMessage", "internal_error")

    ana.clicks("Propose", collected)
    eventually(lambda: is_answered(slack, "chat.postMessage", "internal_error"))
    slack.faults.fails("chat.update", refusal)
    eventually(as_time_goes_on(bot, lambda: is_answered(slack, "chat.update", refusal)))
    eventually(as_time_goes_on(bot, lambda: proposal_is_sent(bot)))

    assert len(proposals(ana)) == 1


def test_what_nobody_can_look_for_is_marked_after_a_refusal_too(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The bot may not read history, and the repetition is refused for the moment."""
    ana.asks("status")
    eventually(lambda: nothing_waits(bot))
    slack.faults.fails_after_effect("chat.postMessage", "internal_error")
    slack.faults.fails("conversations.history", "missing_scope", times=9)

    ana.clicks("Propose", collected)
    eventually(lambda: is_answered(slack, "chat.postMessage", "internal_error"))
    slack.faults.ratelimits("chat.postMessage", retry_after_s=1)
    eventually(as_time_goes_on(bot, lambda: is_answered(slack, "chat.postMessage", "ratelimited")))
    eventually(as_time_goes_on(bot, lambda: proposal_is_sent(bot)))

    assert ["It counts once: wl-1/proposal/" in text for text in proposals(ana)] == [False, True]


def test_a_card_of_which_one_update_was_refused_shows_what_comes_after(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Slack takes no part of that revision; the message stands there, and the next one may be fine."""
    eventually(lambda: nothing_waits(bot))
    slack.faults.fails("chat.update", "invalid_blocks")
    bot.services.desk.run_now(IncidentId("wl-1"), "duplicate_rows")
    eventually(lambda: is_answered(slack, "chat.update", "invalid_blocks"))
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))

    ana.proposes()

    eventually(as_time_goes_on(bot, lambda: "Proposal: proposed" in ana.card.plain))
