"""Which tests `make test` runs while somebody works, and which it leaves to `make test-all`.

Left to `make test-all` (marked `full`) is a test that is marked so itself, and, unless it is marked `smoke`, one that
needs a fixture or lies in a folder that is named here, or that is marked `slow`, `long` or `chaos`.
"""

import re
from pathlib import Path

import pytest

FOLDERS = ("actions", "catalogs", "repairs", "slack", "watch", "web")
"""A test there costs a tenth of a second to two seconds: it writes tables, starts bots and servers."""
FIXTURES = frozenset({"embedded", "slack"})
"""Spark, and a workspace for a whole bot."""
ALWAYS = ("slow", "long", "chaos")
_HERE = Path(__file__).parent
_MARKED = re.compile(rf"^pytestmark = .*\bmark\.({'|'.join(('full', *ALWAYS))})\b", re.MULTILINE)


def mark_full(items: list[pytest.Item]) -> None:
    """In place."""
    for item in items:
        takes_long = any(item.get_closest_marker(name) for name in ALWAYS)
        costs = takes_long or _is_below_a_folder(item.path) or FIXTURES & set(getattr(item, "fixturenames", ()))
        if costs and item.get_closest_marker("smoke") is None:
            item.add_marker("full")


def is_left(path: Path) -> bool:
    """Whether all tests of this file are `full`: to know that, it need not be imported."""
    if not path.name.startswith("test_"):
        return False
    text = path.read_text(encoding="utf-8")
    return "mark.smoke" not in text and (_is_below_a_folder(path) or _MARKED.search(text) is not None)


def _is_below_a_folder(path: Path) -> bool:
    return path.is_relative_to(_HERE) and path.relative_to(_HERE).parts[0] in FOLDERS
