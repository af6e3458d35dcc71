"""Copies that a run has brought since they were counted are counted again before their deletion is proposed."""

import pytest

from bot.domain.errors import Refused
from tests.little_flink import JOB
from tests.repairs.scene import RUN, RepairScene
from tests.tables import job

pytestmark = pytest.mark.slow

B = job("b")


@pytest.fixture
def replaying(scene: RepairScene) -> RepairScene:
    """Run a had gone three checkpoints beyond the savepoint from which run b was started; b has repeated one of them,
    and the copies were counted then."""
    scene.flink.checkpoints(RUN, 3)
    older = scene.flink.savepoint(RUN)
    scene.flink.checkpoints(RUN, 3)
    scene.flink.stop(JOB, RUN)
    scene.flink.submit(B, at_checkpoint=3, restored=older)
    scene.flink.checkpoints(B, 1)
    scene.opens("ledger", "duplicate_rows", "missing_positions")
    return scene


def counted(scene: RepairScene) -> int:
    """How often they were."""
    return sum(run.task == "extra_copies" for run in scene.store.get(scene.incident).runs.values())


def test_what_came_after_the_count_is_deleted_too(replaying: RepairScene) -> None:
    """Refused at first; who waited, and diagnosed again, has only the ledger anew."""
    with pytest.raises(Refused, match="still reads rows that main already has"):
        replaying.proposes("deduplicate_rows")
    replaying.flink.checkpoints(B, 3)
    replaying.diagnosed_anew("ledger")

    view = replaying.proposes("deduplicate_rows")

    assert "Deduplicate rows: 30 rows" == view.proposal.title
    assert 2 == counted(replaying)


def test_what_comes_once_the_run_has_passed_costs_no_count(replaying: RepairScene) -> None:
    """A job that runs commits all the time, and its new rows repeat none."""
    replaying.flink.checkpoints(B, 3)
    replaying.diagnosed_anew("ledger", "extra_copies")
    replaying.flink.checkpoints(B, 2)

    view = replaying.proposes("deduplicate_rows")

    assert "Deduplicate rows: 30 rows" == view.proposal.title
    assert 1 == counted(replaying)


@pytest.mark.long
def test_so_is_what_one_start_without_state_brings_under_the_same_id(scene: RepairScene) -> None:
    """Its checkpoint ids only rise (F4); copies were counted after its first commit."""
    scene.flink.checkpoints(RUN, 3)
    scene.flink._commit(RUN, 4, range(10))
    scene.opens("ledger", "duplicate_rows", "missing_positions")
    with pytest.raises(Refused, match="still reads rows that main already has"):
        scene.proposes("deduplicate_rows")
    for place in range(1, 4):
        scene.flink._commit(RUN, 4 + place, range(10 * place, 10 * place + 10))
    scene.diagnosed_anew("ledger")

    view = scene.proposes("deduplicate_rows")

    assert "Deduplicate rows: 30 rows" == view.proposal.title
    assert 2 == counted(scene)
