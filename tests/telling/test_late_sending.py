"""What was previewed, and is submitted or approved late: sent as it was seen, or refused with what to do."""

from collections.abc import Sequence

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.entries import (
    Body,
    IncidentClosed,
    NoticeQueued,
    NoticesHeld,
    NoticesPreviewed,
    SeverityChanged,
    StepDone,
    WaterlineMoved,
)
from bot.domain.errors import Refused
from bot.domain.ids import StepId, UserId
from bot.domain.notice import Notice
from bot.service.holding import Holding, queued, sent_or_held
from bot.service.incident_store import IncidentStore
from bot.service.other_doubts import OtherDoubts
from tests import orders_table as orders
from tests.decisions import ANA, BEN
from tests.telling.conftest import Scene

POLICY = ApprovalPolicy(users=(BEN,))
STEP = StepId("tell")


class _Nobody:
    """No group has members."""

    def members(self, _groups: Sequence[str]) -> frozenset[UserId]:
        return frozenset()


def notice(kind: str, text: str = "first words", revision: int = 1) -> Notice:
    """To one consumer."""
    return Notice(kind=kind, revision=revision, consumer="revenue_daily", channel="C0REVENUE2", text=text)


def holding(scene: Scene, **waiting: Notice) -> Holding:
    """Each waits for Ben under its name."""
    for name, each in waiting.items():
        scene.story.says(NoticesPreviewed(name=name, notices=(each,)))
        scene.story.says(NoticesHeld(name=name, policy=POLICY, step=None), by=ANA)
    scene.clock.at = scene.story.now
    store = IncidentStore(scene.story.journal, scene.clock)
    return Holding(store, _Nobody(), scene.clock, OtherDoubts(store, None))


@pytest.mark.parametrize("kind", ["update", "correction"])
def test_of_two_held_with_other_words_the_second_is_not_called_sent(scene: Scene, kind: str) -> None:
    """Both were previewed as the first revision: only one of them can be it, and the other says so."""
    desk = holding(scene, one=notice(kind), two=notice(kind, "other words"))
    desk.approve(scene.story.id, "one", by=BEN)

    with pytest.raises(Refused, match="in other words since this was previewed"):
        desk.approve(scene.story.id, "two", by=BEN)

    incident = scene.story.incident
    assert ["first words"] == [view.notice.text for view in incident.notices.values()]
    assert incident.held["two"].is_waiting


def test_of_two_forms_with_other_words_the_second_is_refused_and_its_step_not_done(scene: Scene) -> None:
    """Sent before is only what was sent word for word."""
    scene.story.says(NoticeQueued(notice=notice("update")))
    incident = scene.story.incident

    with pytest.raises(Refused, match="Nothing was sent"):
        queued(incident, "two", (notice("update", "other words"),), STEP)

    assert [StepDone(step=STEP, key="sent", why="told revenue_daily")] == queued(
        incident, "one", (notice("update"),), STEP
    )


@pytest.mark.parametrize("policy", [None, POLICY])
@pytest.mark.parametrize(("kind", "is_refused"), [("update", True), ("recovered", True), ("correction", False)])
def test_a_form_that_is_submitted_after_the_end_promises_nothing(
    scene: Scene, policy: ApprovalPolicy | None, kind: str, is_refused: bool
) -> None:
    """Nobody would be reminded of the next word; what is sent after the end still is."""
    scene.story.says(NoticesPreviewed(name="seen", notices=(notice(kind),)))
    incident = scene.story.says(IncidentClosed(reason="done")).incident

    if is_refused:
        with pytest.raises(Refused, match="is closed"):
            sent_or_held(incident, "seen", (notice(kind),), policy, None, now=scene.clock.at)
    else:
        assert len(sent_or_held(incident, "seen", (notice(kind),), policy, None, now=scene.clock.at)) == 1


def test_a_second_click_after_the_end_is_no_new_notice(scene: Scene) -> None:
    """It was sent while the incident was open."""
    scene.story.says(NoticeQueued(notice=notice("update")))
    incident = scene.story.says(IncidentClosed(reason="done")).incident

    assert sent_or_held(incident, "seen", (notice("update"),), POLICY, None, now=scene.clock.at) == []


def test_held_notices_are_not_approved_after_the_end(scene: Scene) -> None:
    """The card with its button is still there."""
    desk = holding(scene, seen=notice("update"))
    scene.story.says(IncidentClosed(reason="done"))

    with pytest.raises(Refused, match="is closed"):
        desk.approve(scene.story.id, "seen", by=BEN)

    assert scene.story.incident.notices == {}


@pytest.mark.parametrize(
    ("kind", "since", "is_refused"),
    [
        ("first_warning", "recovered", True),
        ("update", "recovered", True),
        ("recovery_proposed", "recovered", True),
        ("recovery_proposed", "update", False),
        ("correction", "recovered", True),
        ("no_action_needed", "correction", True),
        ("review_published", "recovered", False),
    ],
)
def test_what_was_said_meanwhile_is_not_contradicted(scene: Scene, kind: str, since: str, is_refused: bool) -> None:
    """A warning that was held and is approved after the all-clear would call the table under review again."""
    desk = holding(scene, seen=notice(kind))
    scene.story.says(NoticeQueued(notice=notice(since)))

    if is_refused:
        with pytest.raises(Refused, match="was told"):
            desk.approve(scene.story.id, "seen", by=BEN)
    else:
        desk.approve(scene.story.id, "seen", by=BEN)
        assert scene.story.incident.held["seen"].decided is not None


def test_a_warning_may_be_sent_again_once_the_all_clear_is_corrected(scene: Scene) -> None:
    """They know that the table is under review once more."""
    bodies: list[Body] = [
        NoticeQueued(notice=notice("recovered")),
        WaterlineMoved(snapshot=orders.GOOD, status="under-review"),
        NoticeQueued(notice=notice("correction")),
    ]
    for body in bodies:
        scene.story.says(body)
    desk = holding(scene, seen=notice("update"))

    desk.approve(scene.story.id, "seen", by=BEN)

    assert len(scene.story.incident.notices) == 3


@pytest.mark.parametrize("policy", [None, POLICY])
def test_what_names_another_severity_is_previewed_anew(scene: Scene, policy: ApprovalPolicy | None) -> None:
    """The text would say what is not so any more, and another policy may ask for more people now: what is held ends
    with that reason, and what was sent before is left alone."""
    told, waiting = (notice(kind).model_copy(update={"severity": "sev2"}) for kind in ("update", "first_warning"))
    scene.story.says(NoticeQueued(notice=told))
    desk = holding(scene, seen=waiting, unsaid=notice("correction"))
    raised = SeverityChanged(before="sev2", severity="sev1", reason="Finance reports from it.")
    incident = scene.story.says(raised, by=ANA).incident

    with pytest.raises(Refused, match="severity has changed"):
        desk.approve(scene.story.id, "seen", by=BEN)
    with pytest.raises(Refused, match=r"It says sev2; the incident is sev1 by now\. Preview it again"):
        sent_or_held(incident, "new", (waiting,), policy, None, now=scene.clock.at)
    desk.settle(scene.story.id)

    view, unsaid = (scene.story.incident.held[name] for name in ("seen", "unsaid"))
    assert view.expired is not None
    assert "severity has changed" in view.expired.why
    assert unsaid.is_waiting
    anew = waiting.model_copy(update={"severity": "sev1"})
    assert len(sent_or_held(incident, "new", (anew,), policy, None, now=scene.clock.at)) == 1
    assert sent_or_held(incident, "told", (told,), policy, None, now=scene.clock.at) == []
