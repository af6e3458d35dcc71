"""Whether a compaction kept its rows, where deletes elsewhere in the table keep the counters from telling."""

import json
from pathlib import Path

from pyspark.sql import SparkSession

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import CorrectedRowsFinding
from bot.domain.ids import SnapshotId
from bot.domain.other_writers import rows_lost_by_replacing
from tests.evidence.conftest import Asks
from tests.merges import MergedTable


def lost_of(answer: Answer) -> dict[SnapshotId, int]:
    """Compaction -> rows that it lost."""
    assert isinstance(answer.finding, CorrectedRowsFinding)
    return {each.snapshot_id: each.lost for each in answer.finding.compactions}


def as_compaction(table: MergedTable) -> SnapshotId:
    """The newest commit, told as a compaction: files were replaced, and what it says of its rows is all true."""
    location = Path(table.state().metadata_location.removeprefix("file://"))
    told = json.loads(location.read_text())
    told["snapshots"][-1]["summary"]["operation"] = "replace"
    location.write_text(json.dumps(told))
    (location.parent / f".{location.name}.crc").unlink(missing_ok=True)
    table.refreshes()
    return table.head


def deleted_from(session: SparkSession, folder: Path, granularity: str = "partition") -> MergedTable:
    """Two files, from which 20 and 50 rows were deleted by position: by one delete file for both, or one for each."""
    table = MergedTable(session, folder, mode="merge-on-read")
    table.sets("write.delete.granularity", granularity)
    table.inserts(0, 100)
    table.inserts(100, 200)
    table.deletes("order_id >= 60 AND order_id % 2 = 0")
    return table


def test_a_compaction_beside_deletes_that_drops_live_rows_is_told(
    session: SparkSession, asks: Asks, tmp_path: Path
) -> None:
    """No more rows are gone than there are deletes, but most of the deletes are of the other file."""
    table = deleted_from(session, tmp_path)
    before = table.inserts(200, 210)
    table.sets("write.delete.mode", "copy-on-write")
    table.deletes("order_id < 50")
    compaction = as_compaction(table)

    answer = asks("corrected_rows", table.ask(before))

    assert rows_lost_by_replacing(table.state(), table.state().by_id[compaction]) == 0
    assert lost_of(answer) == {compaction: 50}
    assert answer.verdict is Verdict.CONFIRMED
    assert isinstance(answer.finding, CorrectedRowsFinding)
    assert answer.finding.gone == 50
    assert f"compaction …{str(compaction)[-6:]} lost 50 rows" in answer.headline


def test_a_compaction_that_works_deletes_in_lost_nothing(session: SparkSession, asks: Asks, tmp_path: Path) -> None:
    """A real one: its counters tell 20 rows fewer, and the delete file stays for the other file."""
    table = deleted_from(session, tmp_path)
    before = table.inserts(200, 210)
    compaction = table.compacts("order_id < 100")

    answer = asks("corrected_rows", table.ask(before))

    assert lost_of(answer) == {compaction: 0}
    assert answer.verdict is Verdict.RULED_OUT


def test_a_compaction_that_removes_the_deletes_too_is_not_compared(
    session: SparkSession, asks: Asks, tmp_path: Path
) -> None:
    """Delete files of one data file go with it, and count just the rows that are gone."""
    table = deleted_from(session, tmp_path, "file")
    before = table.inserts(200, 210)
    table.compacts()

    assert lost_of(asks("corrected_rows", table.ask(before))) == {}


def test_a_compaction_of_untouched_files_is_not_compared(session: SparkSession, asks: Asks, tmp_path: Path) -> None:
    """Its counters tell that it wrote what it read."""
    table = MergedTable(session, tmp_path, mode="merge-on-read")
    table.inserts(0, 100)
    before = table.inserts(100, 200)
    table.compacts()

    assert lost_of(asks("corrected_rows", table.ask(before))) == {}


def test_without_a_key_nothing_is_compared(session: SparkSession, asks: Asks, tmp_path: Path) -> None:
    """The answer says what to name."""
    table = deleted_from(session, tmp_path)
    before = table.inserts(200, 210)
    table.compacts()

    answer = asks("corrected_rows", table.ask(before).model_copy(update={"contract": TableContract()}))

    assert answer.verdict is Verdict.INCONCLUSIVE
