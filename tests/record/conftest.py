"""A record to take incidents from, and the writer of documents."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.service.record import Records
from tests.incidents import Story


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """An incident that is not opened yet."""
    store = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    yield Story(store.journal)
    store.close()


@pytest.fixture(scope="session")
def records() -> Records:
    """With the project's own templates."""
    return Records(Path(__file__).parents[2] / "messages" / "record")
