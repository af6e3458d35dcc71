"""Who may decide about a proposal, how often, until when; and that every click is answered."""

import json
from datetime import timedelta

import pytest
from slack_sdk import WebClient

from bot.domain.approval import ApprovalPolicy
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId, UserId
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder

BEN, CLEO = UserId("U0BEN00002"), UserId("U0CLEO0003")


@pytest.fixture
def proposed(collected: SeenMessage, ana: Responder) -> SeenMessage:
    """A rewind that Ana proposed."""
    return ana.proposes()


def state(bot: LittleBot) -> ProposalState:
    """Of the newest proposal."""
    view = bot.services.store.get(IncidentId("wl-1")).current_proposal
    assert view is not None
    return view.state


def test_the_evidence_is_cited_by_the_titles_of_the_card(proposed: SeenMessage) -> None:
    """Whoever approves has read of “Restore points”, never of `checkpoint_pairing`."""
    told = proposed.plain.partition("Evidence:")[2].partition("\n")[0]

    assert "Restore points (confirmed)" in told
    assert "_" not in told


def test_the_proposer_is_told_whom_to_ask(proposed: SeenMessage, ana: Responder, bot: LittleBot) -> None:
    """The proposer never approves."""
    answer = ana.answer_to(lambda: ana.clicks("Approve", proposed))

    assert "You proposed this" in answer
    assert "orders-approvers" in answer
    assert state(bot) is ProposalState.PROPOSED


@pytest.mark.smoke
def test_an_outsider_may_look_and_not_decide(proposed: SeenMessage, finn: Responder, bot: LittleBot) -> None:
    """Who is not in the group sees everything, and neither approves, rejects nor carries out."""
    approving = finn.answer_to(lambda: finn.clicks("Approve", proposed))
    finn.clicks("Reject…", proposed)
    rejecting = finn.answer_to(lambda: finn.fills_reason("I do not like it."))

    assert "You are not an approver" in approving
    assert "You are not an approver" in rejecting
    assert "orders-approvers" in rejecting
    assert state(bot) is ProposalState.PROPOSED


@pytest.mark.smoke
def test_one_approval_is_enough_and_the_second_click_is_told_so(
    proposed: SeenMessage, ben: Responder, cleo: Responder, bot: LittleBot
) -> None:
    """Whoever clicks later, on the old message too, hears who approved and when."""
    first = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    again = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    late = cleo.answer_to(lambda: cleo.clicks("Approve", proposed))

    assert "Approved." in first
    assert "is approved already. It was approved by @Ben Okafor at" in again
    assert "is approved already. It was approved by @Ben Okafor at" in late
    assert state(bot) is ProposalState.APPROVED
    assert len(bot.services.store.get(IncidentId("wl-1")).proposals) == 1


@pytest.mark.smoke
def test_a_rejection_needs_a_reason_and_shows_it(
    proposed: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """The message shows who rejected, when and why; a new proposal can be made."""
    ben.clicks("Reject…", proposed)
    without = ben.answer_to(lambda: ben.fills_reason("   "))
    ben.clicks("Reject…", proposed)
    ben.fills_reason("Ask the job's owners first.")
    rejected = ana.sees_on_proposal("Rejected by @Ben Okafor at")

    assert "A rejection needs a reason." in without
    assert "Ask the job's owners first." in rejected.plain
    assert rejected.buttons == ()
    assert "Propose again" in ana.sees_on_card("Propose again").buttons


@pytest.mark.smoke
def test_an_expired_proposal_says_so_and_can_be_proposed_anew(
    proposed: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """A click after the term does not count, and the message shows that it is over."""
    bot.clock.advances(timedelta(minutes=30))

    answer = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    bot.services.duties.settle_all()
    expired = ana.sees_on_proposal("Expired")
    ana.clicks("Propose again", ana.sees_on_card("Propose again"))
    anew = ana.waits_for(lambda m: "Approve" in m.buttons, after=expired)

    assert "expired at" in answer
    assert expired.buttons == ()
    assert anew.ts != proposed.ts


def test_a_click_does_not_count_while_the_group_cannot_be_read(
    proposed: SeenMessage, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Who could not be looked up has not approved; later the same person's click counts."""
    slack.faults.fails("usergroups.users.list", "internal_error")
    unread = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    before = state(bot)
    later = ben.answer_to(lambda: ben.clicks("Approve", proposed))

    assert "so your click cannot count" in unread
    assert before is ProposalState.PROPOSED
    assert "Approved." in later


@pytest.mark.parametrize("policy", [ApprovalPolicy(users=(BEN, CLEO), required=2)])
def test_two_of_two_must_approve(proposed: SeenMessage, ben: Responder, cleo: Responder, bot: LittleBot) -> None:
    """One person counts once; the second person completes it."""
    first = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    twice = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    between = state(bot)
    second = cleo.answer_to(lambda: cleo.clicks("Approve", proposed))

    assert "Your approval counts. It needs 1 more approval. Ask @Cleo Marsh." in first
    assert "You have already approved this" in twice
    assert between is ProposalState.PROPOSED
    assert "Approved." in second
    assert state(bot) is ProposalState.APPROVED


def test_an_approval_of_another_content_is_refused(
    proposed: SeenMessage, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The button carries the digest of what was shown; a message that shows something else does not approve."""
    blocks = json.loads(json.dumps(proposed.blocks))
    rows = [block["elements"] for block in blocks if block["type"] == "actions"]
    button = next(each for row in rows for each in row if each["text"]["text"] == "Approve")
    button["value"] = button["value"].rsplit("/", 1)[0] + "/" + "0" * 64
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    client.chat_update(channel=proposed.channel, ts=proposed.ts, blocks=blocks, text="Less will happen")

    answer = ben.answer_to(lambda: ben.clicks("Approve", ben.proposal))

    assert "You saw an older version" in answer
    assert state(bot) is ProposalState.PROPOSED
