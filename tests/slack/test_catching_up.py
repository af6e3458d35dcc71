"""What a replica has written and not shown before it died is shown by another one, also of a closed incident."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import open_store
from bot.adapters.journal_sql.store import Store
from bot.domain.entries import NoticeQueued
from bot.domain.ids import IncidentId
from bot.domain.notice import Notice
from bot.service.incident_store import IncidentStore
from bot.slack.projection import Projection, notice_post
from tests.incidents import Story


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The record that the replicas share."""
    made = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    yield made
    made.close()


def test_a_notice_of_a_closed_incident_is_posted_though_its_replica_died(store: Store) -> None:
    """A correction waits for no restart."""
    story = Story(store.journal).whole()
    other = Projection(IncidentStore(store.journal, SystemClock()), store.outbox, store.cursor)
    other.catch_up_all()
    notice = Notice(kind="correction", revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="*x*")
    story.says(NoticeQueued(notice=notice))

    other.catch_up_all()

    assert not story.incident.is_open
    assert store.outbox.find(notice_post(story.id, notice.key(story.id))) is not None


def test_nothing_is_read_again_where_nothing_has_come(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred closed incidents cost the same few queries as one."""
    Story(store.journal).whole()
    projection = Projection(IncidentStore(store.journal, SystemClock()), store.outbox, store.cursor)
    projection.catch_up_all()
    asked: list[IncidentId] = []
    monkeypatch.setattr(projection, "catch_up", asked.append)

    projection.catch_up_all()

    assert asked == []
