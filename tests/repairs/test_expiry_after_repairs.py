"""What a repair leaves live outlives the expiry of every commit below the head, by Iceberg's own Java."""

import pytest
from pyspark.sql import SparkSession

from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import short
from bot.ports import TableChange
from tests.repairs.compacting import added_by, compacts
from tests.repairs.conftest import Positions
from tests.repairs.java_expiry import expires_all_but_the_head
from tests.repairs.scene import ANA, RUN, RepairScene
from tests.tables import ORDERS

pytestmark = pytest.mark.slow


def test_a_file_that_two_commits_named_outlives_the_repair(scene: RepairScene, positions: Positions) -> None:
    """The dropped reference is not left as "deleted": Java would delete the file by that, though the other names it."""
    scene.flink.checkpoints(RUN, 2)
    [file] = added_by(scene, scene.orders.head)
    scene.orders.names_again("a", 2, [file.name])
    scene.opens("ledger", "duplicate_commits", "duplicate_files")
    _repairs(scene, "drop_duplicated_commit")

    _expires(scene)

    assert len(scene.table.snapshots) == 1
    assert positions(scene, "main") == list(range(40))


def test_what_a_compaction_had_replaced_outlives_it(
    scene: RepairScene, writer: SparkSession, positions: Positions
) -> None:
    """The compaction stays below main and says that it deleted what the repair has put back: a tag keeps it.
    With their next compaction nobody needs it any more."""
    scene.flink.checkpoints(RUN, 2)
    compacted = compacts(scene, writer)
    for file in added_by(scene, compacted):
        file.unlink()
    scene.opens("ledger", "unreadable_files")
    published = _repairs(scene, "repair_unreadable_files")
    tag = f"recovery-{scene.incident}-keeps-{compacted}"

    _expires(scene)

    assert positions(scene, "main") == list(range(40))
    assert {s.snapshot_id for s in scene.table.snapshots} == {compacted, scene.table.head}
    said = " ".join(published.proposal.preview.sentences)
    assert f"Tag compaction {short(compacted)} as {tag}: its expiry would delete files" in said
    assert f"The tag {tag} stays until the files" in published.proposal.undo
    compacts(scene, writer)
    _expires(scene, tag)
    assert positions(scene, "main") == list(range(40))


@pytest.mark.long
def test_what_two_compactions_had_replaced_outlives_them(
    scene: RepairScene, writer: SparkSession, positions: Positions
) -> None:
    """With the repeated commit both are undone: each of them is kept."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    first = compacts(scene, writer)
    scene.flink.checkpoints(RUN, 1)
    second = compacts(scene, writer)
    scene.opens("ledger", "duplicate_commits", "duplicate_files", remedy="drop-duplicated-commit")
    _repairs(scene, "drop_duplicated_commit")

    _expires(scene)

    assert positions(scene, "main") == list(range(60))
    assert {s.snapshot_id for s in scene.table.snapshots} == {first, second, scene.table.head}


@pytest.mark.long
def test_an_undo_leaves_the_tag(scene: RepairScene, writer: SparkSession) -> None:
    """What is undone may be published again; no expiry may have taken its files meanwhile."""
    scene.flink.checkpoints(RUN, 2)
    compacted = compacts(scene, writer)
    for file in added_by(scene, compacted):
        file.unlink()
    scene.opens("ledger", "unreadable_files")
    _repairs(scene, "repair_unreadable_files")

    undone = scene.carries_out(scene.undoes())

    assert undone.state is ProposalState.APPLIED, undone.result
    assert compacted in scene.table.chain_ids
    assert scene.table.ref(f"recovery-{scene.incident}-keeps-{compacted}") == compacted


def _repairs(scene: RepairScene, action: str) -> ProposalView:
    """Rehearsed, proven, published; the job goes on with two more checkpoints. The publication."""
    assert scene.proves(scene.carries_out(scene.proposes(action))).passed
    published = scene.carries_out(scene.proposes("publish_repair"))
    assert scene.proves(published).passed
    return published


def _expires(scene: RepairScene, *tags: str) -> None:
    """The incident is over: maintenance goes on, and nobody needs the tag of the state that was left any more, nor
    these."""
    scene.services.maintenance.thaw(scene.incident, by=ANA)
    table = scene.table
    left = [ref.name for ref in table.refs if ref.name.startswith(f"{scene.incident}-left")]
    gone = TableChange(expected_uuid=table.uuid, expected_head=table.head, remove_refs=(*left, *tags))
    scene.catalog.commit(ORDERS, gone)
    expires_all_but_the_head(scene.folder)
