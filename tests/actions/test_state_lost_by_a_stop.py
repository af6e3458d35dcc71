"""Who approves a stop is told where it may take the run's newest state with it."""

import pytest

from bot.actions import rewind_table_and_job
from bot.actions._draft import state_at_risk, stop_sentences
from bot.domain.flink import CheckpointSettings
from tests.actions.scene import Scene
from tests.tables import job


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (True, None),
        (False, "Flink deletes its checkpoints"),
        (None, "Flink may delete its checkpoints"),
    ],
)
def test_a_stop_that_may_delete_checkpoints_says_so(scene: Scene, kept: bool | None, said: str | None) -> None:
    """A run that cannot take a savepoint any more is cancelled, and its state goes unless Flink keeps it."""
    run = scene.flink.run(job("a"))
    assert run is not None
    settings = CheckpointSettings(mode="exactly_once", survives_cancel=kept)
    live = run.model_copy(update={"settings": settings})

    [_how, *warned] = stop_sentences(live)
    [needed] = stop_sentences(live, needs_state=True)

    assert [] == warned if said is None else said in warned[0]
    assert all(each.startswith("This may delete state for good") for each in warned)
    assert ("may lose its newest state" in state_at_risk(live)) is bool(warned)
    assert "cancel it and keep its checkpoints" in needed


def test_the_last_question_before_a_yes_says_so_too(scene: Scene) -> None:
    """Where a rewind's stop may delete state, and not where no run is alive."""
    good = scene.snapshot("a", 3)
    scene.flink.savepoint(job("a"))
    asked = rewind_table_and_job.propose(scene.plan(last_good=good, wrong_run=job("a"))).preview
    scene.flink.stop("orders-to-iceberg", job("a"))
    stopped = rewind_table_and_job.propose(scene.plan(last_good=good, wrong_run=job("a"))).preview

    assert asked.sure.endswith("may lose its newest state.")
    assert "may lose" not in stopped.sure
