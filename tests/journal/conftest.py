"""A real SQLite file for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store, open_store


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Where this test's record lives."""
    return f"sqlite:///{tmp_path / 'record.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """The record, opened and migrated."""
    opened = open_store(url)
    yield opened
    opened.close()
