"""The world that executions are tried on."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql.store import open_store
from tests.execution.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A rewind that was approved, and not begun."""
    with closing(open_store(f"sqlite:///{tmp_path}/journal.db")) as record:
        yield Scene(tmp_path, record)
