"""Which of a table's policies holds for a proposal, and how many approvals it asks for at the least."""

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.contract import TableContract
from bot.domain.setup import TableSetup
from tests import orders_table as orders
from tests.approval.desk import ANA, BEN, CLEO, DANA, TWO_TEAMS


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
