"""What is late: all-clears, previews and sends that were overtaken are refused or held."""

from datetime import datetime, timedelta

import pytest

from bot.incident.approval import ApprovalPolicy
from bot.incident.decisions import NO_GROUPS, Membership
from bot.incident.entries import (
    Body,
    IncidentClosed,
    NoticeEnded,
    NoticesHeld,
    NoticesPreviewed,
    SeverityChanged,
    StepDone,
    WaterlineMoved,
)
from bot.incident.journal import WATERLINE
from bot.incident.notice import Notice, NoticeData, NoticeQueued
from bot.incident.promises import announced_since
from bot.observation.errors import Refused
from bot.observation.ids import IncidentId, StepId
from bot.ports import Post
from bot.service.diagnosing import OtherDoubts
from bot.service.incident_store import IncidentStore
from bot.service.notices.dispatcher import Deliveries
from bot.service.notices.policy import queued, refuse_overdue, sent_or_held
from bot.slack.blocks.notices import told_blocks
from bot.slack.sent_before import answer_was_lost, not_asked
from tests import orders_table as orders
from tests.decisions import ANA, BEN, EVE
from tests.incidents import Story
from tests.telling.conftest import Scene, deliveries_of

IN_DOUBT = "incident wl-2 questions the table"


def doubted(scene: Scene) -> Story:
    """The first incident is closed, and a second one is opened on its table."""
    store = IncidentStore(scene.story.journal, scene.clock)
    store.write(scene.story.id, by=ANA, decide=lambda _now: [IncidentClosed(reason="Proven.")])
    return Story(scene.story.journal, start=scene.story.now).opens()


def ended(scene: Scene, key: str) -> NoticeEnded:
    """How its mail ended."""
    [way] = scene.story.incident.notices[key].deliveries.values()
    assert way.ended is not None
    return way.ended


def test_a_try_by_rule_that_falls_into_a_later_doubt_is_not_made(scene: Scene) -> None:
    """The consumer has heard of the second incident by then; the card says that this was not sent, and why."""
    key = scene.queues(scene.mail())
    due = scene.delivers(is_up=False)
    doubted(scene)
    assert due is not None
    scene.clock.at = due

    left = scene.delivers()

    end = ended(scene, key)
    card = str([block.to_dict() for block in told_blocks(scene.story.incident, None)])
    assert (left, len(scene.box.mails), end.how) == (None, 0, "overtaken")
    assert IN_DOUBT in end.detail
    assert "/waterline notify again revenue_daily" in end.detail
    assert "by e-mail not sent: You cannot send an all-clear." in card


def test_once_the_table_is_proven_again_a_responder_may_send_it(scene: Scene) -> None:
    """It may hold what nobody else says, as that they have to run again; not before, and not by itself."""
    key = scene.queues(scene.mail())
    second = doubted(scene)
    scene.delivers()
    retrying = deliveries_of(scene)
    with pytest.raises(Refused, match="Nothing to send again"):
        retrying.retry_all(scene.story.id, "", by=ANA)
    _, refused = retrying.retry_all(scene.story.id, "revenue_daily", by=ANA)

    second.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    scene.delivers()
    before = len(scene.box.mails)
    found, _ = retrying.retry_all(scene.story.id, "revenue_daily", by=ANA)
    scene.delivers()

    assert IN_DOUBT in refused["revenue_daily"].found
    assert (before, len(scene.box.mails)) == (0, 1)
    assert [view.key for view in found] == [key]
    assert ended(scene, key).how == "delivered"


def test_what_had_failed_is_not_taken_up_in_doubt(scene: Scene) -> None:
    """Whoever clicks is told who questions the table."""
    key = scene.queues(scene.mail())
    scene.story.says(NoticeEnded(key=key, how="failed", detail="Away.", to=scene.mail().key))
    doubted(scene)

    with pytest.raises(Refused, match=IN_DOUBT):
        deliveries_of(scene).retry(scene.story.id, scene.story.incident.notices[key].seq, 0, by=ANA)


def test_a_post_that_slack_has_not_taken_yet_is_not_posted(scene: Scene) -> None:
    """The same holds for what waits in Slack's outbox."""
    key = scene.queues(channel="C0REVENUE1")
    store = IncidentStore(scene.story.journal, scene.clock)
    posting = Deliveries(store, OtherDoubts(store, None))
    holds = posting.overtaken(scene.story.id, key)
    doubted(scene)

    why = posting.overtaken(scene.story.id, key)

    assert holds is None
    assert why is not None
    assert IN_DOUBT in why


