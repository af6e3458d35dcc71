"""A record, a table whose contract is a file, and the review of an incident on it."""

import pytest

from bot.adapters.journal_sql import Store
from tests.incidents import Story


@pytest.fixture
def stories(record: Store) -> list[Story]:
    """Incidents of one record, not opened yet; the first is the oldest."""
    return [Story(record.journal) for _ in range(3)]
