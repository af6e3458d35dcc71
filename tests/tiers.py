"""Which tests `make test` runs while somebody works, and which it leaves to `make test-all`.

Left to `make test-all` (marked `full`) is a test that is marked so itself, and, unless it is marked `smoke`, one that
needs a fixture or lies in a folder that is named here, or that is marked `slow`, `long` or `chaos`.

Of the tests that are marked `rotating`, which are many of one kind, and of those that need Spark and are not marked
`smoke`, a third runs on a day, and all in three days. The others of the day are `long`, so `make test-long` runs them.
`WATERLINE_DAY=2` chooses another third.
"""

import os
import re
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

import pytest

FOLDERS = ("actions", "catalogs", "repairs", "slack", "watch", "web")
"""A test there costs a tenth of a second to two seconds: it writes tables, starts bots and servers."""
SPARK = "embedded"
FIXTURES = frozenset({SPARK, "slack"})
"""Spark, and a workspace for a whole bot."""
ALWAYS = ("slow", "long", "chaos")
PARTS = 3
"""Into so many parts the tests that are marked `rotating` are divided."""
DAY = int(os.environ.setdefault("WATERLINE_DAY", str(datetime.now(UTC).toordinal())))
"""Of all workers of a run, which take the environment over: it may begin before midnight and end after it."""
_HERE = Path(__file__).parent
_MARKED = re.compile(rf"^pytestmark = .*\bmark\.({'|'.join(('full', *ALWAYS))})\b", re.MULTILINE)


def rotate(items: list[pytest.Item]) -> None:
    """In place, before `mark_full`."""
    today = DAY % PARTS
    for item in items:
        if _takes_turns(item) and crc32(item.nodeid.encode()) % PARTS != today:
            item.add_marker("long")


def _takes_turns(item: pytest.Item) -> bool:
    is_on_spark = SPARK in getattr(item, "fixturenames", ()) and item.get_closest_marker("smoke") is None
    return is_on_spark or item.get_closest_marker("rotating") is not None


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
