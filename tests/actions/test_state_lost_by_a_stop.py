"""Who approves a stop is told where it may take the run's newest state with it."""

import pytest

from bot.actions._draft import how_it_is_stopped
from bot.domain.flink import CheckpointSettings
from tests.actions.scene import Scene
from tests.tables import job


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (True, None),
        (False, "Flink deletes the checkpoints of a cancelled run"),
        (None, "its checkpoints may go with it"),
    ],
)
def test_a_stop_that_may_delete_checkpoints_says_so(scene: Scene, kept: bool | None, said: str | None) -> None:
    """A run that cannot take a savepoint any more is cancelled, and its state goes unless Flink keeps it."""
    run = scene.flink.run(job("a"))
    assert run is not None
    settings = CheckpointSettings(mode="exactly_once", survives_cancel=kept)

    told = how_it_is_stopped(run.model_copy(update={"settings": settings}))
    needed = how_it_is_stopped(run.model_copy(update={"settings": settings}), needs_state=True)

    assert ("newest state is gone" in told) is (said is not None)
    assert said is None or said in told
    assert "by a cancel that keeps its checkpoints" in needed
