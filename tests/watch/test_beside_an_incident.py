"""An open incident in which nobody looks at the table's rows does not blind the watch. Real worlds of the lab."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.entries import IncidentClosed, WaterlineMoved
from bot.domain.ids import IncidentId
from bot.domain.journal import WATERLINE
from bot.service.sightings import post_key
from tests.adapters.flink_wire import Wire
from tests.decisions import ANA
from tests.watch.conftest import OverRecorded
from tests.watch.recorded import Recorded
from tests.watch.watched import Watched

SECOND = timedelta(seconds=1)
FORKED = "forked-from-a-savepoint-v2"


def before_the_fork(over_recorded: OverRecorded) -> tuple[Recorded, Watched]:
    """One run writes the table."""
    world = Recorded(FORKED)
    world.until(world.runs[0].started_at - SECOND)
    return world, over_recorded(world)


def forks(world: Recorded, watched: Watched, wire: Wire, folder: Path) -> None:
    """A second run writes beside it, and the watch has looked often enough."""
    world.goes_on().told_by(wire)
    world.catalog_in(folder / FORKED)
    watched.clock.at = max(world.now, watched.clock.at + SECOND)
    watched.looks(6, apart=SECOND)


def proves(watched: Watched, incident: IncidentId) -> None:
    """Its table is trusted; the review is left."""
    head = watched.observer.table(watched.table).head
    watched.clock.at += SECOND
    moved = [WaterlineMoved(snapshot=head, status=status) for status in ("under-review", "trusted")]
    watched.incidents.write(incident, by=WATERLINE, decide=lambda _now: moved)
    watched.clock.at += SECOND


@pytest.mark.parametrize("is_planned", [False, True])
def test_a_new_fork_is_told_though_an_incident_is_open(
    is_planned: bool, over_recorded: OverRecorded, wire: Wire, tmp_path: Path
) -> None:
    """In the table's channel, naming the incident; the button comes when that has ended."""
    world, watched = before_the_fork(over_recorded)
    incident = watched.opens_incident(is_planned=is_planned)
    if not is_planned:
        proves(watched, incident)
    forks(world, watched, wire, tmp_path)

    [told] = watched.told
    watched.clock.at += SECOND
    watched.incidents.write(incident, by=ANA, decide=lambda _now: [IncidentClosed(reason="done")])
    [after] = watched.told

    assert told.code == "F13"
    assert f"Incident {incident} is open on this table" in told.text
    assert told.buttons == ("Mute table for 4 hours",)
    assert after.buttons == ("Open incident", "Mute table for 4 hours")


def test_while_an_incident_has_the_table_in_doubt_people_look(
    over_recorded: OverRecorded, wire: Wire, tmp_path: Path
) -> None:
    """Nothing is told; once the table is trusted again, it is."""
    world, watched = before_the_fork(over_recorded)
    incident = watched.opens_incident()
    forks(world, watched, wire, tmp_path)
    meanwhile = watched.seen
    proves(watched, incident)

    watched.looks(6, apart=SECOND)

    assert meanwhile == ()
    assert watched.seen == ("F13",)


def test_what_a_planned_stop_looks_like_is_said_where_it_was_planned(over_recorded: OverRecorded) -> None:
    """The channel has not to be called together for it."""
    watched = over_recorded(Recorded("notification-lost-v2"))
    incident = watched.opens_incident(is_planned=True)

    watched.looks(8, apart=SECOND)

    threads = {}
    for sighted in watched.sightings.memory(watched.table).lasting:
        post = watched.store.outbox.find(post_key(sighted.id))
        threads[sighted.sign.code] = post.thread_of if post is not None else None
    assert threads["no-commit"] == f"{incident}/card"
