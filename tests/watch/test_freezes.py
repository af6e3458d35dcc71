"""Since when maintenance stands still, as the journal tells it."""

from datetime import timedelta
from pathlib import Path

from bot.domain.entries import MaintenanceMarked
from bot.domain.freezes import FIRST, asks_to_thaw
from tests.decisions import ANA
from tests.web.scene import Scene


def test_a_second_freeze_goes_on_from_the_first_and_a_thaw_ends_it(tmp_path: Path) -> None:
    """A recovery freezes what a responder had frozen before; a thaw ends it, and so does the end."""
    scene = Scene(tmp_path).opens(mark=False)
    told = []
    for status in ("frozen", "frozen", "thawed", "frozen"):
        scene.clock.at += timedelta(hours=1)
        body = MaintenanceMarked.model_validate({"status": status, "sentence": "So it is."})
        scene.incidents.write(scene.id, by=ANA, decide=lambda _incident, body=body: [body])
        told.append(asks_to_thaw(scene.incidents.get(scene.id)))
    now = scene.clock.at
    scene.closes()

    first, second, thawed, last = told
    assert first == second == (now - timedelta(hours=3), now - timedelta(hours=3) + FIRST)
    assert thawed is None
    assert last == (now, now + FIRST)
    assert asks_to_thaw(scene.incidents.get(scene.id)) is None
    scene.close()
