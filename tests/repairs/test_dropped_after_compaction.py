"""A duplicated commit goes although a compaction has written its rows into other files."""

import pytest
from pyspark.sql import SparkSession

from bot.domain.errors import Refused
from tests.repairs.compacting import added_by, compacts, on_lake
from tests.repairs.conftest import Positions
from tests.repairs.scene import RUN, RepairScene
from tests.tables import ORDERS

pytestmark = pytest.mark.slow

SEEN = ("ledger", "duplicate_commits", "duplicate_files")
ACTION = "drop_duplicated_commit"
ONE = "source_position = 5"


def test_the_compaction_is_undone_with_it(scene: RepairScene, writer: SparkSession, positions: Positions) -> None:
    """What was compacted comes back but for the repeated rows; what was committed since stays."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.flink.checkpoints(RUN, 1)
    compacts(scene, writer)
    scene.flink.checkpoints(RUN, 1)
    compacts(scene, writer)
    scene.opens(*SEEN, remedy="drop-duplicated-commit")

    proposed = scene.proposes(ACTION)
    rehearsal = scene.carries_out(proposed)

    told = " ".join(proposed.proposal.preview.sentences)
    assert "Add 5 files with 50 rows again" in told
    assert "This removes 10 rows." in told
    assert rehearsal.result is not None
    assert rehearsal.result.outcome == "applied", rehearsal.result
    assert positions(scene, "main") == sorted([*range(50), *range(20, 30)])
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == list(range(50))


def test_rows_that_were_deleted_since_do_not_come_back(scene: RepairScene, writer: SparkSession) -> None:
    """A delete after the duplicate: the files from before hold what it took away. The refusal names it."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    compacts(scene, writer)
    scene.orders.deletes(ONE)
    scene.opens(*SEEN, remedy="drop-duplicated-commit")

    with pytest.raises(Refused, match=r"deleted or overwrote rows, which would return.*deduplicate"):
        scene.proposes(ACTION)


def test_a_compaction_that_applied_deletes_is_not_undone(scene: RepairScene, writer: SparkSession) -> None:
    """The rows that a delete had taken away before are in the old files: the counts tell, and say so."""
    scene.flink.checkpoints(RUN, 2)
    merge_on_read = "SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')"
    on_lake(scene, writer, f"ALTER TABLE lake.{ORDERS} {merge_on_read}")
    on_lake(scene, writer, "DELETE FROM lake.sales.orders WHERE source_position = 5")
    scene.flink.checkpoints(RUN, 1)
    scene.commits_again(3)
    compacts(scene, writer)
    scene.opens(*SEEN, remedy="drop-duplicated-commit")

    with pytest.raises(Refused, match="would remove 9 rows instead of the 10 repeated ones"):
        scene.proposes(ACTION)


def test_files_that_expiry_has_removed_are_not_put_back(scene: RepairScene, writer: SparkSession) -> None:
    """The compaction stays, and the rows are deduplicated by key instead."""
    scene.flink.checkpoints(RUN, 3)
    [old] = added_by(scene, scene.orders.head)
    scene.commits_again(3)
    compacts(scene, writer)
    old.unlink()
    scene.opens(*SEEN, remedy="drop-duplicated-commit")

    with pytest.raises(Refused, match="which storage no longer has"):
        scene.proposes(ACTION)
