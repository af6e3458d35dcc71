"""The world that executions are tried on."""

from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store
from tests.execution.scene import Scene


@pytest.fixture
def scene(record: Store, tmp_path: Path) -> Scene:
    """A rewind that was approved, and not begun."""
    return Scene(tmp_path, record)
