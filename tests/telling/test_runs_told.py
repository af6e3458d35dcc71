"""Whose closing message is held against lineage: who was told of runs, and is not being asked about already."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.approval import ApprovalPolicy
from bot.domain.entries import NoticeQueued, NoticesHeld, NoticesPreviewed, ReadersNoted, WaterlineMoved
from bot.domain.notice import Notice, NoticeData, RerunData
from bot.domain.notice_entries import ObservedReader
from bot.service.late_readers import runs_told
from tests import orders_table as orders
from tests.decisions import BEN
from tests.incidents import Story


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """The table is proven; nobody is told yet."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens().says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))


def notice(kind: str, *runs: str, reading: str = "read-above", needed: bool | None = True) -> Notice:
    """To revenue_daily."""
    data = NoticeData(
        stage="proven", affected_snapshots=(orders.HEAD,), reading=reading, affected_runs=runs,
        rerun=RerunData(needed=needed),
    )  # fmt: skip
    return Notice(kind=kind, revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="x", data=data)


def seen(runs: int) -> ReadersNoted:
    """By the look that a preview made."""
    reader = ObservedReader(consumer="fraud_model", distance=1, runs=runs, is_declared=False)
    return ReadersNoted(observed=(reader,), unknown=None)


def test_whoever_was_asked_to_look_for_themselves_is_left_alone(story: Story) -> None:
    """Lineage could not tell: they were told so, and nothing of it was wrong."""
    story.says(NoticeQueued(notice=notice("recovered", reading="unknown", needed=None)))

    assert runs_told(story.incident) == {}


@pytest.mark.parametrize("reading", ["unknown", "not-observed", "many"])
def test_where_nothing_was_affected_nobody_is_looked_for(story: Story, reading: str) -> None:
    """No run can have read wrong rows, and where there is no lineage each look would be told as one that failed."""
    told = notice("recovered", reading=reading, needed=False)
    assert told.data is not None
    data = told.data.model_copy(update={"affected_snapshots": ()})
    story.says(seen(0)).says(NoticeQueued(notice=told.model_copy(update={"data": data})))

    assert runs_told(story.incident) == {}


def test_a_correction_that_waits_for_a_second_person_is_not_asked_for_twice(story: Story) -> None:
    """Once it is sent its runs count as answered, others do not."""
    correction = notice("correction", "late")
    story.says(NoticeQueued(notice=notice("recovered", reading="not-observed", needed=False)))
    story.says(NoticesPreviewed(name="9f31", notices=(correction,)))
    story.says(NoticesHeld(name="9f31", policy=ApprovalPolicy(users=(BEN,)), step=None))
    waiting = runs_told(story.incident)
    story.says(NoticeQueued(notice=correction), by=BEN)

    assert waiting == {}
    assert runs_told(story.incident)["revenue_daily"].runs == {"late"}


def test_a_channel_was_told_what_was_seen_when_its_text_was_made(story: Story) -> None:
    """A look between its preview and its sending says nothing of what it was told."""
    told = notice("recovered", reading="many", needed=None)
    story.says(NoticesPreviewed(name="9f31", notices=(told,)), seen(1)).says(seen(2))
    story.says(NoticeQueued(notice=told))

    assert runs_told(story.incident)["revenue_daily"].readers == {"fraud_model": 1}


def test_a_text_that_was_previewed_again_tells_what_was_seen_then(story: Story) -> None:
    """Nobody had approved it the first time; word for word the same was previewed after a later look."""
    told = notice("recovered", reading="many", needed=None)
    preview = NoticesPreviewed(name="9f31", notices=(told,))
    story.says(preview, seen(1)).says(seen(2), preview).says(NoticeQueued(notice=told))

    assert runs_told(story.incident)["revenue_daily"].readers == {"fraud_model": 2}


def test_what_was_told_before_the_trust_was_withdrawn_is_over(story: Story) -> None:
    """The next closing message tells it anew."""
    story.says(NoticeQueued(notice=notice("recovered", "late")))
    before = set(runs_told(story.incident))
    story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))

    assert (before, runs_told(story.incident)) == ({"revenue_daily"}, {})
