"""What the table itself says while its incident is open."""

import pytest

from bot.adapters.clock import SystemClock
from bot.domain.entries import NoteAdded
from bot.domain.trust_claims import disagreements, newest_claim
from bot.service.waterline import TAG, Waterline
from tests.actions.scene import Scene

pytestmark = pytest.mark.smoke


@pytest.fixture
def waterline(scene: Scene) -> Waterline:
    """Of the scene's incident, at whose opening no snapshot was known to be good."""
    made = Waterline(scene.store, scene.catalog, SystemClock())
    made.under_review(scene.incident)
    return made


def notes(scene: Scene) -> list[str]:
    """What was noted in the incident."""
    entries = scene.store.get(scene.incident).entries
    return [entry.body.text for entry in entries if isinstance(entry.body, NoteAdded)]


def test_a_table_of_which_no_state_is_known_to_be_good_is_marked_without_a_tag(
    scene: Scene, waterline: Waterline
) -> None:
    """Engines that look at the property alone are warned; the record says the same as the table."""
    assert (scene.table.properties["waterline.status"], scene.table.ref(TAG)) == ("under-review", None)
    assert disagreements(newest_claim(scene.store.all()), scene.table) == ()


def test_a_mark_that_somebody_took_off_is_put_back_and_noted_once(scene: Scene, waterline: Waterline) -> None:
    """A pipeline that asks the table must not go on because of it."""
    head = scene.table.head
    assert head is not None
    waterline.trusted(scene.incident, head)
    scene.sets("waterline.status", "fine")

    waterline.keep(scene.incident)
    waterline.keep(scene.incident)

    assert (scene.table.properties["waterline.status"], scene.table.ref(TAG)) == ("trusted", head)
    assert notes(scene) == ["Somebody changed the table's tag or property. Waterline set both again."]
