"""Who decides what on a proposal's page: by the policy, as in Slack and in a terminal."""

import threading
from collections.abc import Iterable, Mapping
from datetime import timedelta

import pytest

from bot.domain.approval import ApprovalPolicy, People, VetoRule
from bot.domain.execution import ProposalState
from tests.decisions import BEN
from tests.rewound import PROPOSAL
from tests.web.deciding.world import CLEO, DANA, NAMES, POLICY, Person, World, said


def test_the_proposer_may_withdraw_and_not_approve(world: World, ana: Person, ben: Person) -> None:
    """Neither by a form that is shown nor by one that was made for somebody else."""
    forms, text = ana.forms, ana.text
    borrowed = ana.submits(ben.forms["approve"], sure="yes")
    own = ana.submits({**forms["reject"], "act": "approve"}, sure="yes")

    assert {"reject"} == set(forms)
    assert "You proposed this, so somebody else must approve it. Ask Ben Okafor or Cleo Martin." in text
    assert (403, 422) == (borrowed.status_code, own.status_code)
    assert "You proposed this, so somebody else must approve it." in said(own)
    assert [] == world.view.approvals


def test_veto_and_broken_glass_are_for_whom_the_policy_names(world: World, address: str, ben: Person) -> None:
    """Each sees their own forms; the veto comes after the glass was broken, and says why."""
    dana, eve = Person(address, "dana@acme.example"), Person(address, "eve@acme.example")
    seen = [set(each.forms) for each in (ben, dana, eve)]
    broken = eve.does("break-glass", "Revenue is reported at nine.")
    alone = world.view
    vetoed = dana.does("veto", "Not during the close.")

    assert [{"approve", "reject"}, {"veto"}, {"break-glass"}] == seen
    assert (303, 303) == (broken.status_code, vetoed.status_code)
    assert alone.glass is not None
    assert "web" == alone.glass.approval.via
    assert (ProposalState.VETOED, DANA) == (world.view.state, world.view.ended_by)
    assert "Eve Lind broke the glass and approved alone on the web page" in ben.text


@pytest.mark.parametrize("policy", [POLICY.model_copy(update={"required": 2})])
def test_one_person_counts_once_across_slack_and_the_page(world: World, ben: Person, cleo: Person) -> None:
    """Two of two: Ben in Slack, and not again on the page; Cleo completes it there."""
    world.services.approvals.approve(world.id, PROPOSAL, digest=world.view.proposal.digest, by=BEN)
    offered, told = set(ben.forms), ben.text
    cleo.does("approve")

    assert {"reject"} == offered
    assert "Your approval counts. It needs 1 more approval. Ask Cleo Martin." in told
    assert [(BEN, "slack"), (CLEO, "web")] == [(given.by, given.via) for given in world.view.approvals]
    assert world.view.state is ProposalState.APPROVED


@pytest.mark.parametrize(
    "policy", [POLICY.model_copy(update={"veto": VetoRule(users=(DANA,), hold=timedelta(minutes=5))})]
)
def test_an_approved_proposal_waits_for_a_veto_here_too(world: World, ben: Person) -> None:
    """Nobody is offered to carry it out before."""
    ben.does("approve")

    assert world.view.state is ProposalState.HELD
    assert "It is held until" in ben.text
    assert {"reject"} == set(ben.forms)


@pytest.mark.parametrize("policy", [ApprovalPolicy(teams={"streaming": People(groups=("S0STREAM01",))})])
def test_groups_are_asked_of_slack_when_it_is_decided(world: World, ben: Person, cleo: Person) -> None:
    """While Slack is down the page says that it cannot tell, and the rule takes nobody for an approver."""
    told = ben.text
    unread = ben.does("approve")
    world.groups.known["S0STREAM01"] = frozenset({BEN})
    outsider, counted = cleo.text, ben.does("approve")

    assert "Who is in the user group S0STREAM01 could not be read from Slack now." in told
    assert 422 == unread.status_code
    assert "could not be read, so your click cannot count" in said(unread)
    assert "You are not an approver for this. Ask user group S0STREAM01." in outsider
    assert 303 == counted.status_code
    assert [("streaming",)] == [given.teams for given in world.view.approvals]


def test_pages_come_without_slack(world: World) -> None:
    """Where it hangs, people are shown by their ids: that is when a page is needed."""
    hangs = threading.Event()

    def names(_users: Iterable[str]) -> Mapping[str, str]:
        hangs.wait(60)
        return NAMES

    with world.serves(names=names) as address:
        shown = Person(address, "ben@acme.example").text
    hangs.set()

    assert f"You decide as {BEN}" in shown


@pytest.mark.parametrize("is_private", [True])
def test_a_private_incident_has_no_page_here(world: World, ben: Person) -> None:
    """As all pages do, it answers as if the incident were not there; it is decided in Slack or in a terminal."""
    looked = ben.page
    answer = ben.sends({"Origin": ben.base}, {"act": "approve", "digest": world.view.proposal.digest})

    assert (404, 404) == (looked.status_code, answer.status_code)
    assert "There is no such incident." in said(looked)
    assert "30 rows" not in looked.text + answer.text
    assert [] == world.view.approvals
