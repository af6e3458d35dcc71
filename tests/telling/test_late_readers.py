"""Readers that lineage shows late, and corrections that are due, until a person sends."""

from contextlib import closing
from datetime import timedelta

import pytest

from bot.adapters.journal_sql import Store
from bot.adapters.lineage import NoLineage
from bot.incident.entries import (
    Body,
    LateRunsSeen,
    NoteAdded,
    NoticeEnded,
    NoticeQueued,
    WaterlineMoved,
)
from bot.incident.notice import Notice, NoticeData
from bot.incident.trust_claims import ALONE, corrections_due, refuse_other_trust
from bot.observation.errors import CouldNotLook, Refused
from bot.observation.ids import SnapshotId
from bot.service.notices import late_readers
from tests import orders_table as orders
from tests.decisions import ANA
from tests.incidents import Story
from tests.telling.cleared_readers import Cleared, runs_of, scene, world
from tests.web.scene import Scene

__all__ = ["scene", "world"]


def seen(world: Cleared) -> list[tuple[str, ...]]:
    """What each look put on record."""
    entries = world.scene.incidents.get(world.scene.id).entries
    return [entry.body.runs for entry in entries if isinstance(entry.body, LateRunsSeen)]


def due(world: Cleared) -> list[str]:
    """Who is due, by now."""
    return [each.consumer for each in corrections_due(world.scene.incidents.get(world.scene.id))]


def sends(world: Cleared) -> None:
    """Ana sends what the card's button previews."""
    name, _ = world.telling.preview_correction(world.scene.id, by=ANA)
    world.telling.send_preview(world.scene.id, name, by=ANA, step=None)


def test_a_run_that_is_seen_late_is_due_until_a_person_sends_the_correction(world: Cleared) -> None:
    """Its event came after the closing message; a look sends nothing, and further looks change nothing."""
    world.late.look(world.scene.id)
    world.reads(world.scene.commits[-1], "late")
    world.late.look(world.scene.id)
    world.late.look(world.scene.id)
    before, shown = [notice.kind for notice in world.told], due(world)

    sends(world)
    world.late.look(world.scene.id)

    assert (["recovered"], ["revenue_daily"], [("late",)]) == (before, shown, seen(world))
    correction = world.told[-1]
    assert (correction.data.rerun.needed, correction.data.rerun.runs) == (True, ("late",))
    assert [] == due(world)
    with pytest.raises(Refused):
        world.telling.preview_correction(world.scene.id, by=ANA)


def test_a_second_run_that_is_seen_later_is_due_too(world: Cleared) -> None:
    """They have replaced what the first one made, and nothing of the second."""
    world.reads(world.scene.commits[-1], "late")
    world.late.look(world.scene.id)
    sends(world)
    world.reads(world.scene.commits[-2], "later")

    world.late.look(world.scene.id)

    assert [("late",), ("later",)] == seen(world)
    assert ["revenue_daily"] == due(world)


def test_a_person_may_say_why_not_and_a_further_run_is_due_again(world: Cleared) -> None:
    """The reason is on record; further looks do not show the same run again."""
    world.reads(world.scene.commits[-1], "late")
    world.late.look(world.scene.id)
    with pytest.raises(Refused):
        world.telling.decline_correction(world.scene.id, " ", by=ANA)
    world.telling.decline_correction(world.scene.id, "It was a test.", by=ANA)
    world.late.look(world.scene.id)
    declined = due(world)

    world.reads(world.scene.commits[-2], "later")
    world.late.look(world.scene.id)

    assert [] == declined
    assert ["revenue_daily"] == due(world)


def test_whoever_had_to_run_again_is_due_for_a_further_run(scene: Scene) -> None:
    """The closing message named one; nothing is due as long as it is the only one."""
    with closing(Cleared(scene, read=scene.commits[-1])) as world:
        assert runs_of(world.told[0]) == {"right"}
        world.late.look(scene.id)
        before = due(world)
        world.reads(scene.commits[-2], "later")

        world.late.look(scene.id)

        assert ([], ["revenue_daily"], [("later",)]) == (before, due(world), seen(world))


