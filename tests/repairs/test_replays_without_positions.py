"""A table whose contract names no source position: a replay goes by event times, and is proven by them."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.spark import SparkEvidenceRunner
from bot.domain.contract import TableContract
from bot.domain.errors import Refused
from tests.repairs.conftest import Positions
from tests.repairs.recipes import declared
from tests.repairs.scene import RUN, RepairScene
from tests.tables import CONTRACT, of_flink, rows

pytestmark = pytest.mark.slow

Made = Callable[[TableContract], RepairScene]
BY_TIMES = CONTRACT.model_copy(update={"position": None})


@pytest.fixture
def made(tmp_path: Path, runner: SparkEvidenceRunner, request: pytest.FixtureRequest) -> Made:
    """`made(contract)`: run A wrote one event a second for 30 seconds, and somebody took ten of them away."""

    def make(contract: TableContract) -> RepairScene:
        recipe = declared().model_copy(update={"settled_after": timedelta(seconds=5)})
        scene = RepairScene(tmp_path, runner, replay=recipe, contract=contract)
        request.addfinalizer(scene.close)
        scene.flink.checkpoints(RUN, 3)
        scene.orders.deletes("source_position >= 10 and source_position < 20")
        return scene

    return make


def test_a_gap_is_replayed_by_event_times_and_can_be_published(made: Made, positions: Positions) -> None:
    """Nothing is missing that the source has, by the evidence that found it."""
    scene = made(BY_TIMES)
    scene.opens("ledger")

    rehearsal = scene.carries_out(scene.proposes("replay_source_range"))
    proof = scene.proves(rehearsal)
    scene.carries_out(scene.proposes("publish_repair"))

    assert proof.passed, proof.checks
    assert positions(scene, "main")[:30] == list(range(30))


def test_a_repair_that_could_never_be_proven_is_not_rehearsed(made: Made) -> None:
    """The job would stand still for a branch that nobody may publish."""
    scene = made(BY_TIMES)
    scene.orders.appends(rows(range(5, 10)), of_flink("a", 2))
    scene.opens("ledger", "duplicate_rows")

    with pytest.raises(Refused, match=r"Expected `position` in the table's contract, to check “No missing rows”"):
        scene.proposes("deduplicate_rows")
