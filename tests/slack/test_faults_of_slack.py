"""Slack repeats itself, drops connections, refuses and forgets; nothing is lost and nothing is done twice."""

import pytest

from bot.domain.ids import IncidentId
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot, as_time_goes_on, nothing_waits, proposal_is_sent
from tests.slack.people import ONCALL, Responder, eventually

WL = IncidentId("wl-1")


def notes(bot: LittleBot) -> int:
    """How many remarks the record holds."""
    return sum(entry.body.kind == "note-added" for entry in bot.services.store.get(WL).entries)


def test_a_redelivered_command_is_one_command(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The same delivery again, at once or later, does nothing."""
    slack.faults.doubles_deliveries()

    ana.asks("note it began at nine")
    slack.faults.redelivers()
    ana.asks("status")

    assert notes(bot) == 1
    assert sum("Noted in wl-1." in m.plain for m in ana.messages()) == 1


def test_a_redelivered_click_is_one_click(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """One trigger, delivered three times: one proposal, no second answer."""
    slack.faults.doubles_deliveries()

    ana.clicks("Propose", collected)
    ana.sees_on_proposal("Approve")
    again = slack.faults.redelivers()
    ana.asks("status")

    assert again == "acked"
    assert len(bot.services.store.get(WL).proposals) == 1
    assert sum("waiting for approval already" in m.plain for m in ana.messages()) == 0


def test_a_double_click_is_done_once_and_answered(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Two clicks with two triggers are two requests: the second one is told that it is done already."""
    slack.faults.doubles_clicks()

    answer = ana.answer_to(lambda: ana.clicks("Propose", collected))

    assert "Another proposal is waiting for approval." in answer
    assert len(bot.services.store.get(WL).proposals) == 1


def test_a_dropped_socket_comes_back(collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace) -> None:
    """After the connection was reset the bot connects again, when some pings were in vain, and answers."""
    bot.ping_s = 1.0
    bot.restart()
    eventually(lambda: slack.connected == 1)

    slack.faults.drops_sockets()
    eventually(lambda: slack.connected == 1)

    assert "wl-1 sales.orders" in ana.asks("status")


def test_rate_limits_lose_nothing_and_keep_the_order(ana: Responder, bot: LittleBot, slack: Workspace) -> None:
    """429 with Retry-After pauses the channel; what waits comes later, in its order, once."""
    slack.faults.ratelimits("chat.postMessage", times=2, retry_after_s=1)

    card = ana.opens()
    ana.clicks("Run evidence", card)
    ana.sees("Pinned to head")

    replies = [m.plain for m in ana.card.replies]
    assert "under review" in replies[0]
    assert "Commit history: confirmed" in replies[1]
    assert len(replies) == len(set(replies))
    limited = [entry for entry in slack.wire("api", "chat.postMessage") if entry.error == "ratelimited"]
    assert len(limited) == 2


def test_a_card_that_was_deleted_comes_back_with_the_next_change(
    collected: SeenMessage, ana: Responder, slack: Workspace
) -> None:
    """An incident is never without its card: it is posted anew, once, with its buttons."""
    slack.faults.deletes(ONCALL, collected.ts)

    ana.asks("note somebody deleted the card")
    anew = ana.sees_on_card("Propose")
    ana.asks("note and it is there again")
    ana.sees("and it is there again")

    assert anew.ts != collected.ts
    assert sum("Add a note…" in m.buttons for m in ana.messages()) == 1


def test_a_card_that_was_edited_is_right_again_with_the_next_change(
    collected: SeenMessage, ana: Responder, slack: Workspace
) -> None:
    """What somebody wrote over the bot's words stands only until the bot speaks again, on the same message."""
    slack.faults.edits(ONCALL, collected.ts, "All is well, nothing to do.")

    ana.asks("note somebody edited the card")
    again = ana.sees_on_card("Propose")

    assert again.ts == collected.ts
    assert "All is well" not in again.plain


def test_a_form_that_is_submitted_too_late_is_answered(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """The incident was closed while somebody was writing: they hear it, and the record of it stays as it was."""
    ana.clicks("Add a note…", collected)
    ana.fills({"reason": "It began at nine."})
    ben.asks("assign")
    ben.asks("close anyway, it was a test")
    before = bot.services.store.get(WL).entries

    answer = ana.answer_to(ana.submits)

    assert "Incident wl-1 is closed." in answer
    assert bot.services.store.get(WL).entries == before


def test_a_form_that_was_open_over_a_restart_is_taken(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Nothing of a form lives in the bot: what was written before it was restarted counts."""
    ana.clicks("Add a note…", collected)
    ana.fills({"reason": "It began at nine."})

    bot.restart()
    eventually(lambda: slack.connected == 1)
    ana.submits()
    eventually(lambda: notes(bot) > 0)

    assert notes(bot) == 1


@pytest.mark.parametrize("how", ["archived", "removed"])
def test_a_notice_that_cannot_arrive_is_seen_in_the_incident(
    ana: Responder, eli: Responder, bot: LittleBot, slack: Workspace, how: str
) -> None:
    """A consumer whose channel does not take the warning is named in the incident; the others are told."""
    if how == "archived":
        slack.faults.archives("revenue-analytics")
    else:
        slack.faults.removes("revenue-analytics")
    ana.opens_form()
    ana.submits()
    ana.reads_form()

    ana.submits()
    eli.sees("under review", "fraud-ml")
    failed = ana.sees("for revenue_daily could not be delivered")

    assert ("is_archived" if how == "archived" else "not_in_channel") in failed.plain
    ended = {v.notice.consumer: v.ended.how for v in bot.services.store.get(WL).notices.values() if v.ended}
    assert ended["revenue_daily"] == "failed"


def test_messages_wait_while_the_token_is_revoked(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """A revoked token is no reason to forget a message: it is sent when the token is good again."""
    slack.faults.revokes_token()
    ana.types("/waterline run duplicate_rows")
    eventually(lambda: bot.services.store.get(WL).latest.get("duplicate_rows") is not None)
    eventually(lambda: any(e.error == "token_revoked" for e in slack.wire("api")))

    slack.faults.disarms()
    eventually(as_time_goes_on(bot, lambda: any("Running duplicate_rows" in m.plain for m in ana.messages())))

    assert ana.sees("Running duplicate_rows").is_ephemeral


def test_an_answer_that_was_lost_is_not_sent_twice(
    collected: SeenMessage, ana: Responder, slack: Workspace, bot: LittleBot
) -> None:
    """Slack took the message and answered with an error: it is found again instead of being posted anew."""
    ana.asks("status")
    eventually(lambda: nothing_waits(bot))
    slack.faults.fails_after_effect("chat.postMessage", "internal_error")

    ana.clicks("Propose", collected)
    eventually(lambda: any(e.error == "internal_error" for e in slack.wire("api", "chat.postMessage")))
    eventually(as_time_goes_on(bot, lambda: proposal_is_sent(bot)))

    assert sum("What will happen" in m.plain for m in ana.messages()) == 1


def test_a_message_that_may_be_there_twice_says_so(
    collected: SeenMessage, ana: Responder, slack: Workspace, bot: LittleBot
) -> None:
    """Without the right to read history nobody can look: the repetition names itself by its key."""
    ana.asks("status")
    eventually(lambda: nothing_waits(bot))
    slack.faults.fails_after_effect("chat.postMessage", "internal_error")
    slack.faults.fails("conversations.history", "missing_scope", times=5)

    ana.clicks("Propose", collected)
    eventually(lambda: any(e.error == "internal_error" for e in slack.wire("api", "chat.postMessage")))
    eventually(as_time_goes_on(bot, lambda: proposal_is_sent(bot)))

    shown = [m.plain for m in ana.messages() if "What will happen" in m.plain]
    assert len(shown) == 2
    assert ["It counts once: wl-1/proposal/" in text for text in shown] == [False, True]
