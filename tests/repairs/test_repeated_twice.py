"""A commit is made twice once more, after an earlier one was dropped: only the new one is repaired."""

from contextlib import closing

import pytest

from bot.domain.errors import Refused
from bot.domain.ids import SnapshotId
from tests.little_flink import open_catalog
from tests.repairs.conftest import Positions
from tests.repairs.scene import RUN, RepairScene
from tests.tables import ORDERS

pytestmark = pytest.mark.slow

SEEN = ("ledger", "duplicate_commits", "duplicate_files", "duplicate_rows")
ACTION = "drop_duplicated_commit"


def commits_the_newest_again(scene: RepairScene) -> SnapshotId:
    """The answer to the newest commit was lost: its run commits the very files once more, under the same checkpoint."""
    with closing(open_catalog(scene.folder)) as catalog:
        table = catalog.load_table(ORDERS)
        newest = table.current_snapshot()
        assert newest is not None
        assert newest.summary is not None
        keys = {key: value for key, value in newest.summary.additional_properties.items() if key.startswith("flink.")}
        own = (m for m in newest.manifests(table.io) if m.added_snapshot_id == newest.snapshot_id)
        files = [entry.data_file for manifest in own for entry in manifest.fetch_manifest_entry(table.io)]
        with table.transaction() as change, change.update_snapshot(snapshot_properties=keys).fast_append() as append:
            for file in files:
                append.append_data_file(file)
    head = scene.table.head
    assert head is not None
    return head


def test_a_second_repeat_is_dropped_after_a_first_one(scene: RepairScene, positions: Positions) -> None:
    """The first repeat's files are gone, and its commit is still on main: it is no part of the second repair."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    scene.opens(*SEEN)
    scene.proves(scene.carries_out(scene.proposes(ACTION)))
    assert scene.proves(scene.carries_out(scene.proposes("publish_repair"))).passed
    again = commits_the_newest_again(scene)

    assert "F1" in scene.diagnosed_anew(*SEEN)
    made = scene.proposes(ACTION)
    rehearsal = scene.carries_out(made)

    assert made.proposal.title.endswith(f": …{str(again)[-6:]}")
    assert scene.proves(rehearsal).passed
    assert scene.proves(scene.carries_out(scene.proposes("publish_repair"))).passed
    live = positions(scene, "main")
    assert list(range(len(live))) == live


def test_what_the_evidence_has_found_since_is_diagnosed_first(scene: RepairScene) -> None:
    """A repair of the first repeat alone could not be proven, and the job would stand still for it."""
    scene.flink.checkpoints(RUN, 3)
    commits_the_newest_again(scene)
    scene.opens(*SEEN)
    scene.flink.checkpoints(RUN, 1)
    commits_the_newest_again(scene)
    for task in SEEN:
        scene.services.desk.run_now(scene.incident, task)

    with pytest.raises(Refused, match=r"older than the evidence.*Diagnose again"):
        scene.proposes(ACTION)
    assert "F1" in scene.diagnosed_anew()
    assert 20 == scene.proposes(ACTION).proposal.effects[-1].remove.rows
