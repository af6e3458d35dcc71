"""An action of somebody else's: one file outside the package, named in the settings."""

import re
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest

from bot import actions
from bot.actions._scan import scan
from bot.domain.errors import BadConfiguration

EXAMPLE = re.search(
    r"^```python\n# bot/actions/restore_nothing\.py\n(.*?)^```$",
    (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of modules that this Python can import as `own_actions.…`, with the documented example in it."""
    folder = tmp_path / "own_actions"
    folder.mkdir()
    (folder / "__init__.py").touch()
    assert EXAMPLE is not None
    (folder / "restore_nothing.py").write_text(EXAMPLE[1], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    invalidate_caches()
    yield folder
    for name in [name for name in sys.modules if name.startswith("own_actions")]:
        del sys.modules[name]


def test_the_documented_example_is_found_beside_the_actions_of_the_package(own: Path) -> None:
    """Nothing of the package is touched for it."""
    found = scan(actions, ["own_actions.restore_nothing"])

    assert found["restore_nothing"].action.promise == "Nothing is changed."
    assert set(scan(actions)) == set(found) - {"restore_nothing"}


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("own_actions.restore_everything", "Install the package that holds it beside Waterline"),
        ("own_actions.half", "Write both"),
        ("own_actions.undo_proposal", "There are two actions undo_proposal"),
    ],
)
def test_what_cannot_be_used_stops_the_start_with_what_to_write(own: Path, named: str, says: str) -> None:
    """An action that is missing at three in the morning is worse than a start that does not come."""
    (own / "half.py").write_text("ACTION = None\n", encoding="utf-8")
    taken = (own / "restore_nothing.py").read_text(encoding="utf-8").replace("restore_nothing", "undo_proposal")
    (own / "undo_proposal.py").write_text(taken, encoding="utf-8")

    with pytest.raises(BadConfiguration) as refused:
        scan(actions, [named])

    assert says in str(refused.value)
