"""Maintenance is frozen first and comes back exactly as it was, late rather than lost."""

from itertools import pairwise
from pathlib import Path
from time import monotonic

import pytest

from bot.actions import take_savepoint
from bot.actions._support.completing import FREEZES, NOT_STOPPED, STAYS_FROZEN
from bot.incident.entries import IncidentClosed, MaintenanceMarked
from bot.incident.journal import WATERLINE
from bot.observation.errors import CommitRefused, OutcomeUnknown, Refused
from bot.observation.table import TableState
from bot.ports import TableChange
from tests.actions.scene import Scene
from tests.rewound import ANA
from tests.tables import ORDERS

pytestmark = pytest.mark.smoke


def closed(scene: Scene) -> None:
    scene.store.write(scene.incident, by=ANA, decide=lambda _i: [IncidentClosed(reason="Over.")])


@pytest.mark.parametrize("before", [None, "true", "false"])
def test_what_was_set_before_is_set_again(scene: Scene, before: str | None) -> None:
    """Value or absence: the table itself remembers, so no crash can forget it."""
    if before is not None:
        scene.sets("gc.enabled", before)
    properties = scene.table.properties
    scene.does(take_savepoint)
    frozen = scene.table.properties
    closed(scene)

    scene.maintenance.unfreeze_closed(scene.incident)

    assert (frozen["gc.enabled"], frozen["waterline.maintenance"]) == ("false", "frozen")
    assert scene.table.properties == properties
    assert not scene.store.get(scene.incident).is_frozen


def test_each_proposal_begins_with_the_freeze(scene: Scene) -> None:
    """It is an effect like any other, approved with the rest; where the table is frozen already, that is held."""
    view = scene.does(take_savepoint)
    again = scene.approved(view.proposal.model_copy(update={"effects": (), "requirements": ()}), scene.plan())

    assert view.proposal.effects[0].kind == "freeze-maintenance"
    assert "gc.enabled=false" in view.proposal.preview.sentences[0]
    assert [effect.kind for effect in again.effects] == ["freeze-maintenance"]
    assert again.preview.sentences[0] == f"{STAYS_FROZEN} {NOT_STOPPED}"


def thawed_by_hand(scene: Scene, *properties: str) -> None:
    """Somebody takes these off the table, past Waterline."""
    with scene.by_hand() as table, table.transaction() as change:
        change.remove_properties(*properties)


@pytest.mark.parametrize(
    "taken", [("waterline.maintenance", "waterline.maintenance.by", "gc.enabled"), ("gc.enabled",)], ids=["all", "half"]
)
def test_what_a_hand_took_out_meanwhile_is_frozen_before_anything_else(scene: Scene, taken: tuple[str, ...]) -> None:
    """It was frozen when it was proposed. A sign alone keeps nothing from expiry."""
    scene.sets("gc.enabled", "true")
    scene.maintenance.freeze(scene.incident, by=ANA)
    proposal = scene.proposed(take_savepoint)
    thawed_by_hand(scene, *taken)

    scene.executes(proposal.id)

    properties = scene.table.properties
    assert scene.view(proposal.id).done[0].detail.startswith("Expiry and orphan removal are stopped")
    assert (properties["gc.enabled"], properties["waterline.maintenance.by"]) == ("false", scene.incident)
    closed(scene)
    scene.maintenance.unfreeze_closed(scene.incident)
    assert scene.table.properties.get("gc.enabled") == ("true" if taken == ("gc.enabled",) else None)


def test_a_sign_alone_is_no_freeze(scene: Scene) -> None:
    """Whoever asks for a freeze gets one, and what was set before it is set again."""
    scene.sets("waterline.maintenance", "frozen")

    scene.maintenance.freeze(scene.incident, by=ANA)
    frozen = scene.table.properties["gc.enabled"]
    scene.maintenance.unfreeze(scene.incident, by=ANA)

    assert frozen == "false"
    assert "gc.enabled" not in scene.table.properties


