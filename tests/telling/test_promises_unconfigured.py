"""What was promised goes on being reminded of when its table leaves the configuration, and the reminder says so."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import NoticeQueued, PromiseReminded
from bot.domain.errors import Refused
from bot.domain.ids import TableName
from bot.domain.notice import Notice, NoticeData
from bot.domain.setup import TableSetup
from bot.service.closing import Closing
from bot.service.incident_store import IncidentStore
from bot.service.promises import Promises
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story
from tests.telling.conftest import Hand
from tests.telling.test_owed_notices import setup

ALONE = {orders.TABLE: setup("revenue_daily")}


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """Consumers were promised word within twenty minutes."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        story = Story(store.journal).opens()
        data = NoticeData(stage="investigating", next_word_at=story.now + timedelta(minutes=20))
        notice = Notice(kind="first_warning", revision=1, consumer="a", channel="C0X", text="Wait.", data=data)
        yield story.says(NoticeQueued(notice=notice))


def settles(story: Story, tables: dict[TableName, TableSetup], *, after: timedelta) -> list[PromiseReminded]:
    """Time passes; what was reminded of since the story began."""
    clock = Hand()
    clock.at = story.now + after
    store = IncidentStore(story.journal, clock)
    Promises(store, tables, None, clock).settle(story.id)  # type: ignore[arg-type]
    return [entry.body for entry in store.get(story.id).entries if isinstance(entry.body, PromiseReminded)]


def test_consumers_still_wait_for_word_though_their_table_is_configured_no_more(story: Story) -> None:
    """By the time that stands in what they were sent; the reminder offers nothing that cannot work."""
    [reminded] = settles(story, {}, after=timedelta(minutes=25))

    incident = story.incident
    shown = str([block.to_dict() for block in reminder_of_promise(incident, incident.entries[-1])[1]])
    assert (reminded.what, reminded.is_unconfigured) == ("next-update", True)
    assert "is no longer configured" in shown
    assert "Send update…" not in shown


def test_a_table_that_is_configured_is_not_called_otherwise(story: Story) -> None:
    """The reminder offers the preview."""
    [reminded] = settles(story, ALONE, after=timedelta(minutes=25))

    shown = str([block.to_dict() for block in reminder_of_promise(story.incident, story.incident.entries[-1])[1]])
    assert not reminded.is_unconfigured
    assert "no longer configured" not in shown
    assert "Send update…" in shown


def test_it_is_not_closed_over_a_promise_either(story: Story) -> None:
    """What is advised can be done without a configuration."""
    desk = Closing(IncidentStore(story.journal, Hand()), None, {})  # type: ignore[arg-type]

    with pytest.raises(Refused, match="Notify them yourself"):
        desk.close(story.id, "It is gone.", by=ANA)
