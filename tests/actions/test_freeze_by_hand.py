"""A table that people froze by hand stays theirs: Waterline keeps no end of it, and says so."""

from datetime import UTC, datetime

from bot.actions import take_savepoint
from bot.domain.entries import IncidentClosed
from bot.domain.execution import ProposalState
from tests.actions.scene import Scene
from tests.rewound import ANA


def frozen_by_hand(scene: Scene) -> None:
    """As Waterline does it, without its notes."""
    scene.sets("gc.enabled", "false")
    scene.sets("waterline.maintenance", "frozen")


def test_it_stays_frozen_after_a_proposal_and_after_the_incident(scene: Scene) -> None:
    """The proposal begins with the freeze and finds it done; the incident's end takes nothing away."""
    frozen_by_hand(scene)
    properties, plan = scene.table.properties, scene.plan()

    view = scene.carries_out(take_savepoint.propose(plan), plan)
    scene.store.write(scene.incident, by=ANA, decide=lambda _i: [IncidentClosed(reason="Over.")])
    scene.maintenance.settle(scene.incident)

    assert ["freeze-maintenance"] == [effect.kind for effect in view.proposal.effects][:1]
    assert ProposalState.APPLIED is view.state
    assert properties == scene.table.properties
    assert not scene.store.get(scene.incident).is_frozen


def test_an_end_that_is_not_kept_is_not_dropped_without_a_word(scene: Scene) -> None:
    """Whoever said it would wait for the question."""
    frozen_by_hand(scene)

    said = scene.maintenance.freeze(scene.incident, by=ANA, until=datetime(2026, 11, 24, 14, 10, tzinfo=UTC))

    assert said == (
        "Maintenance of sales.orders is already frozen by hand. Waterline does not ask at 24 Nov 2026, 14:10 UTC."
    )
    assert scene.store.get(scene.incident).frozen_until is None
