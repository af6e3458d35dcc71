"""What a repair leaves live outlives the expiry of every commit below the head, by Iceberg's own Java."""

import pytest

from bot.ports import TableChange
from tests.repairs.compacting import added_by
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


def _repairs(scene: RepairScene, action: str) -> None:
    """Rehearsed, proven, published; the job goes on with two more checkpoints."""
    scene.proves(scene.carries_out(scene.proposes(action)))
    scene.proves(scene.carries_out(scene.proposes("publish_repair")))


def _expires(scene: RepairScene) -> None:
    """The incident is over: maintenance goes on, and nobody needs the tag of the state that was left any more."""
    scene.services.maintenance.thaw(scene.incident, by=ANA)
    table = scene.table
    left = tuple(ref.name for ref in table.refs if f"{scene.incident}-left" in ref.name)
    scene.catalog.commit(ORDERS, TableChange(expected_uuid=table.uuid, expected_head=table.head, remove_refs=left))
    expires_all_but_the_head(scene.folder)
