"""A private incident takes plans from those who may know of it, and tells the others nothing of its savepoints."""

from pathlib import Path

import pytest

from bot.domain.errors import Refused
from bot.domain.incident import Incident
from tests.actions.scene import Scene
from tests.rewound import ANA
from tests.savepoints.world import World
from tests.tables import ORDERS


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """The incident on the table, its second one, is private."""
    monkeypatch.setattr(Scene, "incident", property(lambda scene: scene.store.all()[-1].id))
    made = World(tmp_path)
    opened = made.scene.store.get(made.scene.incident).opened
    made.closes()
    private = opened.model_copy(update={"private": True, "channel": "G0PRIVATE1"})
    made.scene.store.open(private, by=ANA)
    return made


def anybody(_incident: Incident) -> bool:
    """Was invited."""
    return True


def test_who_was_not_invited_writes_nothing_into_it(world: World) -> None:
    """Refused as every other command is, without its id."""
    with pytest.raises(Refused, match=r"An incident is open on sales\.orders already") as refused:
        world.plans()

    assert str(world.scene.incident) not in str(refused.value)
    assert world.scene.store.get(world.scene.incident).plan is None


def test_the_form_tells_no_title_of_what_is_proposed_in_it(world: World) -> None:
    """With a savepoint proposed, and without."""
    with pytest.raises(Refused, match="An incident is open") as without:
        world.savepoints.offer(ORDERS)
    world.plans(may_see=anybody)
    made = world.proposes(*world.savepoint())

    with pytest.raises(Refused) as proposed:
        world.savepoints.offer(ORDERS)
    with pytest.raises(Refused, match="A savepoint is proposed already"):
        world.savepoints.offer(ORDERS, may_see=anybody)

    assert str(proposed.value) == str(without.value)
    assert made.title not in str(proposed.value)
