"""A table that two faults have damaged is trusted when both are mended, and not when one of them is."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.spark import SparkEvidenceRunner
from bot.domain.entries import Verified, WaterlineMoved
from bot.domain.lowering import owed_mark
from tests.repairs.compacting import added_by
from tests.repairs.conftest import Positions
from tests.repairs.recipes import declared
from tests.repairs.scene import RUN, RepairScene

pytestmark = pytest.mark.slow
GAP = "No row is missing"


@pytest.fixture
def scene(tmp_path: Path, runner: SparkEvidenceRunner) -> Iterator[RepairScene]:
    """Its rows can be made again from a declared source."""
    with closing(RepairScene(tmp_path, runner, replay=declared("range(0, 200)"))) as made:
        yield made


def loses_a_file(scene: RepairScene) -> None:
    """Of the second of three commits: positions 10 to 19."""
    [file] = added_by(scene, scene.table.chain[-2].snapshot_id)
    file.unlink()


def published(scene: RepairScene, action: str) -> Verified:
    """The repair is proven on its branch, published, and main is proven."""
    rehearsal = scene.proves(scene.carries_out(scene.proposes(action)))
    assert rehearsal.passed, rehearsal.checks
    return scene.proves(scene.carries_out(scene.proposes("publish_repair")))


def failed(proof: Verified) -> dict[str, str]:
    """What did not hold -> what was found."""
    return {check.name: check.sentence for check in proof.checks if not check.passed}


def owed(scene: RepairScene) -> WaterlineMoved | None:
    """Where the waterline belongs now."""
    return owed_mark(scene.store.get(scene.incident), scene.table)


def test_a_gap_that_another_fault_has_left_keeps_a_repaired_table_under_review(
    scene: RepairScene, positions: Positions
) -> None:
    """The job has skipped 30 to 39, then a file is lost: its repair drops ten rows more. Replayed, all is proven."""
    scene.flink.checkpoints(RUN, 3)
    scene.orders.commits("a", 5, range(40, 50))
    scene.flink.stands_at(RUN, 5)
    scene.opens("ledger", "missing_positions", "duplicate_rows")
    loses_a_file(scene)
    scene.diagnosed_anew("unreadable_files", "missing_files")

    dropped = published(scene, "repair_unreadable_files")

    assert list(failed(dropped)) == [GAP]
    assert "20 positions are missing in 2 gaps" in failed(dropped)[GAP]
    assert "until these rows are replayed (/waterline propose replay_source_range)" in failed(dropped)[GAP]
    under_review = owed(scene)
    assert under_review is not None
    assert under_review.status == "under-review"

    replayed = published(scene, "replay_source_range")

    assert replayed.passed, replayed.checks
    assert GAP in {check.name for check in replayed.checks}
    assert positions(scene, "main") == list(range(len(positions(scene, "main"))))
    assert owed(scene) == WaterlineMoved(snapshot=replayed.head, status="trusted")
