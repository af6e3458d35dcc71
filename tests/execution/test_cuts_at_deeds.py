"""The bot is killed with SIGKILL right before and right after everything that it does to the world, and started again.

Between an intent and its end in the record the deed may have happened or not: both sides of it are cut at.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bot import actions
from bot.actions._support.completing import scan
from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import open_store
from bot.incident.execution import ProposalState
from bot.observation.ids import ProposalId
from bot.service.incident_store import IncidentStore
from bot.service.proposals.executing import Executions
from tests.actions.scene import Scene
from tests.actions.worlds import closed, made, shown
from tests.power_cut import CutAtDeed, killed
from tests.repairs.rehearsed import PROPOSALS, Repaired
from tests.rewound import ANA

pytestmark = [pytest.mark.slow, pytest.mark.rotating]

_OF_CATALOG = ("commit", "change_files", "delete_rows")
_OF_FLINK = ("stop", "start")
_AS_FORWARD = [pytest.mark.long]
"""The same effects as of `restore_job_at_head`."""
Carried = Callable[[Path, CutAtDeed], dict[str, object]]
"""(folder, cut) -> what is there in the end; goes on where it was broken off."""


def carried_on(executions: Executions, store: IncidentStore, proposal: ProposalId) -> None:
    """As the bot does at each start."""
    incident = store.all()[0]
    if incident.proposals[proposal].execution_started_at is None:
        executions.begin(incident.id, proposal, by=ANA)
    executions.carry_on(incident.id, proposal)


def an_action(folder: Path, cut: CutAtDeed) -> dict[str, object]:
    """Whatever was approved last in this folder."""
    scene = Scene(folder)
    try:
        cut.around(scene.catalog, *_OF_CATALOG)
        cut.around(scene.flink, *_OF_FLINK)
        view = scene.store.get(scene.incident).current_proposal
        carried_on(scene.executions, scene.store, view.proposal.id)
        folders = sorted(file.parent.name for file in folder.glob("lake/sales/orders/**/*.parquet"))
        return {**shown(scene, view.proposal.id), "files": folders}
    finally:
        closed(scene)


def a_repair(name: str) -> Carried:
    """One of those that were approved in tests of repairs."""

    def carried(folder: Path, cut: CutAtDeed) -> dict[str, object]:
        repaired, record = Repaired(folder, name), open_store(f"sqlite:///{folder}/journal.db")
        try:
            cut.around(repaired.catalog, *_OF_CATALOG)
            cut.around(repaired.flink, *_OF_FLINK)
            store = IncidentStore(record.journal, SystemClock())
            carried_on(repaired.executions(store), store, PROPOSALS[name])
            view = store.all()[0].proposals[PROPOSALS[name]]
            return {**repaired.found(), "state": view.state, "whole record": record.journal.verify()}
        finally:
            record.close()
            repaired.close()

    return carried


@pytest.mark.parametrize("name", ["rehearse", "deduplicate", "publish", "give-up"])
def test_a_repair_ends_as_without_a_cut(tmp_path: Path, name: str) -> None:
    """One branch, one commit on it, one publication; the job is stopped and started once."""
    (tmp_path / "here").mkdir()
    Repaired.made_in(tmp_path / "here", name).close()

    assert_ends_so_wherever_it_is_cut(tmp_path, a_repair(name))


@pytest.mark.parametrize(
    ("name", "world"),
    [
        ("roll_back_table_and_restore_job", "rewound"),
        ("take_savepoint", "well"),
        ("restart_from_stop_savepoint", "well"),
        ("verify_current_state", "well"),
        ("protect_last_commit", "well"),
        ("resolve_fork", "forked"),
        ("restore_job_at_head", "stopped"),
        pytest.param("restore_job_only", "stopped", marks=_AS_FORWARD),
        pytest.param("restart_with_new_job_id", "stopped", marks=_AS_FORWARD),
        pytest.param("free_checkpoint_folder", "stopped", marks=_AS_FORWARD),
    ],
)
def test_an_action_ends_as_without_a_cut(tmp_path: Path, name: str, world: str) -> None:
    """The freeze, and whatever comes after it."""
    scene, plan = made(tmp_path / "here", world)
    scene.approved(scan(actions)[name].propose(plan), plan)
    closed(scene)

    assert_ends_so_wherever_it_is_cut(tmp_path, an_action)


def test_an_undo_ends_as_without_a_cut(tmp_path: Path) -> None:
    """Main and the job go back."""
    scene, plan = made(tmp_path / "here", "rewound")
    known = scan(actions)
    done = scene.carries_out(known["roll_back_table_and_restore_job"].propose(plan), plan)
    again = scene.plan(undoes=done.proposal.id, number=2)
    scene.approved(known["undo_proposal"].propose(again), again)
    closed(scene)

    assert_ends_so_wherever_it_is_cut(tmp_path, an_action)


def assert_ends_so_wherever_it_is_cut(folder: Path, carried: Carried) -> None:
    """In `here`, where a table knows its own place: carried out whole, then from the same beginning with each cut."""
    here, beginning = folder / "here", folder / "beginning"
    shutil.copytree(here, beginning)
    whole = CutAtDeed()
    wanted = carried(here, whole)

    assert wanted["state"] is ProposalState.APPLIED
    assert whole.deeds > 0
    for cut in (*range(1, whole.deeds + 1), *range(-whole.deeds, 0)):
        shutil.rmtree(here)
        shutil.copytree(beginning, here)
        assert killed(lambda at=cut: carried(here, CutAtDeed(at)))  # type: ignore[misc]
        carried(here, CutAtDeed())
        assert carried(here, CutAtDeed()) == wanted, f"cut at {cut} of {whole.deeds}"