@pytest.mark.parametrize("moment", ["before the commit", "after it"])
def test_a_thaw_does_not_overtake_a_proposal(scene: Scene, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """It was made after the unfreeze had asked whether there is one: the table is frozen all the same."""
    plan = scene.plan()
    proposal = take_savepoint.propose(plan)
    scene.maintenance.freeze(scene.incident, by=ANA)
    name = "load" if moment == "before the commit" else "commit"
    do = getattr(scene.catalog, name)

    def proposed_meanwhile(*about: object) -> TableState:
        monkeypatch.setattr(scene.catalog, name, do)
        found = do(*about)
        scene.approved(proposal, plan)
        return found  # type: ignore[no-any-return]

    monkeypatch.setattr(scene.catalog, name, proposed_meanwhile)

    with pytest.raises(Refused, match="Maintenance stays frozen while “Take the savepoint"):
        scene.maintenance.unfreeze(scene.incident, by=ANA)

    assert scene.table.properties["gc.enabled"] == "false"
    assert scene.store.get(scene.incident).is_frozen


def test_a_late_thaw_does_not_take_the_freeze_of_another(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another incident took it over after the unfreeze had looked whose it is."""
    scene.maintenance.freeze(scene.incident, by=ANA)
    load = scene.catalog.load

    def taken_over(*about: str) -> TableState:
        monkeypatch.setattr(scene.catalog, "load", load)
        found = load(*about)  # type: ignore[arg-type]
        scene.sets("waterline.maintenance.by", "wl-77")
        return found

    monkeypatch.setattr(scene.catalog, "load", taken_over)

    scene.maintenance.unfreeze(scene.incident, by=ANA)

    assert scene.table.properties["gc.enabled"] == "false"


@pytest.mark.full
def test_the_thaw_is_owed_until_it_is_done(scene: Scene) -> None:
    """The catalog was down when the incident was closed; the duty of a later day does it, and does it once."""
    scene.maintenance.freeze(scene.incident, by=ANA)
    closed(scene)
    commit = scene.catalog.commit

    def down(table: str, change: TableChange) -> TableState:
        raise CommitRefused("The catalog is down.", "", "")

    scene.catalog.commit = down  # type: ignore[method-assign, assignment]
    with pytest.raises(CommitRefused):
        scene.maintenance.unfreeze_closed(scene.incident)
    owed = scene.store.get(scene.incident).is_frozen
    scene.catalog.commit = commit  # type: ignore[method-assign]
    scene.maintenance.unfreeze_closed(scene.incident)
    scene.maintenance.unfreeze_closed(scene.incident)

    assert owed
    assert "gc.enabled" not in scene.table.properties
    marks = [entry for entry in scene.store.get(scene.incident).entries if entry.body.kind == "maintenance-marked"]
    assert [(entry.by, entry.body.status) for entry in marks] == [  # type: ignore[union-attr]
        (ANA, "freezing"),
        (ANA, "frozen"),
        (WATERLINE, "unfrozen"),
    ]


def test_a_freeze_whose_end_was_not_noted_is_thawed_at_the_end(scene: Scene) -> None:
    """The answer of the commit was lost, or the bot was killed after it: the unfreeze is owed all the same."""
    commit = scene.catalog.commit

    def lost(table: str, change: TableChange) -> TableState:
        commit(ORDERS, change)
        raise OutcomeUnknown("The catalog did not answer.", "", "")

    scene.catalog.commit = lost  # type: ignore[method-assign, assignment]
    with pytest.raises(OutcomeUnknown):
        scene.maintenance.freeze(scene.incident, by=ANA)
    scene.catalog.commit = commit  # type: ignore[method-assign]
    frozen = scene.table.properties["gc.enabled"]
    again = scene.maintenance.freeze(scene.incident, by=ANA)
    closed(scene)

    scene.maintenance.unfreeze_closed(scene.incident)

    assert frozen == "false"
    assert again.startswith("Maintenance of sales.orders is frozen until")
    assert "gc.enabled" not in scene.table.properties


@pytest.mark.full
def test_a_freeze_that_was_refused_owes_no_thaw(scene: Scene) -> None:
    """The record says that nothing came of it."""

    def down(table: str, change: TableChange) -> TableState:
        raise CommitRefused("The catalog is down.", "", "")

    scene.catalog.commit = down  # type: ignore[method-assign, assignment]
    with pytest.raises(CommitRefused):
        scene.maintenance.freeze(scene.incident, by=ANA)

    [*_, last] = scene.store.get(scene.incident).entries
    assert last.body.sentence == "Maintenance was not frozen: The catalog is down."  # type: ignore[union-attr]
    assert not scene.store.get(scene.incident).is_frozen


def test_the_freeze_of_an_earlier_incident_is_taken_over(scene: Scene) -> None:
    """Its unfreeze is still owed and may come at any moment; what was set before both is set again at the end."""
    scene.sets("gc.enabled", "true")
    scene.maintenance.freeze(scene.incident, by=ANA)
    scene.sets("waterline.maintenance.by", "wl-77")

    view = scene.does(take_savepoint)
    signed = scene.table.properties["waterline.maintenance.by"]
    closed(scene)
    scene.maintenance.unfreeze_closed(scene.incident)

    assert view.proposal.effects[0].kind == "freeze-maintenance"
    assert signed == scene.incident
    assert scene.table.properties["gc.enabled"] == "true"


def test_a_writer_that_commits_all_the_time_does_not_keep_the_freeze_out(scene: Scene) -> None:
    """A refused commit surely did nothing, so it is tried again, after a wait that grows."""
    commit, refused = scene.catalog.commit, list[float]()

    def raced(table: str, change: TableChange) -> TableState:
        if len(refused) < 3:
            refused.append(monotonic())
            raise CommitRefused("The table has moved.", "", "")
        return commit(ORDERS, change)

    scene.catalog.commit = raced  # type: ignore[method-assign, assignment]

    scene.maintenance.freeze(scene.incident, by=ANA)

    assert scene.table.properties["gc.enabled"] == "false"
    assert min(later - earlier for earlier, later in pairwise(refused)) >= 0.05


def test_a_table_frozen_by_another_incident_stays_frozen(scene: Scene) -> None:
    """Whoever froze it unfreezes it."""
    scene.maintenance.freeze(scene.incident, by=ANA)
    scene.sets("waterline.maintenance.by", "wl-77")

    said = scene.maintenance.unfreeze(scene.incident, by=ANA)

    assert said == "Maintenance of the table stays frozen by wl-77."
    assert scene.table.properties["gc.enabled"] == "false"


def test_freezing_and_thawing_twice_is_as_once(scene: Scene) -> None:
    """The answers say who was first, each is on record once, and nothing is unfrozen by itself while the incident is
    open."""
    scene.maintenance.freeze(scene.incident, by=ANA)
    scene.maintenance.unfreeze_closed(scene.incident)

    second = scene.maintenance.freeze(scene.incident, by=ANA)
    scene.maintenance.unfreeze(scene.incident, by=ANA)
    fourth = scene.maintenance.unfreeze(scene.incident, by=ANA)

    bodies = (entry.body for entry in scene.store.get(scene.incident).entries)
    assert [body.status for body in bodies if isinstance(body, MaintenanceMarked)] == ["freezing", "frozen", "unfrozen"]
    assert second == f"Maintenance of sales.orders is already frozen by {scene.incident}."
    assert fourth == "Maintenance of the table was already running again."


def test_nothing_claims_more_than_the_freeze_does() -> None:
    """No property of a table holds compaction back, neither Spark's nor Flink's: whoever relies on it reads so."""
    root = Path(__file__).parents[2]
    claims = [line for line in (root / "README.md").read_text(encoding="utf-8").splitlines() if "freeze" in line]

    assert claims
    assert all("compaction" not in claim.lower() for claim in (*claims, FREEZES))
    assert NOT_STOPPED.startswith("Compaction goes on")
    limits = (root / "docs" / "limits.md").read_text(encoding="utf-8")
    assert "`expire_snapshots()` of PyIceberg ignores the freeze" in limits
    assert "No table property stops a compaction" in limits
