"""The catalog's database is held by somebody else for a moment: who commits or reads meanwhile waits, or is told no."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from random import Random

_HELD_S = (0.5, 3.0, 7.0)
"""SQLite's clients wait for five seconds: the longest is refused."""
_PATIENCE_S = 0.5
"""So long it waits itself."""
_HOW = ("BEGIN IMMEDIATE", "BEGIN EXCLUSIVE")
"""Against commits alone, or against reads as well."""


def hold_catalog(folder: Path, random: Random) -> None:
    """Takes it, unless somebody else holds it; returns when it is given back."""
    with closing(sqlite3.connect(folder / "catalog.db", timeout=_PATIENCE_S, isolation_level=None)) as catalog:
        try:
            catalog.execute(random.choice(_HOW))
        except sqlite3.OperationalError:
            return
        time.sleep(random.choice(_HELD_S))
        catalog.execute("ROLLBACK")
