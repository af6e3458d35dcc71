"""Whether rows are missing can never be told of some tables: that keeps none under review whose repair lost no row."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.adapters.spark import SparkEvidenceRunner
from bot.incident.entries import Check, Verified
from tests.repairs.compacting import added_by, compacts
from tests.repairs.scene import RUN, RepairScene
from tests.tables import CONTRACT

pytestmark = pytest.mark.slow


@pytest.fixture
def scene(tmp_path: Path, runner: SparkEvidenceRunner) -> Iterator[RepairScene]:
    """Its position is no whole number."""
    contract = CONTRACT.model_copy(update={"position": "event_time", "event_time": None})
    with closing(RepairScene(tmp_path, runner, contract=contract)) as made:
        yield made


def published(scene: RepairScene) -> tuple[Verified, Check]:
    """The proof of main after the repair's publication, and what it says of missing rows."""
    scene.opens("ledger", "unreadable_files")
    rehearsal = scene.proves(scene.carries_out(scene.proposes("repair_unreadable_files")))
    assert rehearsal.passed, rehearsal.checks
    proof = scene.proves(scene.carries_out(scene.proposes("publish_repair")))
    [gaps] = [check for check in proof.checks if check.name == "No missing rows"]
    return proof, gaps


def test_a_repair_that_put_every_file_back_is_proven(scene: RepairScene, writer: SparkSession) -> None:
    """A compaction's files are lost, and those that it had replaced come back; the question stays open, as before."""
    scene.flink.checkpoints(RUN, 2)
    for file in added_by(scene, compacts(scene, writer)):
        file.unlink()

    proof, gaps = published(scene)

    assert (proof.passed, gaps.passed) == (True, None), proof.checks
    assert "The repair removed no row, so this does not keep" in gaps.sentence


def test_a_repair_that_dropped_rows_is_not_and_it_is_said_how_the_review_ends(scene: RepairScene) -> None:
    """A file is lost for good: nobody can say that nothing else is missing."""
    scene.flink.checkpoints(RUN, 3)
    [file] = added_by(scene, scene.table.chain[-2].snapshot_id)
    file.unlink()

    proof, gaps = published(scene)

    assert (proof.passed, gaps.passed) == (False, None)
    assert "If it can never be checked, notify the consumers and close the incident." in gaps.sentence
