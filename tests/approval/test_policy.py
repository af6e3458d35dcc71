"""Who may approve: policies, their choice by severity and table, and teams."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store
from bot.incident.approval import (
    Approval,
    ApprovalPolicy,
    People,
    missing,
    missing_in_words,
    teams_covered,
    whom_to_ask,
)
from bot.incident.decisions import Approve, Begin, BreakGlass, NotAllowed, Reject, Tick, Veto
from bot.incident.entries import (
    ApprovalReminded,
    GlassBroken,
    ProposalApproved,
    ResponderAssigned,
    SeverityChanged,
    VetoTimeEnded,
)
from bot.incident.execution import ProposalState
from bot.incident.journal import WATERLINE
from bot.incident.setup import TableSetup
from bot.observation.contract import TableContract
from bot.observation.errors import Refused
from bot.observation.ids import UserId
from bot.service.incident_store import IncidentStore
from bot.service.runbook_steps import RunbookSteps
from tests import orders_table as orders
from tests.approval.desk import ANA, BEN, CLEO, DANA, EVE, FINN, HELD, MOVES, OWNERS, POLICY, TWO_TEAMS, Desk
from tests.incidents import Story


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


def setup(**policies: ApprovalPolicy) -> TableSetup:
    """A table with these policies; a double underscore stands for the slash."""
    named = {name.replace("__", "/"): policy for name, policy in policies.items()}
    return TableSetup(
        name=orders.TABLE, job=None, contract=TableContract(), consumers=(), policies=named, next_update_minutes=30
    )


def test_the_most_specific_policy_counts() -> None:
    """The action before `destructive` before `default`, each first for the severity."""
    a, b, c, d, e = (ApprovalPolicy(users=(BEN,), required=n) for n in range(1, 6))
    table = setup(default=a, default__sev1=b, rewind=c, rewind__sev1=d, destructive=e)

    found = [
        table.policy_for(action, severity, is_destructive=destructive, proposer=ANA).required
        for action, severity, destructive in [
            ("rewind", "sev1", False), ("rewind", "sev2", False), ("forward", "sev1", False),
            ("forward", "sev3", False), ("orphans", "sev1", True), ("rewind", "sev1", True),
        ]
    ]  # fmt: skip

    assert [4, 3, 2, 1, 5, 4] == found


def test_what_publishes_or_undoes_another_action_asks_for_that_ones_approvals() -> None:
    """Nobody gets round three approvals by the second of two proposals; a policy of its own name says otherwise."""
    one, two, three = (ApprovalPolicy(users=(BEN,), required=n) for n in range(1, 4))
    table = setup(default=one, deduplicate_rows=three, undo_proposal=two)

    found = [
        table.policy_for(action, "sev1", is_destructive=False, proposer=ANA, follows=follows).required
        for action, follows in [
            ("publish_repair", ["deduplicate_rows"]), ("publish_repair", ["drop_duplicated_commit"]),
            ("undo_proposal", ["deduplicate_rows"]), ("publish_repair", []),
        ]
    ]  # fmt: skip

    assert [3, 1, 2, 1] == found


def test_an_undo_of_a_publication_and_one_of_an_undo_ask_for_the_first_actions_approvals() -> None:
    """Putting main back to the fault, or redoing a rewind, is no smaller matter than the first time."""
    one, three = ApprovalPolicy(users=(BEN,)), ApprovalPolicy(users=(BEN,), required=3)
    table = setup(default=one, deduplicate_rows=three)

    found = [
        table.policy_for("undo_proposal", "sev1", is_destructive=False, proposer=ANA, follows=follows).required
        for follows in [("publish_repair", "deduplicate_rows"), ("undo_proposal", "publish_repair"), ("undo_proposal",)]
    ]

    assert [3, 1, 1] == found


def test_what_is_destructive_needs_two_teams_unless_its_policy_says_a_number() -> None:
    """Nobody loses the second team by forgetting to ask for it."""
    said = ApprovalPolicy(users=(BEN,), different_teams=1)
    table = setup(default=TWO_TEAMS.model_copy(update={"different_teams": None}), orphans=said)

    asked = [
        table.policy_for(action, "sev1", is_destructive=destructive, proposer=ANA).teams_asked
        for action, destructive in [("drop", True), ("orphans", True), ("drop", False)]
    ]

    assert [2, 0, 0] == asked


@pytest.mark.parametrize(
    ("policy", "required"),
    [
        (ApprovalPolicy(users=(BEN,)), 1),
        (ApprovalPolicy(users=(BEN, ANA)), 1),
        (ApprovalPolicy(users=(BEN, CLEO)), 2),
        (ApprovalPolicy(groups=("S0APPROVE1",)), 2),
        (ApprovalPolicy(users=(BEN, CLEO, DANA), required=3), 3),
        (ApprovalPolicy(users=(BEN, CLEO), different_teams=1), 1),
    ],
)
def test_without_teams_what_is_destructive_needs_two_people_as_far_as_there_are_two(
    policy: ApprovalPolicy, required: int
) -> None:
    """A policy that names no teams stays usable: nobody edits a file at night to give a repair up."""
    found = setup(default=policy).policy_for("drop", "sev1", is_destructive=True, proposer=ANA)

    assert (required, 0) == (found.required, found.teams_asked)


STREAM, LAKE = "S0STREAM01", "S0LAKE0001"


def yes(by: UserId, *teams: str) -> Approval:
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


PAGE = (Path(__file__).parents[2] / "docs" / "approval.md").read_text(encoding="utf-8")


def test_the_page_has_the_table_of_moves() -> None:
    """A move that is added or taken away changes the page."""
    rows = [f"| {state} | {', '.join(sorted(to))} |" for state, to in MOVES.items() if to]

    assert rows == [line for line in PAGE.split("## The table of moves")[1].splitlines() if line.startswith("| ")][1:]


def test_the_page_has_every_setting_of_a_policy() -> None:
    """Whoever writes a policy finds all that it can say."""
    table = PAGE.split("## The policy")[1].split("## Emergency approval")[0]

    assert [] == [name for name in ApprovalPolicy.model_fields if f"`{name}`" not in table]


TWO = ApprovalPolicy(users=(BEN, EVE), required=2)


@pytest.fixture
def store(record: Store) -> IncidentStore:
    """Ana has opened a sev2; Ben responds."""
    Story(record.journal).opens().says(ResponderAssigned(user=BEN))
    return IncidentStore(record.journal, SystemClock())


def test_a_lower_severity_loosens_no_proposal_that_was_made() -> None:
    """It was made at sev1 and still needs both."""
    desk = Desk(policy=TWO)
    desk.writes(SeverityChanged(before="sev1", severity="sev3", reason="One report."), by=ANA)

    desk.does(Approve(digest=desk.proposal.digest, shown_whole=True), BEN)
    after_one = desk.state
    desk.does(Approve(digest=desk.proposal.digest, shown_whole=True), EVE)

    assert (ProposalState.PROPOSED, ProposalState.APPROVED) == (after_one, desk.state)


def test_nobody_else_changes_the_severity(store: IncidentStore) -> None:
    """Eve takes the incident over first, which is on record."""
    [incident] = store.all()

    with pytest.raises(Refused, match="so you cannot change its severity"):
        RunbookSteps(store, lambda _id: None).change_severity(incident.id, "sev3", "It is small.", by=EVE)

    assert store.get(incident.id).severity == "sev2"


@pytest.mark.parametrize("by", [ANA, BEN])
def test_who_responds_or_has_opened_it_may(store: IncidentStore, by: UserId) -> None:
    """With a reason; the record has both, once."""
    [incident] = store.all()
    runbook_steps = RunbookSteps(store, lambda _id: None)

    runbook_steps.change_severity(incident.id, "sev1", "Finance reports from it.", by=by)
    with pytest.raises(Refused, match="is sev1 already"):
        runbook_steps.change_severity(incident.id, "sev1", "Again.", by=by)

    last = store.get(incident.id).entries[-1]
    assert (by, SeverityChanged(before="sev2", severity="sev1", reason="Finance reports from it.")) == (
        last.by,
        last.body,
    )
