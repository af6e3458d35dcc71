"""Where the newest proof puts the waterline."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import WaterlineMoved
from bot.service.waterline import proven_waterline
from tests import orders_table as orders
from tests.incidents import Story
from tests.published import MENDED, publishes, undoes_the_rewind


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """An incident that is not opened yet."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal)


def test_without_a_proof_nothing_is_said(story: Story) -> None:
    """Opening put it where it is."""
    assert proven_waterline(story.opens().incident) is None


def test_a_second_repair_of_an_incident_takes_the_waterline_along(story: Story) -> None:
    """The state that was trusted first had to be mended again: it is trusted no more."""
    story.opens()
    story.says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))

    publishes(story)

    assert proven_waterline(story.incident) == WaterlineMoved(snapshot=MENDED, status="trusted")


def test_an_undo_takes_it_back(story: Story) -> None:
    """The fault is there again."""
    undoes_the_rewind(publishes(story.opens()))

    assert proven_waterline(story.incident) == WaterlineMoved(snapshot=orders.GOOD, status="under-review")
