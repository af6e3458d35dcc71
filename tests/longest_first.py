"""In which order xdist gives files to its workers: those with the longest tests first.

By itself it begins with the files of the most tests (`--no-loadscope-reorder` says otherwise), and leaves for the end
the walks of a whole incident, one or two minutes each and one or two in a file: one worker still walks while the other
has nothing left to do.
"""

from collections import Counter
from collections.abc import Set
from pathlib import Path

import pytest

LONG: Set[str] = frozenset({"fresh_lab", "demo", "up", "embedded"})
"""Fixtures that stand for a real Flink cluster, or for Spark."""


def put_longest_first(items: list[pytest.Item]) -> None:
    """In place; the order within a file stays, and a file stays together."""
    sizes: Counter[Path] = Counter(item.path for item in items)
    long = {item.path for item in items if LONG & set(getattr(item, "fixturenames", ()))}
    items.sort(key=lambda item: (item.path not in long, -sizes[item.path]))
