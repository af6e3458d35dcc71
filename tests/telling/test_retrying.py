"""What had failed is taken up again: exactly that way of exactly that notice, once each time it is asked for."""

from datetime import timedelta

import pytest

from bot.domain.entries import IncidentClosed, NoticeEnded, NoticeQueued, NoticeRetried, WaterlineMoved
from bot.domain.errors import Refused
from bot.domain.journal import WATERLINE
from bot.domain.notice import Address, Notice, sending_key
from bot.domain.told import DeliveryView
from bot.service.retrying import Retrying
from tests import orders_table as orders
from tests.decisions import ANA, BEN
from tests.telling.conftest import Scene, retrying_of


@pytest.fixture
def retrying(scene: Scene) -> Retrying:
    """Over the scene's record; the table was proven, or nobody could have been told that it recovered."""
    scene.story.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    return retrying_of(scene)


def failing(scene: Scene, kind: str = "recovered", revision: int = 1) -> int:
    """A notice whose mailbox is not there; returns the number of its entry."""
    notice = Notice(
        kind=kind, revision=revision, consumer="revenue_daily", channel="", text=f"{kind} {revision}",
        ways=(scene.mail(),),
    )  # fmt: skip
    key = notice.key(scene.story.id)
    scene.story.says(NoticeQueued(notice=notice))
    scene.story.says(NoticeEnded(key=key, how="failed", detail="550 no such mailbox.", to=scene.mail().key))
    return scene.story.incident.notices[key].seq


def delivery(scene: Scene, key: str) -> DeliveryView:
    """Its mail."""
    return scene.story.incident.notices[key].deliveries[scene.mail().key]


def test_a_mended_mailbox_gets_the_same_mail_once(scene: Scene, retrying: Retrying) -> None:
    """After a refusal for good somebody mends the address' mailbox and says so; the record has who asked."""
    key = scene.queues(scene.mail(), Address(by="webhook", to=scene.hook.url))
    scene.box.refuses = "550 no such mailbox"
    scene.delivers()
    scene.box.refuses = None
    view = scene.story.incident.notices[key]

    address = retrying.retry(scene.story.id, view.seq, 0, by=ANA)
    scene.delivers()
    scene.delivers()

    [mail] = scene.box.mails
    [asked] = [entry for entry in scene.story.incident.entries if isinstance(entry.body, NoticeRetried)]
    ended = delivery(scene, key).ended
    assert str(address) == "by e-mail (revenue@acme.example)"
    assert asked.by == ANA
    assert mail["Message-ID"] == f"<{sending_key(key, scene.mail().key)}@acme.example>"
    assert "may have come twice" not in str(mail)
    assert (ended.how if ended else None, len(scene.hook.requests)) == ("delivered", 1)


def test_what_may_have_arrived_before_it_failed_says_so(scene: Scene, retrying: Retrying) -> None:
    """An answer was lost, then it was refused: the receiver may have it."""
    key = scene.queues(scene.mail())
    lost = NoticeEnded(key=key, how="failed", detail="Gone.", to=scene.mail().key, may_be_there=True)
    scene.story.says(lost)

    retrying.retry(scene.story.id, scene.story.incident.notices[key].seq, 0, by=ANA)
    scene.delivers()

    [mail] = scene.box.mails
    assert "may have come twice" in str(mail)


def test_a_second_click_and_a_late_one_change_nothing(scene: Scene, retrying: Retrying) -> None:
    """While it is on its way, and when it has arrived."""
    seq = failing(scene)
    retrying.retry(scene.story.id, seq, 0, by=ANA)

    with pytest.raises(Refused, match=f"already on its way. <@{ANA}> asked for it"):
        retrying.retry(scene.story.id, seq, 0, by=BEN)
    scene.delivers()
    with pytest.raises(Refused, match="has this notice already"):
        retrying.retry(scene.story.id, seq, 0, by=BEN)

    assert scene.delivers() is None
    assert len(scene.box.mails) == 1


