"""The tag of a kept savepoint: it goes when its day has passed, and never while somebody doubts the table."""

from datetime import timedelta

from bot.domain.entries import SavepointReleased
from bot.domain.timeline import sentence
from bot.ports import TableChange
from bot.slack.blocks.savepoints import catalogue_text
from tests.savepoints.world import World
from tests.tables import ORDERS


def _told(world: World) -> list[str]:
    entries = world.scene.store.get(world.scene.incident).entries
    return [sentence(entry) for entry in entries if isinstance(entry.body, SavepointReleased)]


def _moved_by_hand(world: World, *, to_good: bool) -> None:
    """Somebody takes the tag away, or puts it on another snapshot."""
    table, tag = world.scene.table, world.tag or ""
    moved = {"set_tags": {tag: world.good}} if to_good else {"remove_refs": (tag,)}
    change = TableChange.model_validate({"expected_uuid": table.uuid, "expected_head": None, **moved})
    world.scene.catalog.commit(ORDERS, change)


def test_the_tag_goes_when_its_day_has_passed_and_the_record_says_so(world: World) -> None:
    """Once, however often it is looked at; the snapshot itself is left to maintenance."""
    world.plans()
    world.takes_it()
    world.closes()
    tags, snapshots = world.tags(), world.scene.table.by_id

    assert tags.are_due(world.scene.store.get(world.scene.incident))
    tags.release(world.scene.incident)
    tags.release(world.scene.incident)

    assert world.tag is None
    assert world.scene.table.by_id.keys() == snapshots.keys()
    assert len(told := _told(world)) == 1
    assert "The savepoint expired. Its tag savepoint-5-" in told[0]
    assert not tags.are_due(world.scene.store.get(world.scene.incident))
    assert "removed), code 1.4" in catalogue_text(ORDERS, world.savepoints.catalogue(ORDERS))


def test_the_serving_bot_looks_for_such_tags_by_itself(world: World) -> None:
    """What `waterline serve` does now and then is enough, although nothing is open."""
    world.takes_it()
    world.closes()
    services = world.services(timedelta(days=8))

    services.duties.settle_all()
    services.background.close()

    assert world.tag is None


def test_a_savepoint_without_a_plan_is_kept_for_seven_days(world: World) -> None:
    """The day before, nothing is due; the day after, it is."""
    world.takes_it()
    world.closes()
    incident = world.scene.store.get(world.scene.incident)

    due = [world.tags(timedelta(days=days)).are_due(incident) for days in (6, 8)]

    assert due == [False, True]


def test_the_tag_stays_while_its_own_incident_is_open(world: World) -> None:
    """The way back is needed for as long as people are at work."""
    world.plans()
    world.takes_it()

    world.tags().release(world.scene.incident)

    assert world.tag is not None
    assert _told(world) == []


def test_the_tag_stays_while_another_incident_is_open_on_the_table(world: World) -> None:
    """And goes when that one is closed, too."""
    world.plans()
    world.takes_it()
    world.closes()
    world.opens_another()
    tags = world.tags()

    tags.release(world.scene.incident)

    assert not tags.are_due(world.scene.store.get(world.scene.incident))
    assert world.tag is not None
    assert _told(world) == []


def test_a_tag_that_somebody_has_removed_is_noted_and_not_looked_for_again(world: World) -> None:
    """What is gone is said to be gone, not taken for our deed."""
    world.takes_it()
    world.closes()
    _moved_by_hand(world, to_good=False)

    world.tags(timedelta(days=8)).release(world.scene.incident)

    assert ["was already removed" in text for text in _told(world)] == [True]
    assert not world.tags(timedelta(days=8)).are_due(world.scene.store.get(world.scene.incident))


def test_a_tag_that_somebody_has_moved_is_left_where_it_is(world: World) -> None:
    """It is theirs now."""
    world.takes_it()
    world.closes()
    _moved_by_hand(world, to_good=True)

    world.tags(timedelta(days=8)).release(world.scene.incident)

    assert world.scene.table.ref(world.tag or "") == world.good
    assert ["names another snapshot and was kept" in text for text in _told(world)] == [True]
