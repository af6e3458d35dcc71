"""Before the night somebody should know whom a destructive action will ask."""

import pytest

from bot.cli.doctor import policies_of
from bot.domain.approval import ApprovalPolicy, People
from bot.domain.ids import UserId
from bot.domain.setup import TableSetup
from tests.tables import CONTRACT, ORDERS

ANA, BEN, CLEO = (UserId(f"U0{name}0001") for name in ("ANAAA", "BENNN", "CLEOO"))
TWO_TEAMS = ApprovalPolicy(teams={"a": People(users=(ANA,)), "b": People(users=(BEN,))})


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        ({"default": TWO_TEAMS}, None),
        ({"default": ApprovalPolicy(users=(ANA, BEN), different_teams=1)}, None),
        ({"default": ApprovalPolicy(users=(ANA, BEN))}, "only two people can approve"),
        ({"default": ApprovalPolicy(users=(ANA, BEN, CLEO))}, "two people approve destructive actions"),
        ({"default": ApprovalPolicy(groups=("S0APPROVE1",))}, "two people approve destructive actions"),
        ({"default": ApprovalPolicy(users=(ANA,)), "destructive": TWO_TEAMS}, None),
        ({"default": TWO_TEAMS, "destructive/sev1": ApprovalPolicy(users=(ANA, BEN))}, "only two people can approve"),
    ],
)
def test_policies_that_two_teams_cannot_fulfil_are_named(policies: dict[str, ApprovalPolicy], told: str | None) -> None:
    """A number that the policy says itself was meant; what holds by default is said with the way out."""
    setup = TableSetup(
        name=ORDERS, job=None, contract=CONTRACT, consumers=(), policies=policies, next_update_minutes=30
    )

    found = [text for _what, _is_good, text, _remedy in policies_of([setup])]

    assert [told] * (told is not None) == [told for text in found if told is not None and told in text]
    assert len(found) == (told is not None)
