"""In format 3 a row says which commit wrote or changed it last: a rewrite of its file does not make it another's."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.domain.evidence import Verdict
from bot.domain.ids import SnapshotId
from spark_tasks import _before_compaction
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_rows import duplicates_of, pairs_of
from tests.evidence.test_extra_copies import found_by
from tests.merges import MergedTable

pytestmark = pytest.mark.slow


def replayed(
    session: SparkSession, folder: Path, version: int, mode: str = "copy-on-write"
) -> tuple[MergedTable, SnapshotId, tuple[int, int]]:
    """Five keys come again: (the table, the commit below, the commit that brought them and the one that repeats)."""
    table = MergedTable(session, folder, mode=mode, version=version)
    before = table.commits("a", 1, 0, 10)
    commits = table.commits("a", 2, 10, 20), table.commits("b", 2, 15, 25)
    return table, before, commits


@pytest.mark.parametrize(
    "then",
    ["nothing", pytest.param("a compaction", marks=pytest.mark.long), "a compaction of those below the window too"],
)
def test_rows_that_a_delete_copied_are_those_of_their_writer(
    session: SparkSession, asks: Asks, tmp_path: Path, then: str
) -> None:
    """It copied those beside the row that it took, and so would seem to have brought them itself."""
    table, before, (first, again) = replayed(session, tmp_path, 3)
    table.deletes("order_id = 19")
    if then != "nothing":
        table.compacts("true" if "too" in then else "order_id >= 10")
    ask = table.ask(before)

    copies, extra = asks("duplicate_rows", ask), found_by(asks("extra_copies", ask))

    assert copies.verdict is Verdict.CONFIRMED
    assert pairs_of(copies) == {(first, again, 4)}
    assert [(each.snapshot_id, each.rows) for each in extra.commits] == [(again, 4)]


@pytest.mark.parametrize(("version", "hidden"), [(3, 0), pytest.param(2, 5, marks=pytest.mark.long)])
def test_behind_a_compaction_that_is_not_looked_behind_rows_name_their_writer(
    session: SparkSession, asks: Asks, tmp_path: Path, version: int, hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In format 2 rows say nothing, and the writer stays hidden."""
    table, before, (first, again) = replayed(session, tmp_path, version, "merge-on-read")
    table.compacts()
    table.deletes("order_id = 0")
    monkeypatch.setattr(_before_compaction, "MAX_COMPACTIONS", 0)
    ask = table.ask(before)

    copies, extra = asks("duplicate_rows", ask), found_by(asks("extra_copies", ask))

    if version == 3:
        assert pairs_of(copies) == {(first, again, 5)}
        assert [(each.snapshot_id, each.rows) for each in extra.commits] == [(again, 5)]
    assert (duplicates_of(copies).keys, duplicates_of(copies).across_subtasks) == (5, 0)
    assert (duplicates_of(copies).hidden, extra.hidden) == (hidden, hidden)


def test_rows_that_were_compacted_before_the_upgrade_name_nobody(
    session: SparkSession, asks: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them say the newest commit before the compaction (measured: Iceberg gives its number to the file)."""
    table, before, _ = replayed(session, tmp_path, 2, "merge-on-read")
    table.compacts()
    table.sets("format-version", "3")
    table.commits("b", 3, 25, 30)
    table.deletes("order_id = 0")
    monkeypatch.setattr(_before_compaction, "MAX_COMPACTIONS", 0)

    found = duplicates_of(asks("duplicate_rows", table.ask(before)))

    assert (found.keys, found.hidden, found.pairs) == (5, 5, ())
