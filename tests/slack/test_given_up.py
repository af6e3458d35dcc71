"""An all-clear that was given up, as the table came in doubt, is told aloud: once, whom it concerns and what to do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import open_store
from bot.adapters.journal_sql.store import Store
from bot.domain.entries import IncidentClosed, NoticeEnded, NoticeQueued, NoticeRetried, WaterlineMoved
from bot.domain.notice import Notice, NoticeData
from bot.service.courier import Posting
from bot.service.diagnosing import OtherDoubts
from bot.service.incident_store import IncidentStore
from bot.slack.blocks.told import given_up_message
from bot.slack.projection import Projection
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story

CONSUMERS = ("revenue_daily", "ml_features")
UNDER_REVIEW = WaterlineMoved(snapshot=orders.GOOD, status="under-review")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The record and its outbox."""
    made = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    yield made
    made.close()


@pytest.fixture
def story(store: Store) -> Story:
    """Ana responds; the table is proven, and its consumers are about to be told."""
    told = Story(store.journal).opens().says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    for consumer in CONSUMERS:
        told.says(NoticeQueued(notice=notice(consumer)))
    return told


def notice(consumer: str) -> Notice:
    """That the table recovered, in a channel of theirs."""
    data = NoticeData(stage="proven", trusted_snapshot=orders.GOOD)
    return Notice(
        kind="recovered", revision=1, consumer=consumer, channel="C0REVENUE2", text="*x*", title="Recovered", data=data
    )


def gives_up(store: Store, story: Story, consumer: str) -> NoticeEnded:
    """Its turn in Slack comes while the table is in doubt."""
    kept = IncidentStore(story.journal, SystemClock())
    key = notice(consumer).key(story.id)
    Posting(kept, SystemClock(), OtherDoubts(kept, None)).overtaken(story.id, key)
    [way] = story.incident.notices[key].deliveries.values()
    assert way.ended is not None
    return way.ended


def aloud(store: Store, story: Story) -> list[str]:
    """What stands in the channel itself about what was given up, as it is shown now."""
    projection = Projection(IncidentStore(story.journal, SystemClock()), store.outbox, store.cursor)
    projection.catch_up_all()
    ends = [entry.seq for entry in story.incident.entries if isinstance(entry.body, NoticeEnded)]
    posts = [(seq, store.outbox.find(f"{story.id}/given-up/{seq}")) for seq in ends]
    found = [(seq, post) for seq, post in posts if post is not None]
    assert all(post.thread_of is None and post.channel == story.incident.opened.channel for _, post in found)
    return ["\n".join(str(b.to_dict()) for b in given_up_message(story.incident, seq)[1]) for seq, _ in found]


def test_what_another_incident_has_stopped_is_told_once_with_everybody(store: Store, story: Story) -> None:
    """The responder reads whom, why, and what to type once the other one is over."""
    story.says(IncidentClosed(reason="Proven."))
    Story(store.journal, start=story.now).opens()
    first = gives_up(store, story, "revenue_daily")
    early = aloud(store, story)
    gives_up(store, story, "ml_features")

    [message] = aloud(store, story)

    assert first.asks == story.incident.responder
    assert "ml_features" not in early[0]
    assert f"<@{first.asks}>" in message
    assert "“Recovered” was *not sent* to `revenue_daily` (in Slack), `ml_features` (in Slack)." in message
    assert "incident wl-2 questions the table" in message
    assert "When that is resolved, type `/waterline tell again`" in message


def test_what_came_in_doubt_again_is_previewed_anew(store: Store, story: Story) -> None:
    """The text is out of date: it is not sent once more as it is."""
    story.says(UNDER_REVIEW)
    gives_up(store, story, "revenue_daily")

    [message] = aloud(store, story)

    assert "You cannot send an all-clear" in message
    assert "When that is resolved, type `/waterline tell recovered`" in message


def test_what_is_given_up_again_is_told_again(store: Store, story: Story) -> None:
    """Somebody had sent it once more, too early."""
    story.says(IncidentClosed(reason="Proven."))
    Story(store.journal, start=story.now).opens()
    ended = gives_up(store, story, "revenue_daily")
    again = NoticeRetried(key=ended.key, to=ended.to, number=1)
    IncidentStore(story.journal, SystemClock()).write(story.id, by=ANA, decide=lambda _now: [again])
    gives_up(store, story, "revenue_daily")

    assert len(aloud(store, story)) == 2


def test_what_something_newer_has_overtaken_needs_nobody(store: Store, story: Story) -> None:
    """A correction followed it; and a record of before told no doubt."""
    story.says(NoticeQueued(notice=notice("revenue_daily").model_copy(update={"kind": "correction"})))
    ended = gives_up(store, story, "revenue_daily")
    old = NoticeEnded.model_validate({"key": "wl-1/recovered/x/1", "how": "overtaken", "detail": "Not so any more."})

    assert (ended.how, ended.doubt, ended.asks) == ("overtaken", "", None)
    assert (old.doubt, old.command) == ("", "")
    assert aloud(store, story) == []
