"""A reminder of a freeze tells the end that stood when it was made, and the one that was said in answer as such."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import MaintenanceMarked, PromiseReminded
from bot.slack.blocks.promises import reminder_of_promise
from tests.decisions import ANA, BEN
from tests.incidents import Story


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """Open since nine."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens()


def frozen(story: Story, *, hours: int | None = None) -> None:
    """For so many hours from now, where that is said."""
    until = None if hours is None else story.now + timedelta(hours=hours)
    story.says(MaintenanceMarked(status="frozen", sentence="So it is.", until=until), by=BEN)


def reminded(story: Story, *, after: timedelta) -> int:
    """The number of the reminder's entry."""
    since = story.incident.frozen_at
    assert since is not None
    story.now += after
    return story.says(PromiseReminded(what="thaw", due=since, moment=since, people=(ANA,))).incident.entries[-1].seq


def shown(story: Story, seq: int) -> str:
    """The reminder as it is drawn now."""
    incident = story.incident
    entry = next(each for each in incident.entries if each.seq == seq)
    return str([block.to_dict() for block in reminder_of_promise(incident, entry)[1]])


def test_an_end_that_is_said_in_answer_is_not_told_as_one_that_has_passed(story: Story) -> None:
    """What there was to choose is chosen."""
    frozen(story)
    seq = reminded(story, after=timedelta(hours=8))
    before = shown(story, seq)
    frozen(story, hours=5)

    after = shown(story, seq)

    assert "type `/waterline thaw`" in before
    assert "was to end by" not in before + after
    assert f"<@{BEN}> extended it until 22:04 UTC." in after
    assert "freeze until 18:00" not in after


def test_the_end_that_stood_is_told_beside_the_new_one(story: Story) -> None:
    """Each where it belongs."""
    frozen(story, hours=2)
    seq = reminded(story, after=timedelta(hours=2))
    frozen(story, hours=3)

    told = shown(story, seq)

    assert "planned end 11:02 UTC" in told
    assert f"<@{BEN}> extended it until 14:04 UTC." in told


def test_an_end_of_an_earlier_freeze_is_not_told_of_this_one(story: Story) -> None:
    """It went with its thaw."""
    frozen(story, hours=2)
    story.says(MaintenanceMarked(status="thawed", sentence="So it is."))
    frozen(story)

    assert "was to end by" not in shown(story, reminded(story, after=timedelta(hours=8)))
