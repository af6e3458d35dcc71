"""The bot is killed with SIGKILL before and after each journal entry of the new effects, then started again."""

from pathlib import Path

import pytest

from bot.actions import take_savepoint
from bot.domain.effects import MarkTable, StartFromStop
from bot.domain.execution import ProposalState
from tests.actions.scene import Scene, carry_out
from tests.power_cut import killed
from tests.tables import job

ENTRIES = 12
"""Started, intent and end of freeze, stop, savepoint, mark and start, then ended."""


def made(folder: Path) -> Scene:
    """One approved proposal with all of them."""
    scene = Scene.made_in(folder)
    plan = scene.plan()
    whole = take_savepoint.propose(plan)
    stop = whole.effects[0]
    assert stop.kind == "stop-job"
    more = (
        MarkTable(
            table=whole.table, why="Mark", new_tags={"kept": scene.snapshot("a", 2)}, set_properties={"owner": "ana"}
        ),
        StartFromStop(job=stop.job, job_id=stop.job_id),
    )
    scene.sets("owner", "ben")
    scene.approved(whole.model_copy(update={"effects": (*whole.effects, *more)}), plan)
    return scene


def closed(scene: Scene) -> None:
    """Connections back."""
    scene.record.close()
    scene.catalog.close()


@pytest.mark.parametrize(
    "cut_at",
    [
        pytest.param(cut, marks=pytest.mark.smoke if cut in {4, -4} else [])
        for cut in (*range(1, ENTRIES + 1), *range(-ENTRIES, 0))
    ],
)
def test_each_effect_is_in_the_world_exactly_once(tmp_path: Path, cut_at: int) -> None:
    """One stop, one start, one tag, each position once, and the record knows what was there before."""
    closed(made(tmp_path))

    assert killed(lambda: carry_out(tmp_path, cut_at))
    carry_out(tmp_path)
    carry_out(tmp_path)

    scene = Scene(tmp_path)
    view = scene.store.get(scene.incident).current_proposal
    table, calls, positions = scene.table, scene.calls, scene.positions()
    assert view.state is ProposalState.APPLIED
    assert calls == ["stop", "start"]
    assert positions == list(range(50))
    assert table.properties["gc.enabled"] == "false"
    assert table.properties["waterline.maintenance.gc-enabled"] == "unset"
    assert [ref.snapshot_id for ref in table.refs if ref.name.startswith("savepoint-3-")] == [scene.snapshot("a", 3)]
    assert view.done[2].result["snapshot"] == str(scene.snapshot("a", 3))
    assert view.done[3].result == {"property owner": "ben"}
    assert view.done[4].result["job_id"] == scene.alive[0] != job("a")
    assert scene.record.journal.verify() == ()
    closed(scene)


@pytest.mark.smoke
def test_the_number_of_boundaries_is_what_the_cuts_cover(tmp_path: Path) -> None:
    """If an execution journals more than is cut at, the cuts above do not cover it any more."""
    scene = made(tmp_path)
    seq = scene.store.get(scene.incident).seq

    carry_out(tmp_path)

    assert scene.store.get(scene.incident).seq - seq == ENTRIES
    closed(scene)