def test_each_time_has_all_its_tries(scene: Scene, retrying: Retrying) -> None:
    """A server that is still away is asked by rule, counted anew, and given up anew; the next time is longer off."""
    key = scene.queues(scene.mail())
    seq = scene.story.incident.notices[key].seq
    waits = []
    for _ in range(4):
        while (due := scene.delivers(is_up=False)) is not None:
            scene.clock.at = due
        ended = delivery(scene, key).ended
        assert ended is not None
        assert "Tried 6 times" in ended.detail
        waits.append(ended.again_at and ended.again_at - scene.clock.at)
        if ended.again_at is not None:
            scene.clock.at = ended.again_at
            retrying.settle(scene.story.id)
            retrying.settle(scene.story.id)

    by = [entry.by for entry in scene.story.incident.entries if isinstance(entry.body, NoticeRetried)]
    assert waits == [timedelta(minutes=10), timedelta(hours=1), timedelta(hours=4), None]
    assert by == [WATERLINE] * 3
    assert delivery(scene, key).tries == 24
    retrying.retry(scene.story.id, seq, 0, by=ANA)
    scene.delivers()
    assert len(scene.box.mails) == 1


def test_what_is_refused_for_good_is_not_tried_again_by_itself(scene: Scene, retrying: Retrying) -> None:
    """A mailbox that is not there: somebody has to say that it is there now."""
    scene.queues(scene.mail())
    scene.box.refuses = "550 no such mailbox"
    scene.delivers()
    scene.clock.at += timedelta(days=1)

    assert retrying.due(scene.story.incident) == []


@pytest.mark.parametrize(
    ("older", "newer", "is_refused"),
    [
        ("first_warning", "update", True),
        ("first_warning", "recovered", True),
        ("recovered", "update", False),
        ("recovered", "correction", True),
        ("recovered", "review_published", False),
        ("correction", "no_action_needed", True),
        ("correction", "update", False),
        ("review_published", "update", False),
        ("review_published", "review_published", True),
        ("all_quiet", "all_quiet", True),
        ("all_quiet", "update", False),
    ],
)
def test_what_was_overtaken_is_not_sent(
    scene: Scene, retrying: Retrying, older: str, newer: str, is_refused: bool
) -> None:
    """Nobody hears of a warning after the all-clear; the review does not take the place of an all-clear."""
    seq = failing(scene, older)
    failing(scene, newer, revision=2)

    if is_refused:
        with pytest.raises(Refused, match="something newer"):
            retrying.retry(scene.story.id, seq, 0, by=ANA)
    else:
        retrying.retry(scene.story.id, seq, 0, by=ANA)


def test_an_all_clear_that_was_taken_back_is_not_sent(scene: Scene, retrying: Retrying) -> None:
    """Neither while the table is under review again, nor after the next proof: it names what is trusted no more."""
    trusted = WaterlineMoved(snapshot=orders.GOOD, status="trusted")
    scene.story.says(trusted)
    seq = failing(scene)
    scene.story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))
    with pytest.raises(Refused, match="You cannot send an all-clear"):
        retrying.retry(scene.story.id, seq, 0, by=ANA)
    scene.story.says(trusted)

    with pytest.raises(Refused, match="This all-clear is out of date"):
        retrying.retry(scene.story.id, seq, 0, by=ANA)


def test_an_all_clear_is_sent_also_when_the_incident_has_ended_and_a_warning_is_not(
    scene: Scene, retrying: Retrying
) -> None:
    """Who could not be reached has to know that it is over, and not how it stood."""
    warning = failing(scene, "first_warning")
    scene.story.says(IncidentClosed(reason="done"))
    with pytest.raises(Refused, match="is closed"):
        retrying.retry(scene.story.id, warning, 0, by=ANA)


def test_everybody_is_tried_at_once_and_who_is_left_out_is_named(scene: Scene, retrying: Retrying) -> None:
    """By command, where the cause was the same for all."""
    failing(scene, "first_warning")
    seq = failing(scene)

    found, refused = retrying.retry_all(scene.story.id, "", by=ANA)
    with pytest.raises(Refused, match="Nothing to send again"):
        retrying.retry_all(scene.story.id, "nobody_here", by=ANA)

    assert [view.seq for view in found] == [seq]
    assert refused == {}


def test_the_only_notice_that_failed_and_holds_no_more_says_why(scene: Scene, retrying: Retrying) -> None:
    """Nothing is sent, and the consumer is named."""
    failing(scene, "first_warning")
    scene.story.says(IncidentClosed(reason="done"))

    found, refused = retrying.retry_all(scene.story.id, "revenue_daily", by=ANA)

    assert found == []
    assert "is closed" in str(refused["revenue_daily"])