def test_what_says_nothing_of_trust_is_sent_all_the_same(scene: Scene) -> None:
    """A review holds whatever the table's state is, and when it was written."""
    key = scene.queues(scene.mail())
    notice = scene.story.incident.notices[key].notice
    scene.story.says(NoticeQueued(notice=notice.model_copy(update={"kind": "review"})))
    doubted(scene)

    scene.delivers()

    assert notice.data.stage == "proven"
    assert len(scene.box.mails) == 1


def test_planned_work_whose_announcement_was_given_up_was_not_announced(scene: Scene) -> None:
    """Nobody waits for its end."""
    key = scene.queues(scene.mail())
    notice = scene.story.incident.notices[key].notice.model_copy(update={"kind": "planned_work"})
    scene.story.says(NoticeQueued(notice=notice))
    announced = notice.key(scene.story.id)
    before = announced_since(scene.story.incident)

    scene.story.says(NoticeEnded(key=announced, how="overtaken", detail=IN_DOUBT, to=scene.mail().key))

    assert before is not None
    assert announced_since(scene.story.incident) is None


@pytest.mark.parametrize(
    ("earlier", "is_lost"), [(None, False), ("ratelimited", False), ("interrupted", True), ("timed out", True)]
)
def test_a_post_for_which_slack_was_not_asked_is_not_taken_for_sent(earlier: str | None, is_lost: bool) -> None:
    """The record was away for a moment; the next try asks again whether it still holds. What an earlier try may have
    left is not forgotten."""
    tries = 1 if earlier is None else 2
    post = Post(key="wl-1/notice/1", incident=IncidentId("wl-1"), channel="C1", tries=tries, problem=earlier)

    later = post.model_copy(update={"tries": tries + 1, "problem": not_asked(post, "The record cannot be read now.")})

    assert answer_was_lost(later) is is_lost


POLICY = ApprovalPolicy(users=(BEN,))
HALF_AN_HOUR = timedelta(minutes=30)


def notice(kind: str, data: NoticeData) -> Notice:
    return Notice(kind=kind, revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="x", data=data)


def shown(scene: Scene, kind: str = "update", **told: object) -> tuple[Notice, datetime]:
    """(notice, when it was previewed). Without a time of its own it promises the next word in half an hour."""
    at = scene.story.now + timedelta(minutes=1)
    data = NoticeData.model_validate({"stage": "investigating", "next_word_at": at + HALF_AN_HOUR, **told})
    made = notice(kind, data)
    scene.story.says(NoticesPreviewed(name="seen", notices=(made,)))
    return made, at


@pytest.mark.parametrize("policy", [None, POLICY])
@pytest.mark.parametrize(
    ("minutes", "said"), [(0, None), (19.9, None), (20, "nearly due"), (29.9, "nearly due"), (30, "over"), (99, "over")]
)
def test_a_next_word_that_is_nearly_due_is_not_promised(
    scene: Scene, policy: ApprovalPolicy | None, minutes: float, said: str | None
) -> None:
    """The form was left open over lunch; a third of the time is left at least, or a new preview is asked for."""
    _, at = shown(scene)
    scene.clock.at = at + timedelta(minutes=minutes)

    if said is None:
        assert clicks(scene, policy=policy) != []
    else:
        with pytest.raises(Refused, match=rf"the next update by .* UTC, which is {said}\. Preview it again\. Nothing"):
            clicks(scene, policy=policy)


def test_other_times_that_have_come_are_not_told(scene: Scene) -> None:
    """The end of planned work; one minute before it still is."""
    at = scene.story.now + timedelta(minutes=11)
    work, _ = shown(scene, "planned_work", next_word_at=None, over_by=at)
    refuse_overdue(scene.story.incident, "seen", (work,), at - timedelta(minutes=1))

    with pytest.raises(Refused, match="which has passed"):
        refuse_overdue(scene.story.incident, "seen", (work,), at)


def test_a_second_click_on_what_was_sent_in_time_is_no_new_notice(scene: Scene) -> None:
    """Nothing is refused, for nothing is sent."""
    made, at = shown(scene)
    scene.story.says(NoticeQueued(notice=made))
    scene.clock.at = at + timedelta(hours=2)

    assert [each for each in clicks(scene, policy=None) if isinstance(each, NoticeQueued)] == []


STEP = StepId("tell")


def late_notice(kind: str, text: str = "first words", revision: int = 1) -> Notice:
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
    scene.story.says(NoticesPreviewed(name="seen", notices=(late_notice("update"),)))

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
    assert [NoticeQueued(notice=late_notice("update"))] == clicks(scene, by=EVE, policy=policy, membership=in_group)[:1]
    assert scene.story.incident.held["seen"].sent_by == EVE
    assert clicks(scene, by=BEN, policy=policy) == []


