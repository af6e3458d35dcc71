"""Who may approve held notices, when Slack cannot say who is in a group."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta

import pytest

from bot.adapters.scheduler import SchedulerTimers
from bot.domain.approval import ApprovalPolicy, People, VetoRule
from bot.domain.entries import (
    IncidentClosed,
    NoticeQueued,
    NoticesExpired,
    NoticesHeld,
    NoticesPreviewed,
    WaterlineMoved,
)
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.held_times import expires_at, next_due_at
from bot.domain.ids import SnapshotId, UserId
from bot.domain.notice import Notice, NoticeData
from bot.service.background import Background
from bot.service.holding import Holding
from bot.service.incident_store import IncidentStore
from bot.service.other_doubts import OtherDoubts
from bot.slack.blocks.held import held_expired_message
from tests.decisions import ANA
from tests.slack.people import eventually
from tests.telling.conftest import Scene

BEN, CLEO = UserId("U0BEN00002"), UserId("U0CLEO0003")


class _Unreadable:
    """A directory that Slack does not let read."""

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        raise CouldNotLook(f"Groups {groups} cannot be read.", "Slack answered missing_scope.", "Add the scope.")


class _EverybodyReminded:
    """Cleo is in every group but that of the approvers."""

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        return frozenset({CLEO}) if set(groups) - {"S0APPROVE1"} else frozenset()


@pytest.fixture
def holding(scene: Scene) -> Holding:
    """One notice is held: Ben by name, or anybody of a group, may approve it."""
    notice = Notice(kind="recovered", revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="Recovered.")
    policy = ApprovalPolicy(users=(BEN,), groups=("S0APPROVE1",))
    scene.story.says(WaterlineMoved(snapshot=SnapshotId(7), status="trusted"))
    scene.story.says(NoticesPreviewed(name="seen", notices=(notice,)))
    scene.story.says(NoticesHeld(name="seen", policy=policy, step=None), by=ANA)
    scene.clock.at = scene.story.now
    store = IncidentStore(scene.story.journal, scene.clock)
    return Holding(store, _Unreadable(), scene.clock, OtherDoubts(store, None))


def test_a_group_that_cannot_be_read_is_not_taken_for_a_no(scene: Scene, holding: Holding) -> None:
    """Whoever may be in it is told that nobody could look, not that they may not."""
    with pytest.raises(Refused, match="could not be looked up") as refused:
        holding.approve(scene.story.id, "seen", by=CLEO)

    assert "missing_scope" in str(refused.value)
    assert scene.story.incident.held["seen"].said_yes == ()


def test_who_is_named_needs_no_group(scene: Scene, holding: Holding) -> None:
    """Their yes counts while Slack's groups cannot be read."""
    holding.approve(scene.story.id, "seen", by=BEN)

    assert len(scene.story.incident.notices) == 1


def test_who_is_only_reminded_or_may_veto_does_not_approve(scene: Scene, holding: Holding) -> None:
    """Only approvers' groups count, and only they are named."""
    policy = ApprovalPolicy(
        groups=("S0APPROVE1",), remind=People(groups=("S0REMIND01",)), veto=VetoRule(groups=("S0VETO0001",))
    )
    scene.story.says(NoticesHeld(name="seen", policy=policy, step=None), by=ANA)
    store = IncidentStore(scene.story.journal, scene.clock)
    desk = Holding(store, _EverybodyReminded(), scene.clock, OtherDoubts(store, None))

    with pytest.raises(Refused, match="You may not approve these notices") as refused:
        desk.approve(scene.story.id, "seen", by=CLEO)

    assert "S0APPROVE1" in str(refused.value)
    assert "S0REMIND01" not in str(refused.value)
    assert scene.story.incident.held["seen"].said_yes == ()


def test_who_has_not_decided_is_asked_again_by_the_policy(scene: Scene, holding: Holding) -> None:
    """Every ten minutes, once each; after a stop there is one reminder, not as many as were missed."""
    scene.clock.at += timedelta(minutes=9)
    holding.settle(scene.story.id)
    before = scene.story.incident.held["seen"].reminders
    scene.clock.at += timedelta(minutes=14)

    holding.settle(scene.story.id)
    holding.settle(scene.story.id)

    view = scene.story.incident.held["seen"]
    assert (0, 1) == (before, view.reminders)
    assert scene.clock.at + timedelta(minutes=7) == expires_at(view) == next_due_at(view)


