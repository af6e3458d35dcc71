"""A late correction asks to run again, so it waits while the table is in doubt: on record, as long as that takes."""

from datetime import timedelta

import pytest

from bot.adapters.lineage import AllLineage
from bot.domain.entries import CorrectionWaits, NoteAdded, WaterlineMoved
from bot.domain.ids import IncidentId
from bot.domain.journal import WATERLINE
from bot.domain.watch import Ended
from bot.service.late_readers import LateReaders
from tests.slack.people import eventually
from tests.tables import ORDERS
from tests.telling.cleared_readers import Cleared, runs_of, scene, world
from tests.watch.signs import sighted, sign

__all__ = ["scene", "world"]
HOUR = timedelta(hours=1)


@pytest.fixture
def second(world: Cleared) -> IncidentId:
    """Another incident is open on the table; a run that had read wrong rows is seen only now."""
    scene, first = world.scene, world.scene.id
    found = scene.closes().opens().id
    scene.id = first
    world.reads(scene.commits[-1], "late")
    return found


def proves(world: Cleared, incident: IncidentId) -> None:
    """The table is trusted again."""
    moved = WaterlineMoved(snapshot=world.scene.orders.head, status="trusted")
    world.scene.incidents.write(incident, by=WATERLINE, decide=lambda _now: [moved])


def waits(world: Cleared) -> list[CorrectionWaits]:
    """What the record says of corrections that wait."""
    entries = world.scene.incidents.get(world.scene.id).entries
    return [entry.body for entry in entries if isinstance(entry.body, CorrectionWaits)]


def due_in(world: Cleared, late: LateReaders, *, at_once: bool = False) -> timedelta | None:
    """When it is looked at next, from now."""
    due = late._due(world.scene.incidents.get(world.scene.id), at_once)
    return None if due is None else due - world.scene.clock.at


def test_nobody_is_asked_to_run_again_on_a_table_that_is_in_doubt_again(world: Cleared, second: IncidentId) -> None:
    """Another incident was opened on it since: the correction waits until that one has proven the table, and is then
    of the first incident's rows alone."""
    for _ in range(2):
        world.late.settle(world.scene.id)
    again = due_in(world, world.late)
    before = [notice.kind for notice in world.told]
    proves(world, second)

    world.late.settle(world.scene.id)

    assert before == ["recovered"]
    assert waits(world) == [
        CorrectionWaits(consumers=("revenue_daily",), why=f"incident {second} has the table in doubt")
    ]
    assert again is not None
    assert again <= HOUR
    assert [notice.kind for notice in world.told] == ["recovered", "correction"]
    assert runs_of(world.told[-1]) == {"late"}


@pytest.mark.parametrize("is_restarted", [False, True])
def test_who_waits_is_told_however_long_the_doubt_lasts(world: Cleared, second: IncidentId, is_restarted: bool) -> None:
    """The record says that it is sent when the table is trusted again; a process that knows only the record keeps
    that, too."""
    world.late.settle(world.scene.id)
    world.scene.clock.at += timedelta(days=16)
    late = world.starts() if is_restarted else world.late
    at_once, followed = due_in(world, late, at_once=True), due_in(world, late)
    late.settle(world.scene.id)
    proves(world, second)

    late.settle(world.scene.id)

    assert at_once == timedelta(0)
    assert followed == (HOUR if is_restarted else timedelta(0))
    assert world.told[-1].kind == "correction"
    assert due_in(world, late, at_once=True) is None


def test_a_start_makes_up_for_the_correction_that_waits(world: Cleared, second: IncidentId) -> None:
    """By its own timers: the table was proven while the bot was down."""
    world.late.settle(world.scene.id)
    world.scene.clock.at += timedelta(days=16)
    proves(world, second)
    world.timers.start()

    world.starts().start()

    eventually(lambda: world.told[-1].kind == "correction")


def test_long_after_it_only_the_doubt_is_asked_for(world: Cleared, second: IncidentId) -> None:
    """An incident that was closed without proof leaves its table in doubt for months: lineage is not read hourly."""
    world.late.settle(world.scene.id)
    looked = world.looks
    world.scene.clock.at += timedelta(days=8)

    world.late.settle(world.scene.id)

    assert world.looks == looked
    assert due_in(world, world.late) == HOUR


def test_nobody_is_asked_to_run_again_while_the_watch_has_found_something(world: Cleared) -> None:
    """No incident has looked into it yet, and the table is not called trusted meanwhile."""
    world.reads(world.scene.commits[-1], "late")
    found = sighted(sign(), at=world.scene.clock.now())
    world.scene.store.watched.add(found)
    world.late.settle(world.scene.id)
    before = [notice.kind for notice in world.told]
    over = Ended(sighting=found.id, table=ORDERS, at=world.scene.clock.now(), why="It is over.")
    world.scene.store.watched.add(over)

    world.late.settle(world.scene.id)

    assert before == ["recovered"]
    assert [wait.why for wait in waits(world)] == ["the watch has found F2 in the table"]
    assert world.told[-1].kind == "correction"


def test_a_run_that_is_seen_no_more_ends_the_wait_and_that_is_said(world: Cleared, second: IncidentId) -> None:
    """Its event was taken back, or its owner is not declared any more: nothing is kept for ever."""
    world.late.settle(world.scene.id)
    world.file.write_text("")
    proves(world, second)

    world.late.settle(world.scene.id)

    assert waits(world)[-1].consumers == ()
    assert [notice.kind for notice in world.told] == ["recovered"]
    assert due_in(world, world.late, at_once=True) != timedelta(0)


def test_lineage_that_is_configured_no_more_is_said_once(world: Cleared, second: IncidentId) -> None:
    """Whoever waits still does: a look that could not see is not "nothing found"."""
    world.late.settle(world.scene.id)
    world.observer._reads = AllLineage([])
    proves(world, second)
    for _ in range(30):
        world.scene.clock.at += HOUR
        world.background._run((world.scene.id, "Looking"), lambda: world.late.looks.look(world.scene.id))

    notes = [e.body for e in world.scene.incidents.get(world.scene.id).entries if isinstance(e.body, NoteAdded)]
    assert len(notes) == 1
    assert "no source is configured" in notes[0].text
    assert len(waits(world)) == 1
