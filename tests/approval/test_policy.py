"""When approvals end, who carries out, and who vetoes or breaks the glass: the policy as the rule reads it."""

from datetime import timedelta

import pytest

from bot.domain.approval import ApprovalPolicy, People, whom_to_ask
from bot.domain.approval_refusals import NotAllowed
from bot.domain.deciding import Approve, Begin, BreakGlass, Tick, Veto
from bot.domain.entries import ApprovalReminded, GlassBroken, ProposalApproved, VetoTimeEnded
from bot.domain.execution import ProposalState
from bot.domain.journal import WATERLINE
from tests import orders_table as orders
from tests.approval.desk import ANA, BEN, CLEO, DANA, EVE, HELD, OWNERS, POLICY, Desk


def test_the_end_of_the_term_is_exclusive() -> None:
    """At the very moment it is too late: to approve, and to carry out what was approved."""
    late, early = Desk().after(minutes=30), Desk().after(minutes=29, seconds=59)
    early.does(Approve(digest=early.proposal.digest), BEN)

    refused = late.does(Approve(digest=late.proposal.digest), BEN), early.after(seconds=1).does(Begin(), BEN)

    assert ["expired", "expired"] == [each.why for each in refused if isinstance(each, NotAllowed)]


def test_only_the_proposer_and_those_who_approved_carry_it_out() -> None:
    """Another approver who has not said yes is told whom to ask."""
    desk = Desk()
    desk.does(Approve(digest=desk.proposal.digest), BEN)

    refused = desk.does(Begin(), CLEO)

    assert isinstance(refused, NotAllowed)
    assert ("not-yours", f"Ask <@{ANA}> or <@{BEN}>.") == (refused.why, refused.remedy)


def test_an_approved_proposal_is_held_until_its_veto_time_is_over() -> None:
    """It is released by time alone, and a veto stops it before and after."""
    desk = Desk(HELD)
    approved = desk.does(Approve(digest=desk.proposal.digest), BEN)
    early = desk.after(minutes=4).does(Tick(), WATERLINE)
    released = desk.after(minutes=1).does(Tick(), WATERLINE)

    desk.does(Veto(reason="Month end."), DANA)

    assert isinstance(approved, ProposalApproved)
    assert orders.NINE + timedelta(minutes=5) == approved.held_until
    assert isinstance(early, NotAllowed)
    assert isinstance(released, VetoTimeEnded)
    assert ProposalState.VETOED is desk.state


def test_an_approval_that_could_not_be_released_in_time_is_refused() -> None:
    """With five minutes of veto time, thirty minutes of term take approvals for twenty-five."""
    desk = Desk(HELD).after(minutes=25)

    refused = desk.does(Approve(digest=desk.proposal.digest), BEN)

    assert isinstance(refused, NotAllowed)
    assert "could be approved until 09:25 UTC" in refused.happened


def test_reminders_come_until_somebody_decides_and_never_in_a_heap() -> None:
    """Every ten minutes; after a long stop there is one, and then none before ten minutes have passed."""
    desk = Desk()
    first = desk.after(minutes=24).does(Tick(), WATERLINE)
    again = desk.does(Tick(), WATERLINE)

    assert isinstance(first, ApprovalReminded)
    assert 1 == first.number
    assert isinstance(again, NotAllowed)


def test_the_glass_is_broken_alone_with_a_reason_and_never_by_the_proposer() -> None:
    """It replaces number, teams and hold, not the second person; whom it pages is in the entry."""
    rule = HELD.break_glass
    policy = HELD.model_copy(update={"required": 3, "break_glass": rule.model_copy(update={"users": (ANA, EVE)})})
    desk = Desk(policy)
    act = BreakGlass(digest=desk.proposal.digest, reason="Consumers pay out wrongly.")

    own = desk.does(act, ANA)
    silent = desk.does(act.model_copy(update={"reason": "  "}), EVE)
    done = desk.does(act, EVE)

    assert isinstance(own, NotAllowed)
    assert isinstance(silent, NotAllowed)
    assert ("own-proposal", "no-reason") == (own.why, silent.why)
    assert isinstance(done, GlassBroken)
    assert (OWNERS,) == done.owners
    assert ProposalState.APPROVED is desk.state
    assert [EVE] == [given.by for given in desk.view.approvals]


def test_who_approved_and_then_breaks_the_glass_is_one_person() -> None:
    """One person in two roles counts once."""
    rule = POLICY.break_glass
    desk = Desk(POLICY.model_copy(update={"required": 2, "break_glass": rule.model_copy(update={"users": (BEN,)})}))
    desk.does(Approve(digest=desk.proposal.digest), BEN)

    desk.does(BreakGlass(digest=desk.proposal.digest, reason="Nobody else answers."), BEN)

    assert [BEN] == [given.by for given in desk.view.approvals]
    assert ProposalState.APPROVED is desk.state


@pytest.mark.parametrize("act", [Veto(reason="No."), BreakGlass(digest="-", reason="Now.")], ids=lambda act: act.kind)
def test_what_the_policy_gives_to_nobody_is_refused(act: Veto | BreakGlass) -> None:
    """Without a rule there is neither veto nor glass, and whom to ask instead is said."""
    desk = Desk(ApprovalPolicy(users=(BEN,)))

    refused = desk.does(act, DANA)

    assert isinstance(refused, NotAllowed)
    assert ("no-such-rule", f"Ask <@{BEN}>.") == (refused.why, refused.remedy)


def test_a_person_listed_twice_is_named_once() -> None:
    """In the users and in a team."""
    policy = ApprovalPolicy(users=(BEN,), teams={"streaming": People(users=(BEN, CLEO))})

    assert f"Ask <@{BEN}> or <@{CLEO}>." == whom_to_ask(policy, ANA)
