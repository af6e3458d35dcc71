"""Whether consumers wait for a next word: as their notices have it, and nobody is reminded of anything else."""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import NoticeEnded, NoticeQueued, WaterlineMoved
from bot.domain.errors import Refused
from bot.domain.looked import Seen
from bot.domain.notice import Notice, NoticeData
from bot.domain.promises import next_word_due
from bot.notices.gather import facts_for
from bot.service.closing import Closing
from bot.service.incident_store import IncidentStore
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story
from tests.telling.conftest import Hand
from tests.telling.test_owed_notices import setup

SETUP = setup("revenue_daily")


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """An open incident."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens()


def told(story: Story, *kinds: str, data: NoticeData | None = None) -> Story:
    """One after the other."""
    for kind in kinds:
        revision = len(story.incident.notices) + 1
        notice = Notice(kind=kind, revision=revision, consumer="revenue_daily", channel="C0", text=kind, data=data)
        story.says(NoticeQueued(notice=notice))
    return story


def due(story: Story) -> datetime | None:
    """When the next word is."""
    return next_word_due(story.incident, SETUP)


def test_what_says_nothing_of_a_next_word_neither_gives_nor_takes_a_promise(story: Story) -> None:
    """A review is no reason to be reminded, nor to forget who waits."""
    promised = due(told(story, "first_warning"))
    kept = due(told(story, "review_published"))
    ended = due(told(story, "recovered", "review_published"))

    assert promised is not None
    assert (promised, None) == (kept, ended)


def test_the_next_word_is_due_when_the_text_says_so(story: Story) -> None:
    """It waited for its approval after it was written: its reader knows only the moment that stands in it."""
    written = story.now - timedelta(minutes=20)
    by = written + timedelta(minutes=SETUP.next_update_minutes)

    told(story, "first_warning", data=NoticeData(stage="investigating", next_word_at=by))

    assert due(story) == by


def test_a_correction_that_promises_nothing_is_the_last_word(story: Story) -> None:
    """As its own text says; one that promises a further word is reminded of."""
    told(story, "recovered", "correction", data=NoticeData(stage="proven"))
    last = due(story)
    told(story, "correction", data=NoticeData(stage="diagnosed", next_word_at=story.now + timedelta(minutes=30)))

    assert last is None
    assert due(story) is not None


def test_a_last_word_that_was_taken_back_is_none(story: Story) -> None:
    """While the withdrawal waits for approval, or was turned down, people are reminded, and asked before closing."""
    told(story.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted")), "first_warning", "recovered")
    given = due(story)
    story.says(WaterlineMoved(snapshot=orders.GOOD, status="under-review"))
    desk = Closing(IncidentStore(story.journal, Hand()), _NoReviews(), {SETUP.name: SETUP})  # type: ignore[arg-type]

    assert given is None
    assert due(story) == story.now + timedelta(minutes=SETUP.next_update_minutes)
    with pytest.raises(Refused, match="Consumers were promised an update by"):
        desk.close(story.id, "Done.", by=ANA)


def test_a_last_word_that_was_overtaken_is_none(story: Story) -> None:
    """It reached nobody: what was promised before it still is."""
    promised = due(told(story, "first_warning"))
    told(story, "no_action_needed")
    [*_, last] = story.incident.notices
    story.says(NoticeEnded(key=last, how="overtaken", detail="x"))

    assert promised is not None
    assert due(story) == promised


@pytest.mark.parametrize(("before", "promises"), [("first_warning", True), ("recovered", False)])
def test_a_correction_of_a_proven_table_promises_only_what_is_to_come(
    story: Story, before: str, promises: bool
) -> None:
    """Who had the closing message waits for nothing; who had not still waits for it."""
    story.says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    told(story, before)
    nothing = Seen(source="lineage", values=())

    facts = facts_for(
        story.incident, SETUP.consumers[0], orders.table_state(), nothing, nothing, kind="correction",
        contract=SETUP.contract, now=story.now, next_update_minutes=30, words="x",
    )  # fmt: skip

    assert promises == (facts.next_word_at is not None)


def test_closing_over_a_promise_asks_for_the_last_word(story: Story) -> None:
    """After it, or with a reason that says so, the incident is closed."""
    told(story, "first_warning")
    desk = Closing(IncidentStore(story.journal, Hand()), _NoReviews(), {SETUP.name: SETUP})  # type: ignore[arg-type]
    with pytest.raises(Refused, match="Consumers were promised an update by"):
        desk.close(story.id, "Nobody noticed.", by=ANA)

    told(story, "no_action_needed")
    closed = desk.close(story.id, "Nobody noticed.", by=ANA)

    assert not closed.is_open


class _NoReviews:
    """Nothing to look at."""

    def filled(self, _incident: object) -> None:
        return None
