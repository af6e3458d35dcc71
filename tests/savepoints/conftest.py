"""One world a test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.savepoints.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A table, a job, a record."""
    made = World(tmp_path)
    yield made
    made.scene.catalog.close()
    made.scene.record.close()
