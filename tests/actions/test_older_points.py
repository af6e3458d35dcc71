"""A restore point that is paired with an older snapshot than the head is not the one to start from: whoever did had the
rows after it twice. The texts say so, and name the rewind."""

from pathlib import Path
from types import ModuleType

import pytest

from bot.actions import forward_job, restore_job_only, rewind_table_and_job, take_savepoint
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from tests.actions.scene import Scene
from tests.tables import job

REWIND = "/waterline propose rewind_table_and_job"


@pytest.fixture
def older(scene: Scene) -> Scene:
    """Savepoint 3 is the only durable point, main is at 5, and the job is down."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 2)
    scene.flink.ends(job("a"), "FAILED")
    return scene


def test_a_savepoint_that_cannot_be_taken_names_what_pairs_with_the_head(older: Scene) -> None:
    """“The newest that pairs” was savepoint 3, which the list calls paired."""
    with pytest.raises(Refused) as refused:
        take_savepoint.propose(older.plan())

    said = str(refused.value)
    assert "use its newest point that pairs with the head" in said
    assert (
        f"A point that pairs with an older snapshot duplicates rows: for that, rewind table and job (`{REWIND}`)"
        in said
    )


@pytest.mark.parametrize("action", [restore_job_only, forward_job])
def test_a_restart_that_is_refused_names_the_rewind(older: Scene, action: ModuleType) -> None:
    """It is possible, and every row is there once afterwards."""
    plan = older.plan(last_good=older.snapshot("a", 5))

    with pytest.raises(Refused) as refused:
        action.propose(plan)
    view = older.carries_out(rewind_table_and_job.propose(plan), plan)
    older.flink.checkpoints(older.alive[0], 2)

    assert f"Or rewind table and job to checkpoint 3 (`{REWIND}`)" in str(refused.value)
    assert view.state is ProposalState.APPLIED, view.result
    assert len(older.positions()) == len(set(older.positions()))


def test_no_rewind_is_named_where_nothing_pairs_below(scene: Scene) -> None:
    """There is no restore point at all."""
    scene.flink.ends(job("a"), "FAILED")

    with pytest.raises(Refused) as refused:
        restore_job_only.propose(scene.plan())

    assert REWIND not in str(refused.value)


@pytest.mark.parametrize("name", ["planned-savepoint", "job-will-not-restore"])
def test_no_runbook_sends_people_to_the_newest_point_that_pairs_with_anything(name: str) -> None:
    """The head is named with it."""
    text = " ".join((Path(__file__).parents[2] / "runbooks" / f"{name}.md").read_text(encoding="utf-8").split())

    assert "newest point that pairs;" not in text
    assert "*paired* first" not in text
    assert "paired with an older snapshot repeats rows" in text or "pairs with an older snapshot repeats rows" in text
