"""Which teams are covered by whose yes: nobody stands for two, and a team that cannot be told counts for none."""

import pytest

from bot.domain.approval import Approval, ApprovalPolicy, missing, missing_in_words, teams_covered, whom_to_ask
from bot.domain.approval_refusals import NotAllowed
from bot.domain.deciding import Approve, Reject
from bot.domain.entries import ProposalApproved
from bot.domain.execution import ProposalState
from bot.domain.ids import UserId
from tests import orders_table as orders
from tests.approval.desk import ANA, BEN, CLEO, DANA, FINN, POLICY, TWO_TEAMS, Desk

STREAM, LAKE = "S0STREAM01", "S0LAKE0001"


def yes(by: UserId, *teams: str) -> Approval:
    """One approval."""
    return Approval(by=by, at=orders.NINE, digest="d", teams=teams)


@pytest.mark.parametrize(
    ("people", "covered"),
    [
        ([], 0),
        ([("a",), ("a",)], 1),
        ([("a", "b")], 1),
        ([("a", "b"), ("a",)], 2),
        ([("a",), ("a", "b"), ("a", "c")], 3),
        ([(), ("b",)], 1),
    ],
)
def test_each_person_stands_for_one_team(people: list[tuple[str, ...]], covered: int) -> None:
    """Somebody in two teams covers one of them, and whichever helps."""
    assert covered == teams_covered(people)


@pytest.mark.parametrize(
    ("given", "still", "words"),
    [
        ([], (2, 2), "2 approvals, from 2 different teams"),
        ([yes(BEN, "streaming")], (1, 1), "1 more approval, from another team"),
        ([yes(BEN, "streaming"), yes(CLEO, "streaming")], (1, 1), "1 more approval, from another team"),
        ([yes(BEN, "streaming"), yes(BEN, "streaming", "lakehouse")], (1, 1), "1 more approval, from another team"),
        ([yes(CLEO)], (2, 2), "2 more approvals, from 2 other teams"),
    ],
)
def test_what_is_missing_of_two_teams(given: list[Approval], still: tuple[int, int], words: str) -> None:
    """Two people of one team are not two teams, and one person is never two."""
    assert still == missing(TWO_TEAMS, given)
    assert words == missing_in_words(TWO_TEAMS, given)


def test_nothing_is_missing_once_two_people_cover_two_teams() -> None:
    """Whoever is in both stands for the one that the other is not in."""
    assert (0, 0) == missing(TWO_TEAMS, [yes(BEN, "streaming", "lakehouse"), yes(CLEO, "streaming")])


def test_only_those_are_asked_whose_yes_would_count() -> None:
    """Neither the proposer, nor who has approved, nor the team that is there already."""
    assert f"Ask <@{CLEO}>." == whom_to_ask(POLICY, ANA, [yes(BEN)])
    assert f"Ask team lakehouse (<!subteam^{LAKE}>)." == whom_to_ask(TWO_TEAMS, ANA, [yes(BEN, "streaming")])
    assert "ask the table's owners" in whom_to_ask(ApprovalPolicy(users=(ANA,)), ANA)


def test_two_teams_approve_and_membership_is_that_of_the_click() -> None:
    """Who leaves a team afterwards has approved for it; who joins between two clicks counts for it."""
    desk = Desk(TWO_TEAMS, groups={STREAM: {BEN, CLEO}})
    desk.does(Approve(digest=desk.proposal.digest), BEN)
    second = desk.does(Approve(digest=desk.proposal.digest), DANA)
    desk.groups = {LAKE: {DANA}}

    desk.does(Approve(digest=desk.proposal.digest), DANA)

    assert isinstance(second, NotAllowed)
    assert "not-yours" == second.why
    assert [("streaming",), ("lakehouse",)] == [given.teams for given in desk.view.approvals]
    assert ProposalState.APPROVED is desk.state


def test_one_person_counts_once() -> None:
    """A second yes of the same person is answered with who is missing."""
    desk = Desk(POLICY.model_copy(update={"required": 2}))
    desk.does(Approve(digest=desk.proposal.digest), BEN)

    again = desk.does(Approve(digest=desk.proposal.digest), BEN)

    assert isinstance(again, NotAllowed)
    assert ("counted-already", f"Ask <@{CLEO}>.") == (again.why, again.remedy)
    assert ProposalState.PROPOSED is desk.state


def test_an_unread_group_makes_nobody_an_approver() -> None:
    """Neither somebody who may be in it, nor, where teams matter, somebody whose team cannot be told."""
    one, two = Desk(POLICY.model_copy(update={"groups": (LAKE,)})), Desk(TWO_TEAMS, groups={STREAM: {BEN}})

    named = one.does(Approve(digest=one.proposal.digest), BEN, unread=frozenset({LAKE}))
    perhaps = one.does(Reject(reason="No."), FINN, unread=frozenset({LAKE}))
    in_one_team = two.does(Approve(digest=two.proposal.digest), BEN, unread=frozenset({LAKE}))

    assert isinstance(named, ProposalApproved)
    assert isinstance(perhaps, NotAllowed)
    assert isinstance(in_one_team, NotAllowed)
    assert ("unreadable", "unreadable") == (perhaps.why, in_one_team.why)
