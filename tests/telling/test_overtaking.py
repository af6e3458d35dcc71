"""Which notice ends which, and what was overtaken is not brought."""

from datetime import timedelta

import pytest

from bot.adapters.journal_sql import Store
from bot.incident.delivery import DeliveryView
from bot.incident.entries import Body, DeliveryTried, IncidentClosed, NoticeEnded, NoticeQueued, WaterlineMoved
from bot.incident.journal import WATERLINE
from bot.incident.notice import Notice, NoticeData
from bot.notices.gather import earlier_of
from bot.observation.errors import Refused
from bot.service.incident_store import IncidentStore
from bot.service.notices.policy import overtakes
from bot.service.timeline import _sentence
from bot.slack.blocks.notices import told_blocks
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story
from tests.telling.conftest import Scene, deliveries_of

WARNED, UPDATE, PLANNED = "warning", "update", "planned_work"
RECOVERED, NOTHING, CORRECTION, REVIEW = "recovered", "no_action", "correction", "review"
KINDS = (WARNED, UPDATE, PLANNED, RECOVERED, NOTHING, CORRECTION, REVIEW)
OF_PLANNED_WORK = {PLANNED, WARNED, UPDATE, RECOVERED, NOTHING, CORRECTION}
ENDED_BY = {
    WARNED: {UPDATE, RECOVERED, NOTHING, CORRECTION},
    UPDATE: {RECOVERED, NOTHING, CORRECTION},
    PLANNED: OF_PLANNED_WORK,
    RECOVERED: {NOTHING, CORRECTION},
    NOTHING: {RECOVERED, CORRECTION},
    CORRECTION: {RECOVERED, NOTHING},
    REVIEW: set[str](),
}
"""In one stage of the incident, and while nobody took a trust back."""


@pytest.fixture
def story(record: Store) -> Story:
    """The table is under review; nobody is told yet."""
    return Story(record.journal).opens()


def queues(story: Story, kind: str, stage: str = "proposed", revision: int = 1) -> None:
    """It is on its way to revenue_daily."""
    notice = Notice(kind=kind, revision=revision, consumer="revenue_daily", channel="C0REVENUE2", text="x",
                    data=NoticeData(stage=stage))  # fmt: skip
    story.says(NoticeQueued(notice=notice))


@pytest.mark.parametrize("older", KINDS)
def test_each_ends_by_what_says_it_anew_and_by_nothing_else(story: Story, older: str) -> None:
    """Every kind after this one."""
    queues(story, older)
    for number, newer in enumerate(KINDS):
        queues(story, newer, revision=number + 2)
    first, *newer_ones = story.incident.notices.values()

    ended_by = {view.notice.kind for view in newer_ones if overtakes(view, first)}

    assert ended_by == ENDED_BY[older] | {older}


def test_a_severity_that_did_not_arrive_is_told_as_changed_by_the_next_update(story: Story) -> None:
    """The newer update takes the older one's place, and would otherwise be silent of it."""
    for revision, severity in enumerate(("sev2", "sev1"), start=1):
        notice = Notice.model_validate(
            {"kind": UPDATE, "revision": revision, "consumer": "revenue_daily", "channel": "C0", "text": "x",
             "severity": severity}
        )  # fmt: skip
        story.says(NoticeQueued(notice=notice))
        if severity == "sev2":
            story.says(NoticeEnded(key=notice.key(story.id), how="delivered", detail="x"))

    earlier = earlier_of(story.incident, "revenue_daily", {})

    assert earlier.severity == "sev2"


DOUBTED = WaterlineMoved(snapshot=orders.GOOD, status="under-review")


def says(scene: Scene, body: Body) -> None:
    """On record, after what the dispatcher has written."""
    store = IncidentStore(scene.story.journal, scene.clock)
    store.write(scene.story.id, by=WATERLINE, decide=lambda _now: [body])


def overtaken_queues(scene: Scene, kind: str) -> str:
    """One of a kind, by mail; returns its key."""
    notice = Notice(kind=kind, revision=1, consumer="revenue_daily", channel="", text=kind, title=kind.capitalize(),
                    ways=(scene.mail(),))  # fmt: skip
    says(scene, NoticeQueued(notice=notice))
    return notice.key(scene.story.id)


def mail_of(scene: Scene, key: str) -> DeliveryView:
    """How far its mail has come."""
    return scene.story.incident.notices[key].deliveries[scene.mail().key]


def later(scene: Scene) -> None:
    """The mail server is back when the next try is due."""
    scene.clock.at += timedelta(minutes=1)
    scene.delivers()


def test_an_all_clear_that_waits_between_tries_does_not_follow_its_withdrawal(scene: Scene) -> None:
    """The mail server was away, then an undo began: the correction is all that arrives."""
    cleared = overtaken_queues(scene, "recovered")
    scene.delivers(is_up=False)
    says(scene, DOUBTED)
    overtaken_queues(scene, "correction")

    scene.delivers()
    later(scene)

    ended = mail_of(scene, cleared).ended
    assert ["correction"] == [mail["Subject"].split("] ")[1] for mail in scene.box.mails]
    assert (ended.how, ended.asks) == ("overtaken", None)
    assert "“Correction” followed" in ended.detail


@pytest.mark.parametrize("newer", ["recovered", "update"])
def test_a_warning_does_not_come_after_what_says_it_better(scene: Scene, newer: str) -> None:
    """Also where it was never tried before."""
    warned = overtaken_queues(scene, "warning")
    overtaken_queues(scene, newer)

    assert scene.delivers() is None

    ended = mail_of(scene, warned).ended
    assert [newer] == [mail["Subject"].split("] ")[1] for mail in scene.box.mails]
    assert ended.how == "overtaken"
    assert mail_of(scene, warned).tries == 0


def test_what_may_have_arrived_before_it_was_overtaken_says_so(scene: Scene) -> None:
    """The connection broke in the middle: nobody knows whether they have it."""
    key = overtaken_queues(scene, "warning")
    says(scene, DeliveryTried(key=key, to=scene.mail().key, number=1))
    says(scene, IncidentClosed(reason="done"))

    scene.delivers()

    ended = mail_of(scene, key).ended
    assert (ended.how, ended.may_be_there, scene.box.mails) == ("overtaken", True, [])
    assert "is closed" in ended.detail
    assert "It may have arrived all the same" in ended.detail


def test_people_see_that_it_was_not_sent_and_are_not_asked_to_call(scene: Scene) -> None:
    """On the card, in the timeline, and as the answer to a late click on Try again."""
    key = overtaken_queues(scene, "recovered")
    says(scene, DOUBTED)
    scene.delivers()
    view, body = scene.story.incident.notices[key], mail_of(scene, key).ended
    assert body is not None

    card = str([block.to_dict() for block in told_blocks(scene.story.incident, None)])
    retrying = deliveries_of(scene)
    with pytest.raises(Refused, match="This notice is out of date"):
        retrying.retry(scene.story.id, view.seq, 0, by=ANA)

    assert "by e-mail not sent: You cannot send an all-clear." in card
    assert ":white_check_mark:" not in card
    assert "is not sent by e-mail (revenue@acme.example): You cannot send" in _sentence(body)