def test_notices_that_waited_too_long_are_told_of_once_and_not_sent(scene: Scene, holding: Holding) -> None:
    """Whoever asked hears of it; a late yes sends nothing."""
    scene.clock.at += timedelta(minutes=30)

    holding.settle(scene.story.id)
    holding.settle(scene.story.id)

    view = scene.story.incident.held["seen"]
    ends = [entry.body for entry in scene.story.incident.entries if isinstance(entry.body, NoticesExpired)]
    assert [NoticesExpired(name="seen", asks=ANA)] == ends
    assert next_due_at(view) is None
    with pytest.raises(Refused, match="waited too long"):
        holding.approve(scene.story.id, "seen", by=BEN)
    assert scene.story.incident.notices == {}


def test_a_promise_that_has_nearly_passed_is_not_sent(scene: Scene) -> None:
    """The next word is promised for half an hour later, and the policy would wait for five hours: twenty minutes after
    the preview nobody can say yes any more, or it would be read when the next word is due."""
    shown = scene.story.now + timedelta(minutes=1)
    data = NoticeData(stage="investigating", next_word_at=shown + timedelta(minutes=30))
    notice = Notice(kind="update", revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="x", data=data)
    policy = ApprovalPolicy(users=(BEN,), expires_after=timedelta(hours=5))
    scene.story.says(NoticesPreviewed(name="seen", notices=(notice,)))
    scene.story.says(NoticesHeld(name="seen", policy=policy, step=None), by=ANA)
    store = IncidentStore(scene.story.journal, scene.clock)
    holding = Holding(store, _Unreadable(), scene.clock, OtherDoubts(store, None))
    assert shown + timedelta(minutes=20) == expires_at(scene.story.incident.held["seen"])

    scene.clock.at = shown + timedelta(minutes=20)
    with pytest.raises(Refused, match="waited too long"):
        holding.approve(scene.story.id, "seen", by=BEN)

    scene.clock.at -= timedelta(seconds=1)
    holding.approve(scene.story.id, "seen", by=BEN)
    assert len(scene.story.incident.notices) == 1


def test_what_may_not_be_sent_any_more_waits_no_more(scene: Scene, holding: Holding) -> None:
    """Another text went out in its place: nobody is reminded of a yes that would be refused, and the asker is told."""
    other = Notice(kind="recovered", revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="Other words.")
    scene.story.says(NoticeQueued(notice=other))

    holding.settle(scene.story.id)
    scene.clock.at += timedelta(minutes=11)
    holding.settle(scene.story.id)

    view = scene.story.incident.held["seen"]
    assert view.reminders == 0
    assert view.expired is not None
    assert view.expired.asks == ANA
    assert "was sent to revenue_daily in other words" in str(held_expired_message(scene.story.incident, view, False))
    with pytest.raises(Refused, match=r"wait no more.*in other words"):
        holding.approve(scene.story.id, "seen", by=BEN)


@pytest.mark.parametrize("how", ["decided", "closed", "silent"])
def test_nobody_is_asked_where_nothing_waits(scene: Scene, holding: Holding, how: str) -> None:
    """Decided, no longer to be sent, or a policy that reminds nobody."""
    if how == "decided":
        holding.turn_down(scene.story.id, "seen", "Not yet.", by=BEN)
    elif how == "closed":
        scene.story.says(IncidentClosed(reason="done"))
    else:
        policy = ApprovalPolicy(users=(BEN,), remind_every=timedelta(0), expires_after=timedelta(hours=5))
        scene.story.says(NoticesHeld(name="seen", policy=policy, step=None), by=ANA)
    scene.clock.at += timedelta(hours=1)
    entries = len(scene.story.incident.entries)

    holding.settle(scene.story.id)

    assert entries == len(scene.story.incident.entries)


def test_timers_follow_what_is_held(scene: Scene, holding: Holding) -> None:
    """What fell due while the bot was down is told at its start; then the timer is gone."""
    store = IncidentStore(scene.story.journal, scene.clock)
    background = Background(store, lambda _name: nullcontext(True), workers=1)
    timers = SchedulerTimers(scene.clock)
    scene.clock.at += timedelta(minutes=30)

    timers.start()
    Holding(store, _Unreadable(), scene.clock, OtherDoubts(store, None)).start(timers, background)

    eventually(lambda: scene.story.incident.held["seen"].expired is not None)
    timers.close()
    background.close()
    assert scene.story.incident.seq == len(scene.story.incident.entries)
