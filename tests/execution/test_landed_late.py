"""A request may land after people had settled that it did not: the record says so when it is seen."""

from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store
from bot.incident.entries import NoteAdded
from bot.incident.execution import ProposalState
from bot.observation.ids import ProposalId
from tests.execution.test_settling import Archive, Scene
from tests.rewound import begins


@pytest.fixture
def scene(record: Store, tmp_path: Path) -> Scene:
    """The answer to the stop is lost, nobody knows of the run, and Ben settles that it did not happen."""
    made = Scene(tmp_path, record)
    made.carries_on()
    made.settles(happened=False)
    return made


def looks_back(scene: Scene) -> list[str]:
    """As the bot does every now and then; what it has noted so far."""
    scene.damaged.executions(scene.store)[0].look_back(scene.incident)
    entries = scene.store.get(scene.incident).entries
    return [e.body.text for e in entries if isinstance(e.body, NoteAdded) and "happened after all" in e.body.text]


def test_it_is_told_once_when_the_world_tells(scene: Scene) -> None:
    """Whoever proposes next would build on a job that stands still."""
    before = looks_back(scene)
    assert scene.gone is not None
    scene.damaged.history = Archive(scene.gone)
    looks_back(scene)

    [told] = looks_back(scene)

    assert before == []
    assert "“Stop run bbbbbb” happened after all, though it was settled that it did not" in told
    assert scene.view.state is ProposalState.REFUSED
    assert scene.calls == ["stop"]


def test_nothing_is_told_once_something_else_was_begun(scene: Scene) -> None:
    """It may have stopped the run itself."""
    assert scene.gone is not None
    scene.damaged.history = Archive(scene.gone)
    again = scene.view.proposal.model_copy(update={"id": ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PNEW")})
    begins(scene.store, scene.incident, again)

    assert looks_back(scene) == []
