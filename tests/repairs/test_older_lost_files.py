"""Lost files of commits below the window are repaired in one proposal with the window's, and proven by both looks."""

import pytest

from bot.domain.ids import short
from tests.repairs.compacting import added_by
from tests.repairs.conftest import Positions
from tests.repairs.scene import RUN, RepairScene

pytestmark = pytest.mark.slow


def test_older_files_are_repaired_with_the_windows(scene: RepairScene, positions: Positions) -> None:
    """Nobody had asked for the whole table: proposing does. Afterwards every row that is left can be read."""
    scene.flink.checkpoints(RUN, 3)
    old, since, new = (each.snapshot_id for each in reversed(scene.table.chain))
    for commit in (old, new):
        [file] = added_by(scene, commit)
        file.unlink()
    scene.opens("ledger", "unreadable_files", since=since, remedy="repair-unreadable-files")

    proposed = scene.proposes("repair_unreadable_files")
    proof = scene.proves(scene.carries_out(proposed))

    said = " ".join(proposed.proposal.preview.sentences)
    assert "Drop the references to 2 files with 20 rows" in said
    assert f"{short(new)} 10 rows, {short(old)} 10 rows" in said
    assert proof.passed, proof.checks
    assert {"missing_files", "unreadable_files"} <= {run.task for run in scene.store.get(scene.incident).runs.values()}
    assert positions(scene, proposed.proposal.rehearses_on or "") == list(range(10, 20))
