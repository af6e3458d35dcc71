"""Who may approve held notices, when Slack cannot say who is in a group."""

from collections.abc import Sequence

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.entries import NoticesHeld, NoticesPreviewed
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.ids import UserId
from bot.domain.notice import Notice
from bot.service.holding import Holding
from bot.service.incident_store import IncidentStore
from tests.decisions import ANA
from tests.telling.conftest import Scene

BEN, CLEO = UserId("U0BEN00002"), UserId("U0CLEO0003")


class _Unreadable:
    """A directory that Slack does not let read."""

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        raise CouldNotLook(f"Groups {groups} cannot be read.", "Slack answered missing_scope.", "Add the scope.")


@pytest.fixture
def holding(scene: Scene) -> Holding:
    """One notice is held: Ben by name, or anybody of a group, may approve it."""
    notice = Notice(kind="recovered", revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="Recovered.")
    policy = ApprovalPolicy(users=(BEN,), groups=("S0APPROVE1",))
    scene.story.says(NoticesPreviewed(name="seen", notices=(notice,)))
    scene.story.says(NoticesHeld(name="seen", policy=policy, step=None), by=ANA)
    scene.clock.at = scene.story.now
    return Holding(IncidentStore(scene.story.journal, scene.clock), _Unreadable(), scene.clock)


def test_a_group_that_cannot_be_read_is_not_taken_for_a_no(scene: Scene, holding: Holding) -> None:
    """Whoever may be in it is told that nobody could look, not that they may not."""
    with pytest.raises(Refused, match="could not be looked up") as refused:
        holding.approve(scene.story.id, "seen", by=CLEO)

    assert "missing_scope" in str(refused.value)
    assert scene.story.incident.held["seen"].said_yes == []


def test_who_is_named_needs_no_group(scene: Scene, holding: Holding) -> None:
    """Their yes counts while Slack's groups cannot be read."""
    holding.approve(scene.story.id, "seen", by=BEN)

    assert len(scene.story.incident.notices) == 1
