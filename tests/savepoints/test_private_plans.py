"""A private incident takes plans from its channel, and tells the others nothing of its savepoints."""

from pathlib import Path

import pytest

from bot.domain.errors import Refused
from bot.domain.ids import ProposalId
from bot.slack.blocks.savepoints import catalogue_text
from tests.actions.scene import Scene
from tests.rewound import ANA
from tests.savepoints.world import World
from tests.tables import ORDERS

INSIDE = "G0PRIVATE1"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """The incident on the table, its second one, is private."""
    monkeypatch.setattr(Scene, "incident", property(lambda scene: scene.store.all()[-1].id))
    made = World(tmp_path)
    opened = made.scene.store.get(made.scene.incident).opened
    made.closes()
    private = opened.model_copy(update={"private": True, "channel": INSIDE})
    made.scene.store.open(private, by=ANA)
    return made


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
    world.plans(channel=INSIDE)
    made = world.proposes(*world.savepoint())

    with pytest.raises(Refused) as proposed:
        world.savepoints.offer(ORDERS)
    with pytest.raises(Refused, match="A savepoint is already proposed"):
        world.savepoints.offer(ORDERS, INSIDE)

    assert str(proposed.value) == str(without.value)
    assert made.title not in str(proposed.value)


def test_the_list_tells_of_its_savepoint_only_what_a_restore_needs(world: World) -> None:
    """Reason, consumers and code are of the incident; in its channel all is read."""
    world.plans(reason="A breach.", code_before="1.4-leaky", channel=INSIDE)
    world.takes_it()
    [kept] = world.savepoints.catalogue(ORDERS).kept

    outside = catalogue_text(ORDERS, world.savepoints.catalogue(ORDERS))
    invited = catalogue_text(ORDERS, world.savepoints.catalogue(ORDERS, INSIDE))

    needed = (
        kept.path,
        f"heckpoint {kept.checkpoint} pairs with snapshot {kept.snapshot}",
        f"until {kept.until:%Y-%m-%d}",
    )
    planned = ("A breach.", "1.4-leaky", "1.5")
    assert all(each in outside for each in (*needed, "Taken in a private incident."))
    assert not any(each in outside.replace(kept.path, "") for each in (*planned, str(world.scene.incident)))
    assert all(each in invited for each in (*needed, *planned))


def test_savepoints_of_other_incidents_are_told_whole_beside_it(world: World) -> None:
    """Only the private one is cut."""
    world.plans(reason="A breach.", channel=INSIDE)
    world.takes_it()

    found = world.savepoints.catalogue(ORDERS)
    plan = found.kept[0].plan.model_copy(update={"reason": "New pricing."})
    other = found.kept[0].model_copy(update={"proposal": ProposalId("OTHER"), "incident": "wl-9", "plan": plan})
    told = catalogue_text(ORDERS, found._replace(kept=(*found.kept, other)))

    assert "New pricing." in told
    assert "A breach." not in told
    assert 1 == told.count("Taken in a private incident.")


def test_a_start_from_elsewhere_names_the_savepoint_without_the_code_of_a_private_plan(world: World) -> None:
    """Whoever approves is told which savepoint counts, not which code it holds."""
    world.plans(code_before="1.4-leaky", channel=INSIDE)
    world.takes_it()

    [*_, term] = world.beside(world.proposes_the_rewind()).preview.recorded

    assert "taken in a private incident" in term.says
    assert "1.4-leaky" not in term.says
