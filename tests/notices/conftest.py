"""The project's own templates, and a record to take incidents from."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store
from bot.notices import NoticeTemplate, scan
from tests.incidents import Story

MESSAGES = Path(__file__).parents[2] / "messages"


@pytest.fixture(scope="session")
def templates() -> Mapping[str, NoticeTemplate]:
    """Every notice of the project."""
    return scan(MESSAGES)


@pytest.fixture
def story(record: Store) -> Story:
    """An incident that is not opened yet."""
    return Story(record.journal)
