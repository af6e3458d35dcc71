"""Of a table that is configured no more, only what then needs a hand is said to need one."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import MaintenanceMarked, PromiseReminded
from bot.slack.blocks.promises import reminder_of_promise
from tests.decisions import ANA
from tests.incidents import Story


@pytest.mark.parametrize(("what", "by_hand"), [("thaw", False), ("next-update", True)])
def test_a_hand_is_asked_for_where_waterline_cannot(
    what: Literal["thaw", "next-update"], by_hand: bool, tmp_path: Path
) -> None:
    """`/waterline thaw` goes on without a configuration; a notice is not previewed."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        story = Story(store.journal).opens()
        story.says(MaintenanceMarked(status="frozen", sentence="So it is."), by=ANA)
        due = story.now
        story.now += timedelta(hours=8)
        story.says(PromiseReminded(what=what, due=due, moment=due, people=(ANA,), is_unconfigured=True))
        incident = story.incident

    shown = str([block.to_dict() for block in reminder_of_promise(incident, incident.entries[-1])[1]])

    assert ("Do this by hand" in shown) == by_hand
