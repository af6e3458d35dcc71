"""What goes on beside a settlement: nothing else begins, and what lands all the same is told."""

import pytest

from bot.domain.entries import NoteAdded
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.execution import ProposalState
from bot.domain.ids import JobId, TableName
from bot.domain.table import TableState
from bot.ports import Stopped, TableChange
from bot.service.closing import Closing
from bot.service.maintenance import Maintenance
from tests.execution.forgotten_run import Scene, scene
from tests.little_flink import LittleFlink
from tests.rewound import ANA, WRONG_RUN

__all__ = ["scene"]


def test_nothing_else_is_proposed_thawed_or_closed_meanwhile_and_each_refusal_says_what_to_do(scene: Scene) -> None:
    """A second rewind beside a job that may still write would be the next incident."""
    scene.carries_on()
    proposals = scene.damaged.executions(scene.store)[1]
    maintenance = Maintenance(scene.store, scene.damaged.catalog)
    closing = Closing(scene.store, None, {})  # type: ignore[arg-type]
    attempts = (
        lambda: proposals.propose(scene.incident, "rewind_table_and_job", step=None, by=ANA),
        lambda: maintenance.thaw(scene.incident, by=ANA),
        lambda: closing.close(scene.incident, "Done.", by=ANA),
    )

    told = []
    for attempt in attempts:
        with pytest.raises(Refused) as refused:
            attempt()
        told.append(refused.value)

    assert "Nothing can be proposed while the outcome of" in told[0].happened
    assert "Flink does not know run bbbbbb any more" in told[0].found
    assert all("an approver settles it with the buttons on the proposal" in each.remedy for each in told)


def test_nobody_settles_a_step_while_it_is_carried_out_anew(scene: Scene) -> None:
    """The world told that it had not happened; what it says while the request is on its way is no answer."""
    flink, refusals = scene.damaged.flink, []
    scene.carries_on()
    assert scene.gone is not None
    first, run = scene.view.state, flink.run
    stop = LittleFlink.stop

    def settled_meanwhile(job: str, job_id: JobId, **how: bool) -> Stopped:
        flink.run = lambda _job_id: None  # type: ignore[method-assign]
        with pytest.raises(Refused) as refused:
            scene.settles(happened=False)
        refusals.append(str(refused.value))
        flink.run = run  # type: ignore[method-assign]
        return stop(flink, job, job_id, **how)

    flink.submit(WRONG_RUN, at_checkpoint=6)
    flink.stop = settled_meanwhile  # type: ignore[method-assign]
    scene.carries_on()

    assert first is ProposalState.UNKNOWN
    assert len(refusals) == 1
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "stop", "start"]


def test_what_lands_after_it_was_settled_that_it_did_not_is_told(scene: Scene) -> None:
    """The slow executor lost its turn to another, which could not look; a person settled; then the commit came."""
    flink, catalog = scene.damaged.flink, scene.damaged.catalog
    commit, load = catalog.commit, catalog.load
    flink.stop = LittleFlink.stop.__get__(flink)  # type: ignore[method-assign]

    def away(_table: object) -> TableState:
        raise CouldNotLook("The catalog did not answer.", "", "")

    def slow(table: TableName, change: TableChange) -> TableState:
        if change.move_main_to is not None:
            catalog.load = away  # type: ignore[method-assign]
            scene.carries_on()
            scene.settles(happened=False, index=1)
            catalog.load = load  # type: ignore[method-assign]
        return commit(table, change)

    catalog.commit = slow  # type: ignore[method-assign]
    scene.carries_on()
    scene.carries_on()

    assert scene.view.state is ProposalState.REFUSED
    said = [e.body.text for e in scene.store.get(scene.incident).entries if isinstance(e.body, NoteAdded)]
    [told] = [text for text in said if "happened after all" in text]
    assert "“Move main to" in told
    assert "Check the table and the job before you propose anything else" in told
