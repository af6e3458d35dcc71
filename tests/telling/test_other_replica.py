"""What another replica puts on record is followed here, whatever becomes of that replica."""

from contextlib import closing
from pathlib import Path

from bot.adapters.journal_sql import open_store
from bot.domain.entries import NoteAdded
from bot.service.incident_store import IncidentStore
from tests.decisions import ANA
from tests.web.scene import Scene


def test_what_another_process_adds_after_the_end_is_seen(tmp_path: Path) -> None:
    """Consumers answer after an incident has ended, wherever the click arrives."""
    scene = Scene(tmp_path)
    scene.opens(mark=False).closes()
    [before] = scene.incidents.all()
    with closing(open_store(scene.journal_url)) as store:
        other = IncidentStore(store.journal, scene.clock)
        other.write(scene.id, by=ANA, decide=lambda _now: [NoteAdded(text="Seen by finance.")])

        [after] = scene.incidents.all()

    assert before.seq + 1 == after.seq
    assert after is scene.incidents.all()[0]
    scene.close()