def test_a_channel_is_due_for_each_further_run(scene: Scene) -> None:
    """As the support channels of a data contract are."""
    with closing(Cleared(scene, is_many=True)) as world:
        for run in ("late", "later"):
            world.reads(scene.commits[-1], run)
            world.late.look(scene.id)
            world.late.look(scene.id)
            sends(world)

        assert ["recovered", "correction", "correction"] == [notice.kind for notice in world.told]
        assert "`revenue_daily`: 1 run" in world.told[1].text
        assert "`revenue_daily`: 2 runs" in world.told[2].text


def test_it_is_due_also_when_the_incident_is_closed(world: Cleared) -> None:
    """Events come when a run has ended, and incidents end sooner."""
    world.scene.closes()
    world.reads(world.scene.commits[-1], "late")

    world.late.look(world.scene.id)

    assert ["revenue_daily"] == due(world)


def test_a_correction_while_another_incident_has_the_table_in_doubt_leaves_it_due(world: Cleared) -> None:
    """It does not ask anybody to run again yet."""
    first = world.scene.id
    world.scene.closes().opens()
    world.scene.id = first
    world.reads(world.scene.commits[-1], "late")
    world.late.look(first)

    sends(world)

    assert "Please run again" not in world.told[-1].text
    assert ["revenue_daily"] == due(world)


def test_it_is_looked_at_every_quarter_of_an_hour_for_two_days(world: Cleared) -> None:
    """Also where a look could not see: lineage was away."""
    told_at = world.scene.clock.at
    world.file.rename(world.file.with_suffix(".away"))
    for wait in (timedelta(0), timedelta(minutes=15)):
        world.scene.clock.at = told_at + wait
        with pytest.raises(CouldNotLook, match="Not all readers"):
            world.late.look_in_turn(world.scene.id)
        world.late.look_in_turn(world.scene.id)

    incident, over = world.scene.incidents.get(world.scene.id), told_at + timedelta(days=2)
    assert [True, False] == [late_readers.may_be_read_late(incident, at) for at in (told_at, over)]


def test_lineage_that_is_configured_no_more_is_said_once(world: Cleared) -> None:
    """However often it is tried."""
    world.observer._reads = NoLineage()
    for _ in range(3):
        world.background._run((world.scene.id, "Looking"), lambda: world.late.look(world.scene.id))

    notes = [e.body for e in world.scene.incidents.get(world.scene.id).entries if isinstance(e.body, NoteAdded)]
    assert len(notes) == 1
    assert "no source is configured" in notes[0].text


