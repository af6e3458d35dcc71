"""App Home names the end of planned work by the time that consumers were told."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import NoticeQueued
from bot.domain.notice import PLANNED, Notice, NoticeData
from tests.decisions import ANA
from tests.home.test_own_things import home
from tests.incidents import Story


@pytest.mark.parametrize("is_said", [True, False])
def test_the_end_of_planned_work_is_due_when_it_was_said_to_be_over(tmp_path: Path, is_said: bool) -> None:
    """A day after the announcement only where nobody said when."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        story = Story(store.journal).opens(planned=True)
        over_by = story.now + timedelta(hours=2) if is_said else None
        data = NoticeData(stage="investigating", over_by=over_by)
        notice = Notice(kind=PLANNED, revision=1, consumer="a", channel="C0REVENUE2", text="x", data=data)
        story.says(NoticeQueued(notice=notice))

        [promise] = home(ANA, story).promises

        assert promise.what == "notify consumers that planned work is over"
        assert promise.at == (over_by or story.now + timedelta(days=1))
