"""The severity chooses the policy, and nobody chooses that of their own proposal: as people meet it in the channel."""

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.ids import UserId
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually

BEN, CLEO = UserId("U0BEN00002"), UserId("U0CLEO0003")
WORST = ApprovalPolicy(users=(BEN, CLEO), required=2)


@pytest.fixture
def two_at_worst(bot: LittleBot, slack: Workspace) -> None:
    """At sev1 two people say yes, else one."""
    bot.close()
    eventually(lambda: slack.connected == 0)
    bot.policies = {"default/sev1": WORST}
    bot.start()
    eventually(lambda: slack.connected == 1)


@pytest.mark.usefixtures("two_at_worst")
def test_the_severity_is_confirmed_by_somebody_else(collected: SeenMessage, ana: Responder, ben: Responder) -> None:
    """Ana opened it, so her proposal needs two until Ben has confirmed how bad it is; a raise supersedes it then."""
    first = ana.proposes()
    confirmed = ben.asks("severity sev2 only one report reads it")
    ana.clicks("Reject…", first)
    ana.fills_reason("To propose it again.")
    ana.clicks("Propose anew", ana.sees_on_card("Propose anew"))
    second = ana.waits_for(lambda m: "Approve" in m.buttons, after=first)
    raised = ana.asks("severity sev1 finance reads it")
    ended = ana.sees_on_proposal("Superseded by")

    assert "Needs 2 approvals, not the proposer's." in first.plain
    assert "By the rules of sev1, for only the proposer calls it sev2" in first.plain
    assert "Confirmed: wl-1 is sev2." in confirmed
    assert "Needs 1 approval, not the proposer's." in second.plain
    assert "By the rules of" not in second.plain
    assert "waited by other rules and is superseded: propose it again." in raised
    assert "The incident is sev1 now, whose rules ask for other approvals. Propose again." in ended.plain
