"""The world that the actions are tried on."""

import sys
from collections.abc import Iterator
from importlib import invalidate_caches
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


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules that this Python can import as `own_actions.…`."""
    folder = tmp_path / "own_actions"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    invalidate_caches()
    yield folder
    for name in [name for name in sys.modules if name.startswith("own_actions")]:
        del sys.modules[name]
