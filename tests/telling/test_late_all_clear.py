"""An all-clear that arrives late, its receiver was down, is not sent while a later incident questions the table."""

from datetime import timedelta

import pytest

from bot.domain.entries import IncidentClosed, NoticeEnded, NoticeRetried, WaterlineMoved
from bot.domain.errors import Refused
from bot.domain.ids import IncidentId
from bot.domain.notice_entries import NoticeQueued
from bot.domain.promises import announced_since
from bot.ports import Post
from bot.service.courier import Posting
from bot.service.diagnosing import OtherDoubts
from bot.service.incident_store import IncidentStore
from bot.slack.blocks.told import told_blocks
from bot.slack.sent_before import answer_was_lost, not_asked
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story
from tests.telling.conftest import Scene, retrying_of

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
    assert "/waterline tell again revenue_daily" in end.detail
    assert "by e-mail not sent: You cannot send an all-clear." in card


def test_once_the_table_is_proven_again_a_responder_may_send_it(scene: Scene) -> None:
    """It may hold what nobody else says, as that they have to run again; not before, and not by itself."""
    key = scene.queues(scene.mail())
    second = doubted(scene)
    scene.delivers()
    retrying = retrying_of(scene)
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


def test_what_had_failed_is_taken_up_neither_by_itself_nor_by_a_click(scene: Scene) -> None:
    """By itself once the doubt is over; whoever clicks is told who questions the table."""
    key = scene.queues(scene.mail())
    again_at = scene.clock.at + timedelta(minutes=10)
    scene.story.says(NoticeEnded(key=key, how="failed", detail="Away.", to=scene.mail().key, again_at=again_at))
    second = doubted(scene)
    scene.clock.at = again_at
    retrying = retrying_of(scene)

    doubtful = retrying.due(scene.story.incident)
    with pytest.raises(Refused, match=IN_DOUBT):
        retrying.retry(scene.story.id, scene.story.incident.notices[key].seq, 0, by=ANA)
    second.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    later = retrying.due(scene.story.incident)

    assert doubtful == []
    assert later == [NoticeRetried(key=key, to=scene.mail().key, number=1)]


def test_a_post_that_slack_has_not_taken_yet_is_not_posted(scene: Scene) -> None:
    """The same holds for what waits in Slack's outbox."""
    key = scene.queues(channel="C0REVENUE1")
    store = IncidentStore(scene.story.journal, scene.clock)
    posting = Posting(store, scene.clock, OtherDoubts(store, None))
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
    scene.story.says(NoticeQueued(notice=notice.model_copy(update={"kind": "review_published"})))
    doubted(scene)

    scene.delivers()

    assert notice.data is not None
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