def test_a_record_that_ended_long_ago_is_not_walked(world: Cleared, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every incident there ever was is asked each minute."""
    walked: list[str] = []
    monkeypatch.setattr(late_readers, "runs_told", lambda incident: walked.append(incident.id) or {})

    for days in (0, 7):
        incident = world.scene.incidents.get(world.scene.id)
        late_readers.may_be_read_late(incident, world.scene.clock.at + timedelta(days=days))

    assert walked == [world.scene.id]


LOWEST = orders.COMMITS[2][1]


def told(kind: str, snapshot: SnapshotId | None = orders.GOOD, *, revision: int = 1) -> NoticeQueued:
    """revenue_daily is notified of this snapshot."""
    data = NoticeData(stage="proven" if kind == "recovered" else "investigating", trusted_snapshot=snapshot)
    notice = Notice(
        kind=kind, revision=revision, consumer="revenue_daily", channel="C0REVENUE2", text=f"{revision}", data=data
    )
    return NoticeQueued(notice=notice)


def lowered(to: SnapshotId | None) -> WaterlineMoved:
    """Under review up to this snapshot."""
    return WaterlineMoved(snapshot=to, status="under-review")


def trusted(to: SnapshotId = orders.GOOD) -> WaterlineMoved:
    return WaterlineMoved(snapshot=to, status="trusted")


LATE = LateRunsSeen(consumer="revenue_daily", runs=("late",))


@pytest.fixture
def story(record: Store) -> Story:
    """The head counts as trusted at the opening."""
    return Story(record.journal).opens(trusted=orders.HEAD)


@pytest.mark.parametrize(
    ("bodies", "why"),
    [
        ([told("warning", orders.HEAD)], None),
        ([told("warning", orders.HEAD), lowered(orders.GOOD)], "moved"),
        ([told("warning", orders.HEAD), lowered(None)], "moved"),
        ([told("warning", None), lowered(orders.GOOD)], None),
        ([told("warning", orders.HEAD), lowered(orders.GOOD), told("correction")], None),
        ([told("warning", orders.HEAD), lowered(orders.GOOD), told("update")], None),
        ([told("warning", orders.HEAD), lowered(orders.GOOD), told("correction"), lowered(LOWEST)], "moved"),
        ([lowered(orders.GOOD), lowered(LOWEST), told("correction")], "moved"),  # rendered before the move
        ([lowered(orders.GOOD), told("correction", LOWEST)], None),  # another incident says so of the table
        ([told("warning", orders.HEAD), lowered(orders.GOOD), trusted()], None),
        ([told("planned_work", None), lowered(orders.GOOD)], None),
        ([trusted(), told("recovered")], None),
        ([trusted(), told("recovered"), lowered(orders.GOOD)], "taken-back"),
        ([trusted(), told("recovered"), lowered(orders.GOOD), told("correction")], None),
        ([trusted(), told("recovered"), lowered(orders.GOOD), told("review")], "taken-back"),
        ([trusted(), told("recovered"), lowered(orders.GOOD), trusted()], "proven-again"),
        ([trusted(), told("recovered"), lowered(orders.GOOD), trusted(), told("recovered", revision=2)], None),
        ([trusted(), told("recovered"), lowered(orders.GOOD), told("correction"), trusted()], None),
        ([told("warning"), trusted(), lowered(orders.GOOD)], None),
        ([trusted(), told("recovered"), LATE], "late-run"),
        ([trusted(), told("recovered"), LATE, told("recovered", revision=2)], None),
        ([trusted(), told("recovered"), LATE, lowered(orders.GOOD)], "taken-back"),
    ],
)
def test_who_is_due_for_a_correction(story: Story, bodies: list[Body], why: str | None) -> None:
    """By what the newest notice of each consumer says, and where the mark is now."""
    for body in bodies:
        story.says(body)

    assert ([] if why is None else [("revenue_daily", why)]) == [
        (each.consumer, each.why) for each in corrections_due(story.incident)
    ]


def test_it_stays_due_when_the_incident_is_closed_or_private(story: Story) -> None:
    """A person decides about it, so nothing hides it."""
    story.says(told("warning", orders.HEAD)).says(lowered(orders.GOOD)).closes()

    assert ["moved"] == [each.why for each in corrections_due(story.incident)]


def test_a_notice_that_never_came_is_not_corrected(story: Story) -> None:
    """It was overtaken before it was sent."""
    story.says(trusted()).says(told("recovered"))
    [view] = story.incident.notices.values()
    story.says(NoticeEnded(key=view.key, how="overtaken", detail="x")).says(lowered(orders.GOOD))

    assert () == corrections_due(story.incident)


@pytest.mark.parametrize(
    ("to", "by_now"), [(LOWEST, f"it is now {LOWEST}"), (None, "the trusted snapshot is now unknown")]
)
def test_a_correction_that_was_rendered_before_the_mark_moved_on_is_not_sent(
    story: Story, to: SnapshotId | None, by_now: str
) -> None:
    """It would tell them to read what is found wrong by now."""
    rendered = told("correction").notice
    story.says(told("warning", orders.HEAD), by=ANA).says(lowered(orders.GOOD)).says(lowered(to))

    with pytest.raises(Refused, match=rf"names snapshot {orders.GOOD} as trusted; {by_now}.*Preview it again"):
        refuse_other_trust(story.incident, [rendered], ALONE)
