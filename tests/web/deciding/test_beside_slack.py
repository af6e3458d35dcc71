"""A decision on the page, as the people in the incident's channel see it."""

from pathlib import Path

import pytest
from slack_sdk import WebClient

from bot.domain.approval import ApprovalPolicy
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId, UserId
from bot.service.record import Records
from bot.settings import WebSettings
from bot.slack.directory import RecentMembers, SlackDirectory
from bot.web.access import Access
from bot.web.app import web_app
from bot.web.decider import Decider
from bot.web.own_forms import OwnForms
from bot.web.proposal_pages import Decisions
from bot.web.server import serving
from bot.workspace import SeenMessage, Workspace
from tests.hanging_up import hang_up
from tests.slack.conftest import ana, ben, bot, collected, consumers, folder, looks_first, slack, stages
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder
from tests.web.conftest import CONTENT
from tests.web.deciding.world import SIGNED_WITH, Person

__all__ = ["ana", "ben", "bot", "collected", "consumers", "folder", "hang_up", "looks_first", "slack", "stages"]
BEN, CLEO = UserId("U0BEN00002"), UserId("U0CLEO0003")
WEB = WebSettings(identity_header="X-Forwarded-Email", people={"ben@acme.example": BEN, "cleo@acme.example": CLEO})


@pytest.mark.parametrize("policy", [ApprovalPolicy(users=(BEN, CLEO), required=2)])
def test_a_yes_in_slack_and_one_on_the_page_are_two_and_the_message_says_where(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """One person's two are one. The message offers at once to carry it out, and shows what is done from the page."""
    ana.proposes()
    ben.clicks("Approve", ben.sees_on_proposal("Approve"))
    ben.sees_on_proposal("Approved by @Ben Okafor at")
    view = bot.services.store.get(IncidentId("wl-1")).current_proposal
    assert view is not None
    members = RecentMembers(SlackDirectory(WebClient(slack.bot_token, base_url=slack.api_url)), bot.clock)
    decisions = Decisions(Decider(bot.services, members, WEB.people), OwnForms((SIGNED_WITH,), None))
    records, access = Records(CONTENT), Access(WEB, None)
    app = web_app(bot.services.trust, records, Path(CONTENT), access, lambda _users: {}, decisions=decisions)

    with serving(app, "127.0.0.1", 0) as address:
        path = f"/incidents/wl-1/proposals/{view.proposal.id}"
        first = Person(address, "ben@acme.example", path=path)
        offered = set(first.forms)
        Person(address, "cleo@acme.example", path=path).does("approve")
        approved = ana.sees_on_proposal("Execute")
        first.does("begin")
        done = ana.sees_on_proposal("Carried out, and proven")

    assert {"reject"} == offered
    assert "Approved by @Cleo Marsh on the web page at" in approved.plain
    assert "Started by @Ben Okafor at" in done.plain
    view = bot.services.store.get(IncidentId("wl-1")).current_proposal
    assert view is not None
    assert view.state is ProposalState.APPLIED
