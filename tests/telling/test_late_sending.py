"""What was previewed, and is submitted late, or by a second person: sent as it was seen, or refused with what to do."""

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.approval_times import NO_GROUPS, Membership
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
from bot.domain.ids import StepId
from bot.domain.journal import WATERLINE
from bot.domain.notice import Notice
from bot.service.sending_rules import queued, sent_or_held
from tests import orders_table as orders
from tests.decisions import ANA, BEN, EVE
from tests.telling.conftest import Scene

POLICY = ApprovalPolicy(users=(BEN,))
STEP = StepId("tell")


def notice(kind: str, text: str = "first words", revision: int = 1) -> Notice:
    """To one consumer."""
    return Notice(kind=kind, revision=revision, consumer="revenue_daily", channel="C0REVENUE2", text=text)


def asks(scene: Scene, **waiting: Notice) -> None:
    """Ana asks for a second person; the policy names Ben."""
    for name, each in waiting.items():
        scene.story.says(NoticesPreviewed(name=name, notices=(each,)))
        scene.story.says(NoticesHeld(name=name, policy=POLICY, step=None), by=ANA)
    scene.clock.at = scene.story.now


def clicks(
    scene: Scene, name: str = "seen", *, by: str = BEN, policy: ApprovalPolicy | None = POLICY,
    membership: Membership = NO_GROUPS,
) -> list[Body]:  # fmt: skip
    """What a click on Send adds to the record."""
    incident = scene.story.incident
    notices = incident.previews[name]
    bodies = sent_or_held(incident, name, notices, policy, STEP, by=by, membership=membership, now=scene.clock.at)
    if bodies:
        scene.story.says(*bodies, by=by)
    return bodies


def test_only_a_second_person_who_is_named_sends_exactly_what_was_previewed(scene: Scene) -> None:
    """Not who asked for it, not the bot by itself, nobody else, and nobody of whom Slack cannot tell."""
    policy = ApprovalPolicy(users=(ANA, BEN), groups=("S0APPROVE1",))
    scene.story.says(NoticesPreviewed(name="seen", notices=(notice("update"),)))

    assert [NoticesHeld(name="seen", policy=policy, step=STEP)] == clicks(scene, by=ANA, policy=policy)
    assert clicks(scene, by=WATERLINE, policy=policy) == []
    with pytest.raises(Refused, match="somebody else must send them"):
        clicks(scene, by=ANA, policy=policy)
    with pytest.raises(Refused, match="somebody else must send them"):
        clicks(scene, by=ANA, policy=None)  # also where the settings have changed meanwhile
    with pytest.raises(Refused, match="You may not send"):
        clicks(scene, by=EVE, policy=policy)
    with pytest.raises(Refused, match="did not say whether"):
        clicks(scene, by=EVE, policy=policy, membership=Membership(unread=frozenset({"S0APPROVE1"})))
    assert scene.story.incident.notices == {}
    in_group = Membership(within=frozenset({"S0APPROVE1"}))
    assert [NoticeQueued(notice=notice("update"))] == clicks(scene, by=EVE, policy=policy, membership=in_group)[:1]
    assert scene.story.incident.held["seen"].sent_by == EVE
    assert clicks(scene, by=BEN, policy=policy) == []


@pytest.mark.parametrize("kind", ["update", "correction"])
def test_of_two_held_with_other_words_the_second_is_not_called_sent(scene: Scene, kind: str) -> None:
    """Both were previewed as the first revision: only one of them can be it, and the other says so."""
    asks(scene, one=notice(kind), two=notice(kind, "other words"))
    clicks(scene, "one")

    with pytest.raises(Refused, match="with a different text since this preview"):
        clicks(scene, "two")

    incident = scene.story.incident
    assert ["first words"] == [view.notice.text for view in incident.notices.values()]
    assert incident.held["two"].is_waiting


