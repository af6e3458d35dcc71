"""A table that people froze by hand stays theirs: Waterline keeps no end of it, and says so."""

from datetime import UTC, datetime

from tests.actions.scene import Scene
from tests.rewound import ANA


def test_an_end_that_is_not_kept_is_not_dropped_without_a_word(scene: Scene) -> None:
    """Whoever said it would wait for the question."""
    scene.sets("waterline.maintenance", "frozen")

    said = scene.maintenance.freeze(scene.incident, by=ANA, until=datetime(2026, 11, 24, 14, 10, tzinfo=UTC))

    assert said == (
        "Maintenance of sales.orders was frozen already, by hand. "
        "That end is not kept: nobody is asked at 24 Nov 2026, 14:10 UTC."
    )
    assert scene.store.get(scene.incident).frozen_until is None
