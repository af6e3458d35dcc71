"""What was overtaken while it waited for its try is not brought: its way ends, and people see why."""

from datetime import timedelta

import pytest

from bot.domain.entries import Body, DeliveryTried, IncidentClosed, NoticeQueued, WaterlineMoved
from bot.domain.errors import Refused
from bot.domain.journal import WATERLINE
from bot.domain.notice import Notice
from bot.domain.notice_words import notice_sentence
from bot.domain.told import DeliveryView
from bot.service.incident_store import IncidentStore
from bot.slack.blocks.told import told_blocks
from tests import orders_table as orders
from tests.decisions import ANA
from tests.telling.conftest import Scene, retrying_of

DOUBTED = WaterlineMoved(snapshot=orders.GOOD, status="under-review")


def says(scene: Scene, body: Body) -> None:
    """On record, after what the courier has written."""
    store = IncidentStore(scene.story.journal, scene.clock)
    store.write(scene.story.id, by=WATERLINE, decide=lambda _now: [body])


def queues(scene: Scene, kind: str) -> str:
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
    cleared = queues(scene, "recovered")
    scene.delivers(is_up=False)
    says(scene, DOUBTED)
    queues(scene, "correction")

    scene.delivers()
    later(scene)

    ended = mail_of(scene, cleared).ended
    assert ["correction"] == [mail["Subject"].split("] ")[1] for mail in scene.box.mails]
    assert ended is not None
    assert (ended.how, ended.asks) == ("overtaken", None)
    assert "“Correction” followed" in ended.detail


@pytest.mark.parametrize("newer", ["recovered", "update"])
def test_a_warning_does_not_come_after_what_says_it_better(scene: Scene, newer: str) -> None:
    """Also where it was never tried before."""
    warned = queues(scene, "first_warning")
    queues(scene, newer)

    assert scene.delivers() is None

    ended = mail_of(scene, warned).ended
    assert [newer] == [mail["Subject"].split("] ")[1] for mail in scene.box.mails]
    assert ended is not None
    assert ended.how == "overtaken"
    assert mail_of(scene, warned).tries == 0


def test_what_may_have_arrived_before_it_was_overtaken_says_so(scene: Scene) -> None:
    """The connection broke in the middle: nobody knows whether they have it."""
    key = queues(scene, "first_warning")
    says(scene, DeliveryTried(key=key, to=scene.mail().key, number=1))
    says(scene, IncidentClosed(reason="done"))

    scene.delivers()

    ended = mail_of(scene, key).ended
    assert ended is not None
    assert (ended.how, ended.may_be_there, scene.box.mails) == ("overtaken", True, [])
    assert "is closed" in ended.detail
    assert "It may have arrived all the same" in ended.detail


def test_people_see_that_it_was_not_sent_and_are_not_asked_to_call(scene: Scene) -> None:
    """On the card, in the timeline, and as the answer to a late click on Try again."""
    key = queues(scene, "recovered")
    says(scene, DOUBTED)
    scene.delivers()
    view, body = scene.story.incident.notices[key], mail_of(scene, key).ended
    assert body is not None

    card = str([block.to_dict() for block in told_blocks(scene.story.incident, None)])
    retrying = retrying_of(scene)
    with pytest.raises(Refused, match="This notice is out of date"):
        retrying.retry(scene.story.id, view.seq, 0, by=ANA)

    assert "by e-mail not sent: You cannot send an all-clear." in card
    assert ":white_check_mark:" not in card
    assert "is not sent by e-mail (revenue@acme.example): You cannot send" in notice_sentence(body)
