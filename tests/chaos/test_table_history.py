"""The rules count in the table's own metadata: what was done there is seen, also where no trace of it is left."""

import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from bot.domain.table import REPAIR
from tests.chaos import spoiling
from tests.chaos.table_history import table_history
from tests.tables import OrdersTable, rows


def test_moves_repairs_and_branches_are_seen(tmp_path: Path) -> None:
    """A branch that was begun twice and dropped twice leaves none behind, and is counted."""
    orders = OrdersTable(tmp_path)
    first = orders.commits("a", 1, range(10))
    second = orders.commits("a", 2, range(10, 20))
    table = orders.catalog.load_table("sales.orders")
    for _ in range(2):
        table.manage_snapshots().create_branch(second, "recovery-wl-1").commit()
        table.manage_snapshots().remove_branch("recovery-wl-1").commit()
    table.append(rows(range(20, 30)), snapshot_properties={REPAIR: "P/2"})
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    orders.close()

    seen = table_history(tmp_path)

    assert Counter({"recovery-wl-1": 2}) == seen.made
    assert frozenset() == seen.left
    assert ["P/2"] == list(seen.repairs.values())
    assert (1, 1, 3) == (seen.went_back, seen.published, seen.commits)
    assert Counter(range(10)) == seen.positions


def test_a_catalog_that_is_held_lets_nobody_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nobody else holds it then; afterwards it is free."""
    OrdersTable(tmp_path).close()
    told: list[str] = []

    def meanwhile(_seconds: float) -> None:
        with closing(sqlite3.connect(tmp_path / "catalog.db", timeout=0)) as other, pytest.raises(sqlite3.Error) as why:
            other.execute("UPDATE iceberg_tables SET metadata_location = 'elsewhere'")
        told.append(str(why.value))
        spoiling.hold_catalog(tmp_path, random.Random(1))  # noqa: S311 - held already: at once

    monkeypatch.setattr(spoiling.time, "sleep", meanwhile)
    monkeypatch.setattr(spoiling, "_PATIENCE_S", 0.0)
    spoiling.hold_catalog(tmp_path, random.Random(1))  # noqa: S311 - a seed that can be given again

    assert ["database is locked"] == told
    with closing(sqlite3.connect(tmp_path / "catalog.db", timeout=0)) as free:
        free.execute("BEGIN EXCLUSIVE")
