"""The world that the actions are tried on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.actions.scene import Scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Run a has committed checkpoints 1 to 3 and is alive."""
    made = Scene.made_in(tmp_path)
    yield made
    made.catalog.close()
    made.record.close()