@pytest.mark.parametrize("kind", ["update", "correction"])
def test_of_two_held_with_other_words_the_second_is_not_called_sent(scene: Scene, kind: str) -> None:
    """Both were previewed as the first revision: only one of them can be it, and the other says so."""
    asks(scene, one=late_notice(kind), two=late_notice(kind, "other words"))
    clicks(scene, "one")

    with pytest.raises(Refused, match="with a different text since this preview"):
        clicks(scene, "two")

    incident = scene.story.incident
    assert ["first words"] == [view.notice.text for view in incident.notices.values()]
    assert incident.held["two"].is_waiting


def test_of_two_forms_with_other_words_the_second_is_refused_and_its_step_not_done(scene: Scene) -> None:
    """Sent before is only what was sent word for word."""
    scene.story.says(NoticeQueued(notice=late_notice("update")))
    incident = scene.story.incident

    with pytest.raises(Refused, match="Nothing was sent"):
        queued(incident, "two", (late_notice("update", "other words"),), STEP)

    assert [StepDone(step=STEP, key="sent", why="sent to revenue_daily")] == queued(
        incident, "one", (late_notice("update"),), STEP
    )


@pytest.mark.parametrize("policy", [None, POLICY])
@pytest.mark.parametrize(("kind", "is_refused"), [("update", True), ("recovered", True), ("correction", False)])
def test_a_form_that_is_submitted_after_the_end_promises_nothing(
    scene: Scene, policy: ApprovalPolicy | None, kind: str, is_refused: bool
) -> None:
    """Nobody would be reminded of the next word; what is sent after the end still is."""
    scene.story.says(NoticesPreviewed(name="seen", notices=(late_notice(kind),)))
    scene.story.says(IncidentClosed(reason="done"))

    if is_refused:
        with pytest.raises(Refused, match="is closed"):
            clicks(scene, policy=policy)
    else:
        assert len(clicks(scene, policy=None)) == 2


def test_a_second_click_after_the_end_is_no_new_notice(scene: Scene) -> None:
    """It was sent while the incident was open."""
    scene.story.says(NoticesPreviewed(name="seen", notices=(late_notice("update"),)))
    clicks(scene, policy=None)
    scene.story.says(IncidentClosed(reason="done"))

    assert clicks(scene) == []


def test_held_notices_are_not_sent_after_the_end(scene: Scene) -> None:
    """The card with its button is still there."""
    asks(scene, seen=late_notice("update"))
    scene.story.says(IncidentClosed(reason="done"))

    with pytest.raises(Refused, match="is closed"):
        clicks(scene)

    assert scene.story.incident.notices == {}


@pytest.mark.parametrize(
    ("kind", "since", "is_refused"),
    [
        ("warning", "recovered", True),
        ("update", "recovered", True),
        ("correction", "recovered", True),
        ("no_action", "correction", True),
        ("review", "recovered", False),
    ],
)
def test_what_was_said_meanwhile_is_not_contradicted(scene: Scene, kind: str, since: str, is_refused: bool) -> None:
    """A warning that was held and is sent after the all-clear would call the table under review again."""
    asks(scene, seen=late_notice(kind))
    scene.story.says(NoticeQueued(notice=late_notice(since)))

    if is_refused:
        with pytest.raises(Refused, match=r"all-clear|another notice"):
            clicks(scene)
    else:
        clicks(scene)
        assert scene.story.incident.held["seen"].sent_by == BEN


def test_a_warning_may_be_sent_again_once_the_all_clear_is_corrected(scene: Scene) -> None:
    """They know that the table is under review once more."""
    bodies: list[Body] = [
        NoticeQueued(notice=late_notice("recovered")),
        WaterlineMoved(snapshot=orders.GOOD, status="under-review"),
        NoticeQueued(notice=late_notice("correction")),
    ]
    for body in bodies:
        scene.story.says(body)
    asks(scene, seen=late_notice("update"))

    clicks(scene)

    assert len(scene.story.incident.notices) == 3


@pytest.mark.parametrize("policy", [None, POLICY])
def test_what_names_another_severity_is_previewed_anew(scene: Scene, policy: ApprovalPolicy | None) -> None:
    """The text would say what is not so any more, and another policy may count now; what was sent before is left
    alone."""
    told, waiting = (late_notice(kind).model_copy(update={"severity": "sev2"}) for kind in ("update", "warning"))
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
