"""Tables on which every action is tried: what a plan knows there, and how the world is made.

Those for an action of your own, where it proposes nothing on these: a module with a `WORLDS` like the one here, which
`WATERLINE_WORLDS` names. All that a world makes is on storage below the scene's folder.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from bot.incident.action import Plan
from bot.observation.ids import ProposalId
from tests.actions.scene import Scene
from tests.little_flink import JOB
from tests.tables import job


def _well(scene: Scene) -> Plan:
    """Run a is alive, and nothing is wrong."""
    return scene.plan()


def _stopped(scene: Scene) -> Plan:
    """Run a was stopped with a savepoint, and no run is alive."""
    scene.flink.stop(JOB, job("a"))
    return scene.plan()


def _forked(scene: Scene) -> Plan:
    """Runs a and b both write the table."""
    scene.flink.submit(job("b"), at_checkpoint=3)
    return scene.plan(wrong_run=job("b"))


WORLDS: dict[str, Callable[[Scene], Plan]] = {
    "well": _well,
    "stopped": _stopped,
    "rewound": Scene.restored_from_older,
    "forked": _forked,
}

OWN_WORLDS: dict[str, Callable[[Scene], Plan]] = {
    world: make
    for module in os.environ.get("WATERLINE_WORLDS", "").split()
    for world, make in import_module(module).WORLDS.items()
}
"""Only actions of your own are tried on them."""


def made(folder: Path, world: str) -> tuple[Scene, Plan]:
    """A new one, and what a plan knows there."""
    folder.mkdir(parents=True, exist_ok=True)
    scene = Scene.made_in(folder)
    return scene, (WORLDS | OWN_WORLDS)[world](scene)


@contextmanager
def tried(folder: Path, world: str) -> Iterator[tuple[Scene, Plan]]:
    """The same, for as long as something is tried on it."""
    scene, plan = made(folder, world)
    try:
        yield scene, plan
    finally:
        closed(scene)


def shown(scene: Scene, proposal: ProposalId) -> dict[str, object]:
    """What the world and the record show after an execution."""
    view, table = scene.view(proposal), scene.table
    return {
        "state": view.state,
        "effects": {index: ended.how for index, ended in view.done.items()},
        "calls": scene.calls,
        "alive": len(scene.alive),
        "positions": scene.positions(),
        "snapshots": len(table.snapshots),
        "refs": sorted(ref.kind for ref in table.refs),
        "whole record": scene.record.journal.verify(),
    }


def closed(scene: Scene) -> None:
    scene.record.close()
    scene.catalog.close()
