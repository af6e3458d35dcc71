"""Rows that are there twice are deleted on a branch, proven there, and published by a second approval."""

from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.spark import SparkEvidenceRunner
from bot.domain.contract import CopyRule
from bot.domain.errors import Refused
from tests.repairs.conftest import Positions
from tests.repairs.scene import RUN, RepairScene
from tests.tables import job, of_flink, rows

pytestmark = pytest.mark.slow

ROWS = ("ledger", "duplicate_rows", "extra_copies")


def test_extra_copies_are_deleted_on_a_branch_and_then_published(scene: RepairScene, positions: Positions) -> None:
    """A commit that repeats rows and brings new ones is not dropped whole: what it repeats goes, the rest stays."""
    scene.flink.checkpoints(RUN, 2)
    scene.orders.commits("a", 2, range(15, 25))
    scene.flink.checkpoints(RUN, 1)
    head = scene.table.head
    scene.opens(*ROWS)

    rehearsal = scene.carries_out(scene.proposes("deduplicate_rows"))
    proof = scene.proves(rehearsal)

    assert proof.passed, proof.checks
    branch = rehearsal.proposal.rehearses_on
    assert branch is not None
    assert scene.table.head == head
    assert positions(scene, "main") == sorted([*range(30), *range(15, 25)])
    assert positions(scene, branch) == list(range(30))
    published = scene.carries_out(scene.proposes("publish_repair"))
    proof = scene.proves(published)
    assert proof.passed, proof.checks
    assert published.proposal.preview.rows == 10
    assert positions(scene, "main") == list(range(50))
    assert len(scene.alive) == 1


def test_the_repair_says_by_which_commits_of_the_job_the_copies_had_come(scene: RepairScene) -> None:
    """As the evidence names them: a later rewind below them does not ask for the repair."""
    scene.flink.checkpoints(RUN, 1)
    older = scene.flink.savepoint(RUN)
    scene.flink.checkpoints(RUN, 1)
    scene.flink.ends(RUN, "FAILED")
    scene.flink.submit(job("b"), at_checkpoint=1, restored=older)
    scene.flink.checkpoints(job("b"), 1)
    again = scene.table.head
    scene.opens(*ROWS)

    rehearsal = scene.carries_out(scene.proposes("deduplicate_rows"))

    branch = rehearsal.proposal.rehearses_on
    assert branch is not None
    repair = scene.table.by_id[scene.table.ref(branch)]
    assert repair.summary["waterline.deleted-from"] == str(again)


def test_copies_that_differ_are_left_to_people(scene: RepairScene) -> None:
    """Which value is right is not the bot's to say; it names the columns in which they differ."""
    scene.flink.checkpoints(RUN, 2)
    scene.orders.appends(rows([99], orders=[5]), of_flink("a", 3))
    scene.opens(*ROWS)

    with pytest.raises(Refused, match=r"they differ in event_time \(1\), source_position \(1\)"):
        scene.proposes("deduplicate_rows")


def test_the_owners_rule_says_which_copy_stays(
    tmp_path: Path, runner: SparkEvidenceRunner, positions: Positions
) -> None:
    """Written again with another time and place in the source: that is no difference, and the newest is right."""
    rule = CopyRule(keep="newest", ignore=("event_time", "source_position"))
    with closing(RepairScene(tmp_path, runner, copies=rule)) as scene:
        scene.flink.checkpoints(RUN, 2)
        scene.orders.appends(rows([99], orders=[5]), of_flink("a", 3))
        scene.opens(*ROWS)

        rehearsal = scene.carries_out(scene.proposes("deduplicate_rows"))

        proposal = rehearsal.proposal
        branch = proposal.rehearses_on
        assert branch is not None
        assert positions(scene, branch) == [*range(5), *range(6, 20), 99]
        told = " ".join(proposal.preview.sentences)
        assert "every copy of 1 key but the newest." in told
        assert "equal in every column but event_time and source_position" in told


def test_a_file_that_is_named_twice_is_another_repair(scene: RepairScene) -> None:
    """A delete by place would take both copies."""
    scene.flink.checkpoints(RUN, 1)
    scene.orders.commits_files("a", 2, {"00000-0-a-00001.parquet": range(10, 20)}, times=2)
    scene.opens(*ROWS)

    with pytest.raises(Refused, match="drop_duplicated_commit"):
        scene.proposes("deduplicate_rows")


def test_without_an_extra_copy_nothing_is_proposed(scene: RepairScene) -> None:
    """Every row is there once."""
    scene.flink.checkpoints(RUN, 2)
    scene.opens(*ROWS)

    with pytest.raises(Refused, match="no extra copy"):
        scene.proposes("deduplicate_rows")
