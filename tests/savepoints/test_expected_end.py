"""When planned work is expected to be over stands in plan and announcement, and its end is asked for then."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.bootstrap.content import CONTENT
from bot.domain.entries import NoticeQueued, PromiseReminded
from bot.domain.errors import Refused
from bot.domain.notice import PLANNED, Notice, NoticeData
from bot.domain.promises import PLANNED_LASTS, owed
from bot.domain.said_moment import said_moment
from bot.domain.timeline import sentence
from bot.notices import data_of, render, scan
from bot.slack.blocks.promises import reminder_of_promise
from tests.decisions import ANA, CHANNEL
from tests.incidents import Story
from tests.savepoints.test_announced import PLAN, SETUP, facts_told

NOW = datetime(2026, 11, 24, 13, 0, tzinfo=UTC)


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """A plan whose work is over in two hours."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        made = Story(store.journal).opens(planned=True)
        yield made.says(PLAN.model_copy(update={"over_by": made.now + timedelta(hours=2)}), by=ANA)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("14:10", datetime(2026, 11, 24, 14, 10, tzinfo=UTC)),
        ("09:00", datetime(2026, 11, 25, 9, 0, tzinfo=UTC)),
        (" 2026-12-01 09:00 ", datetime(2026, 12, 1, 9, 0, tzinfo=UTC)),
        ("14:10 UTC", datetime(2026, 11, 24, 14, 10, tzinfo=UTC)),
        ("2026-12-01T09:00+02:00", datetime(2026, 12, 1, 7, 0, tzinfo=UTC)),
    ],
)
def test_a_time_is_the_next_one_and_in_utc_unless_it_says_otherwise(text: str, meant: datetime) -> None:
    """As people write it."""
    assert said_moment(text, NOW) == meant


@pytest.mark.parametrize("text", ["soon", "2026-12-01", "25:00", "10m"])
def test_what_names_no_time_is_refused_with_what_would(text: str) -> None:
    """A day alone is no time by which anybody can look."""
    with pytest.raises(Refused, match=r"is not a time\. Expected 14:10"):
        said_moment(text, NOW)


def test_the_announcement_says_by_when_it_is_over(story: Story) -> None:
    """To people and to programs; a time that has passed is not repeated."""
    plan = story.incident.plan
    assert plan is not None
    assert plan.over_by is not None
    facts = facts_told(story, PLANNED)

    assert facts.over_by == plan.over_by
    assert f"We expect to finish by {plan.over_by.day} Nov" in render(scan(CONTENT / "messages")[PLANNED], facts)
    assert data_of(facts, PLANNED).over_by == plan.over_by
    assert "Expected to be over by" in sentence(story.incident.entries[-1])
    story.now = plan.over_by
    assert facts_told(story, PLANNED).over_by is None


def test_whoever_responds_is_asked_then_and_once_more_a_day_later(story: Story) -> None:
    """Not only after a day, as where nobody said it."""
    over_by = story.now + timedelta(hours=2)
    data = NoticeData(stage="investigating", over_by=over_by)
    notice = Notice(kind=PLANNED, revision=1, consumer="a", channel=CHANNEL, text="x", data=data)
    story.says(NoticeQueued(notice=notice))

    before = owed(story.incident, SETUP, over_by - timedelta(minutes=1))
    [asked] = owed(story.incident, SETUP, over_by)
    story.now = over_by
    story.says(PromiseReminded(what=asked.what, due=asked.due, moment=asked.moment, people=(ANA,)))
    _, blocks = reminder_of_promise(story.incident, story.incident.entries[-1])
    silent = owed(story.incident, SETUP, over_by + timedelta(hours=1))
    [again] = owed(story.incident, SETUP, over_by + PLANNED_LASTS)

    assert (before, silent) == ((), ())
    assert (asked.what, again.what) == ("planned-end", "planned-end")
    assert "They expect it by" in str(blocks[0].to_dict())