def test_of_two_forms_with_other_words_the_second_is_refused_and_its_step_not_done(scene: Scene) -> None:
    """Sent before is only what was sent word for word."""
    scene.story.says(NoticeQueued(notice=notice("update")))
    incident = scene.story.incident

    with pytest.raises(Refused, match="Nothing was sent"):
        queued(incident, "two", (notice("update", "other words"),), STEP)

    assert [StepDone(step=STEP, key="sent", why="sent to revenue_daily")] == queued(
        incident, "one", (notice("update"),), STEP
    )


@pytest.mark.parametrize("policy", [None, POLICY])
@pytest.mark.parametrize(("kind", "is_refused"), [("update", True), ("recovered", True), ("correction", False)])
def test_a_form_that_is_submitted_after_the_end_promises_nothing(
    scene: Scene, policy: ApprovalPolicy | None, kind: str, is_refused: bool
) -> None:
    """Nobody would be reminded of the next word; what is sent after the end still is."""
    scene.story.says(NoticesPreviewed(name="seen", notices=(notice(kind),)))
    scene.story.says(IncidentClosed(reason="done"))

    if is_refused:
        with pytest.raises(Refused, match="is closed"):
            clicks(scene, policy=policy)
    else:
        assert len(clicks(scene, policy=None)) == 2


def test_a_second_click_after_the_end_is_no_new_notice(scene: Scene) -> None:
    """It was sent while the incident was open."""
    scene.story.says(NoticesPreviewed(name="seen", notices=(notice("update"),)))
    clicks(scene, policy=None)
    scene.story.says(IncidentClosed(reason="done"))

    assert clicks(scene) == []


def test_held_notices_are_not_sent_after_the_end(scene: Scene) -> None:
    """The card with its button is still there."""
    asks(scene, seen=notice("update"))
    scene.story.says(IncidentClosed(reason="done"))

    with pytest.raises(Refused, match="is closed"):
        clicks(scene)

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
    """A warning that was held and is sent after the all-clear would call the table under review again."""
    asks(scene, seen=notice(kind))
    scene.story.says(NoticeQueued(notice=notice(since)))

    if is_refused:
        with pytest.raises(Refused, match=r"all-clear|another notice"):
            clicks(scene)
    else:
        clicks(scene)
        assert scene.story.incident.held["seen"].sent_by == BEN


def test_a_warning_may_be_sent_again_once_the_all_clear_is_corrected(scene: Scene) -> None:
    """They know that the table is under review once more."""
    bodies: list[Body] = [
        NoticeQueued(notice=notice("recovered")),
        WaterlineMoved(snapshot=orders.GOOD, status="under-review"),
        NoticeQueued(notice=notice("correction")),
    ]
    for body in bodies:
        scene.story.says(body)
    asks(scene, seen=notice("update"))

    clicks(scene)

    assert len(scene.story.incident.notices) == 3


@pytest.mark.parametrize("policy", [None, POLICY])
def test_what_names_another_severity_is_previewed_anew(scene: Scene, policy: ApprovalPolicy | None) -> None:
    """The text would say what is not so any more, and another policy may count now; what was sent before is left
    alone."""
    told, waiting = (notice(kind).model_copy(update={"severity": "sev2"}) for kind in ("update", "first_warning"))
    scene.story.says(NoticesPreviewed(name="told", notices=(told,)), NoticeQueued(notice=told))
    asks(scene, seen=waiting)
    scene.story.says(NoticesPreviewed(name="new", notices=(waiting,)))
    scene.story.says(SeverityChanged(before="sev2", severity="sev1", reason="Finance reports from it."), by=ANA)

    for name in ("seen", "new"):
        with pytest.raises(Refused, match=r"It says sev2; the incident is now sev1\. Preview it again"):
            clicks(scene, name, policy=policy)
    anew = waiting.model_copy(update={"severity": "sev1"})
    scene.story.says(NoticesPreviewed(name="anew", notices=(anew,)))
    assert clicks(scene, "anew", policy=policy) != []
    assert [each for each in clicks(scene, "told", policy=policy) if isinstance(each, NoticeQueued)] == []
