"""Files that are gone from storage, and commits that were taken off main."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.incident.execution import ProposalState
from bot.observation.ids import short
from tests.little_flink import JOB
from tests.repairs.compacting import added_by, compacts, on_lake
from tests.repairs.conftest import Positions
from tests.repairs.scene import RUN, RepairScene
from tests.tables import ORDERS, job, of_flink, rows

pytestmark = [pytest.mark.slow, pytest.mark.rotating]


def test_references_to_lost_files_are_dropped_and_the_loss_is_stated(scene: RepairScene, positions: Positions) -> None:
    """Rows and range of what is lost stand in the preview; afterwards the table can be read."""
    scene.flink.checkpoints(RUN, 2)
    lost = scene.orders.commits_files("a", 3, {"00000-0-lost-00001.parquet": range(20, 30)})
    scene.flink.stands_at(RUN, 3)
    (scene.orders.data_folder / "00000-0-lost-00001.parquet").unlink()
    scene.opens("ledger", "unreadable_files")

    proposed = scene.proposes("repair_unreadable_files")
    proof = scene.proves(scene.carries_out(proposed))

    told = " ".join(proposed.proposal.preview.sentences)
    assert "1 file with 10 rows (source_position 20 to 29;" in told
    assert "The table lacks these rows" in told
    assert proof.passed, proof.checks
    assert scene.table.head == lost
    scene.carries_out(scene.proposes("publish_repair"))
    assert positions(scene, "main") == [*range(20), *range(30, 50)]


def test_a_file_that_comes_back_after_the_approval_is_not_dropped(scene: RepairScene, positions: Positions) -> None:
    """Its rows would be lost for nothing: what is to be removed is no longer what was approved."""
    scene.flink.checkpoints(RUN, 2)
    [file] = added_by(scene, scene.orders.head)
    aside = file.rename(scene.folder / file.name)
    scene.opens("ledger", "unreadable_files")
    proposed = scene.proposes("repair_unreadable_files")
    aside.rename(file)

    done = scene.carries_out(proposed)

    assert done.state is not ProposalState.APPLIED
    assert "the files to be removed are not the approved ones" in done.result.sentence
    assert positions(scene, proposed.proposal.rehearses_on or "") == list(range(20))


def test_what_a_compaction_replaced_is_put_back_where_its_own_files_are_lost(
    scene: RepairScene, writer: SparkSession, positions: Positions
) -> None:
    """The old files are still whole, so no row is lost; the repair is proven, published, and the job goes on."""
    scene.flink.checkpoints(RUN, 2)
    compacted = compacts(scene, writer)
    for file in added_by(scene, compacted):
        file.unlink()
    scene.opens("ledger", "unreadable_files")

    proposed = scene.proposes("repair_unreadable_files")
    proof = scene.proves(scene.carries_out(proposed))
    done = scene.carries_out(scene.proposes("publish_repair"))

    assert proposed.proposal.title == f"Repair unreadable files: undo compaction {short(compacted)}"
    said = " ".join(proposed.proposal.preview.sentences)
    assert "Add 2 files with 20 rows again" in said
    assert "No row is lost." in said
    assert proof.passed, proof.checks
    assert scene.proves(done).passed
    assert positions(scene, "main") == list(range(40))


def test_a_compaction_whose_old_files_are_gone_too_is_repaired_by_dropping(
    scene: RepairScene, writer: SparkSession, positions: Positions
) -> None:
    """What was replaced cannot be put back in part: the loss is stated instead."""
    scene.flink.checkpoints(RUN, 2)
    before = [Path(file) for file in scene.orders.data_folder.iterdir() if file.suffix == ".parquet"]
    compacted = compacts(scene, writer)
    for file in (*added_by(scene, compacted), before[0]):
        file.unlink()
    scene.opens("ledger", "unreadable_files")

    proposed = scene.proposes("repair_unreadable_files")

    assert "drop" in proposed.proposal.title
    assert "The table lacks these rows" in " ".join(proposed.proposal.preview.sentences)


def test_rows_that_were_deleted_from_a_compaction_do_not_come_back(
    scene: RepairScene, writer: SparkSession, positions: Positions
) -> None:
    """By delete files the compaction stays as it was, but what it had replaced knows nothing of them: it is dropped."""
    scene.flink.checkpoints(RUN, 2)
    compacted = compacts(scene, writer)
    on_lake(scene, writer, f"ALTER TABLE lake.{ORDERS} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    on_lake(scene, writer, f"DELETE FROM lake.{ORDERS} WHERE source_position = 5")  # noqa: S608 - a name of ours
    for file in added_by(scene, compacted):
        file.unlink()
    scene.opens("ledger", "unreadable_files", remedy="repair-unreadable-files")

    proposed = scene.proposes("repair_unreadable_files")
    rehearsal = scene.carries_out(proposed)

    assert "drop 1 file" in proposed.proposal.title
    assert positions(scene, rehearsal.proposal.rehearses_on or "") == []


def test_lost_commits_are_added_again_above_what_came_since(scene: RepairScene, positions: Positions) -> None:
    """Their positions were not read again; the sink finds their checkpoint committed."""
    scene.flink.checkpoints(RUN, 2)
    target = scene.orders.head
    scene.flink.checkpoints(RUN, 2)
    scene.flink.stop(JOB, RUN)
    scene.orders.rolls_back_to(target)
    scene.orders.appends(rows(range(40, 45)), {"engine-name": "spark", "spark.app.id": "local-17"})
    scene.opens("ledger", "checkpoint_pairing", remedy="restore-lost-commits")

    rehearsal = scene.carries_out(scene.proposes("restore_lost_commits"))

    branch = rehearsal.proposal.rehearses_on
    assert branch is not None
    assert positions(scene, branch) == list(range(45))
    head = scene.table.by_id[scene.table.ref(branch)]  # type: ignore[index]
    assert of_flink("a", 4).items() >= {k: v for k, v in head.summary.items() if k.startswith("flink.")}.items()
    assert (head.job_id, head.checkpoint_id) == (job("a"), 4)
    proof = scene.proves(rehearsal)
    assert proof.passed, proof.checks
    assert proof.branch == branch
    published = scene.carries_out(scene.proposes("publish_repair"))
    assert published.state is ProposalState.APPLIED, published.result
    assert scene.proves(published).passed
    assert positions(scene, "main") == list(range(45))
    assert scene.table.ref(branch) is None


def test_a_lost_commit_that_was_read_again_stays_out_and_the_preview_says_so(scene: RepairScene) -> None:
    """Of two lost commits main has brought part of the second one since."""
    scene.flink.checkpoints(RUN, 2)
    target = scene.orders.head
    scene.flink.checkpoints(RUN, 2)
    lost = scene.orders.head
    scene.flink.stop(JOB, RUN)
    scene.orders.rolls_back_to(target)
    scene.orders.appends(rows(range(35, 45)), {"engine-name": "spark", "spark.app.id": "local-17"})
    again = scene.orders.head
    scene.opens("ledger", "checkpoint_pairing", remedy="restore-lost-commits")

    view = scene.proposes("restore_lost_commits")

    said = " ".join(view.proposal.preview.sentences)
    assert f"Lost commit {short(lost)} stays out: {short(again)} brought source positions of it since" in said


def test_main_goes_forward_to_lost_commits_where_nothing_came_on_top(scene: RepairScene, positions: Positions) -> None:
    """Nothing is written: the very snapshots are main's again, Flink's ids and all."""
    scene.flink.checkpoints(RUN, 2)
    target = scene.orders.head
    scene.flink.checkpoints(RUN, 2)
    leaf = scene.orders.head
    scene.flink.stop(JOB, RUN)
    scene.orders.rolls_back_to(target)
    scene.opens("ledger", "checkpoint_pairing", remedy="restore-lost-commits")

    done = scene.carries_out(scene.proposes("restore_lost_commits"))
    proof = scene.proves(done)

    assert proof.passed, proof.checks
    assert leaf in scene.table.chain_ids
    assert positions(scene, "main") == list(range(60))


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


@pytest.fixture
def put_back(scene: RepairScene) -> RepairScene:
    """Checkpoints 3 and 4 were rolled back under the run, and a backfill came on top; it may bring them again."""
    scene.flink.checkpoints(RUN, 2)
    target = scene.orders.head
    scene.flink.checkpoints(RUN, 2)
    scene.orders.rolls_back_to(target)
    scene.orders.appends(rows(range(50, 55)), {"engine-name": "spark", "spark.app.id": "local-17"})
    scene.opens("ledger", "checkpoint_pairing", remedy="restore-lost-commits")
    return scene


def test_above_what_the_run_commits_meanwhile_the_repair_carries_no_older_key(
    put_back: RepairScene, positions: Positions
) -> None:
    """A sink that found the older checkpoint newest would look for the newer one's manifests, which are gone."""
    proposed = put_back.proposes("restore_lost_commits")
    put_back.flink.checkpoints(RUN)

    rehearsal = put_back.carries_out(proposed)

    assert rehearsal.state is ProposalState.APPLIED, rehearsal.result
    repair = put_back.table.by_id[put_back.table.ref(rehearsal.proposal.rehearses_on or "")]  # type: ignore[index]
    assert not any(key.startswith("flink.") for key in repair.summary)
    assert repair.written is not None
    assert positions(put_back, rehearsal.proposal.rehearses_on or "") == list(range(55))
    assert put_back.proves(rehearsal).passed
    published = put_back.carries_out(put_back.proposes("publish_repair"))
    assert published.state is ProposalState.APPLIED, published.result


def test_where_the_run_commits_nothing_meanwhile_it_carries_its_keys(put_back: RepairScene) -> None:
    """The state that the stop leaves has just these checkpoints behind it."""
    rehearsal = put_back.carries_out(put_back.proposes("restore_lost_commits"))

    repair = put_back.table.by_id[put_back.table.ref(rehearsal.proposal.rehearses_on or "")]  # type: ignore[index]
    assert repair.job_id == RUN
