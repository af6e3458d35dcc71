"""A record to take incidents from, and the writer of documents."""

from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store
from bot.service.record import Records
from tests.incidents import Story


@pytest.fixture
def story(record: Store) -> Story:
    """An incident that is not opened yet."""
    return Story(record.journal)


@pytest.fixture(scope="session")
def records() -> Records:
    """With the project's own templates."""
    return Records(Path(__file__).parents[2] / "messages" / "record")
