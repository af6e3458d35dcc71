"""A cluster that does not answer keeps a stopped job down only where what it would tell decides."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.domain.errors import CouldNotLook
from bot.domain.execution import ProposalState
from bot.domain.flink import JobRun
from bot.ports import JobPorts
from tests.actions.scene import Scene
from tests.actions.test_guests_above_a_stop import OTHER, commits, guest_above, restarted
from tests.little_flink import LittleFlink
from tests.tables import ORDERS, job

CLICKS = "clicks-to-iceberg"


class Silent(LittleFlink):
    """A cluster that is down; it remembers whether it was asked."""

    asked = 0

    def runs(self, job: str) -> tuple[JobRun, ...]:
        """See the port."""
        self.asked += 1
        raise CouldNotLook(f"Flink of {job} did not answer.", "Expected an answer; found ConnectTimeout.", "Start it.")


def listed(scene: Scene, flink: LittleFlink, name: str, *, is_declared: bool = False) -> None:
    """A further job of the configuration, declared to write the table or not."""
    ports = JobPorts(flink, CheckpointFiles(None, str(flink.savepoints)))
    hands = scene.observer.hands
    setup = scene.observer.setup(ORDERS).model_copy(update={"other_jobs": (name,) if is_declared else ()})
    scene.observer.hands = replace(hands, jobs={**hands.jobs, name: ports}, tables={**hands.tables, ORDERS: setup})


def test_a_job_of_another_table_whose_cluster_is_down_keeps_nothing_down(scene: Scene, tmp_path: Path) -> None:
    """Nobody knows the guest's run, and its sink tells that it is one."""
    guest_above(scene)
    listed(scene, Silent(tmp_path, CLICKS), CLICKS)

    view = restarted(scene)

    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(80), *range(900, 906)]


def test_it_is_not_even_asked_where_one_of_the_tables_own_jobs_knows_the_guest(scene: Scene, tmp_path: Path) -> None:
    """The time limit of a cluster that is down is long while a job stands still."""
    other, silent = LittleFlink(tmp_path, OTHER), Silent(tmp_path, CLICKS)
    other.submit(job("e"), at_checkpoint=9)
    guest_above(scene)
    listed(scene, silent, CLICKS)
    listed(scene, other, OTHER, is_declared=True)

    assert restarted(scene).state is ProposalState.APPLIED
    assert silent.asked == 0


@pytest.mark.parametrize("is_declared", [True, False], ids=["a job of the table", "by the job's sink"])
def test_where_its_answer_decides_the_start_waits_for_it(scene: Scene, tmp_path: Path, is_declared: bool) -> None:
    """A declared job's run may have begun from the job's state; one by the job's sink may still be another job's."""
    operator = "ee" * 16 if is_declared else None
    commits(scene, "e", 8, range(900, 903), operator=operator)
    scene.flink.checkpoints(job("a"), 3)
    commits(scene, "e", 9, range(903, 906), operator=operator)
    listed(scene, Silent(tmp_path, OTHER), OTHER, is_declared=is_declared)

    view = restarted(scene)

    assert view.state is ProposalState.EXECUTING
    assert "start" not in scene.calls
    assert f"Flink of {OTHER} did not answer" in str(scene.store.get(scene.incident).entries[-1].body)
