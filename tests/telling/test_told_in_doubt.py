"""What is told of a table while others have it in doubt."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.incident.entries import NoteAdded, WaterlineMoved
from bot.incident.journal import WATERLINE
from bot.incident.notice import Notice, NoticeData
from bot.incident.trust_claims import ConcurrentDoubts, concurrent_doubts, refuse_other_trust
from bot.observation.errors import Refused
from bot.observation.ids import IncidentId
from bot.service.incident_store import IncidentStore
from tests.decisions import ANA
from tests.incidents import Story
from tests.telling.cleared_readers import Cleared, scene, world
from tests.watch.signs import finding, reported
from tests.web.scene import Scene

__all__ = ["scene", "world"]


@pytest.fixture
def second(world: Cleared) -> IncidentId:
    """Another incident is open on the table; a run that had read wrong rows of the first is seen only now."""
    first = world.scene.id
    found = world.scene.closes().opens().id
    world.scene.id = first
    world.reads(world.scene.commits[-1], "late")
    return found


def proves(world: Cleared, incident: IncidentId) -> None:
    """The table goes on, and is proven anew at its head."""
    world.scene.orders.commits("c", 5, range(50, 60))
    moved = WaterlineMoved(snapshot=world.scene.orders.head, status="trusted")
    world.scene.incidents.write(incident, by=WATERLINE, decide=lambda _now: [moved])


def corrects(world: Cleared) -> Notice:
    """A person corrects the first incident's closing message."""
    name, _ = world.telling.keep_preview(world.scene.id, "correction", by=ANA, words="Two more checkpoints.")
    [notice] = world.telling.send_preview(world.scene.id, name, by=ANA, step=None)
    return notice


def data_of(notice: Notice) -> NoticeData:
    """What a program reads."""
    assert notice.data is not None
    return notice.data


def test_a_correction_during_another_doubt_calls_nothing_proven_and_asks_nobody_to_run_again(
    world: Cleared, second: IncidentId
) -> None:
    """It names who questions the table, and what that one trusts."""
    notice = corrects(world)

    told = data_of(notice)
    assert told.stage != "proven"
    assert told.rerun.needed is None
    assert told.trusted_snapshot == world.scene.incidents.get(second).trusted
    assert f"under review again:* incident {second} questions the table. Do not re-run yet." in notice.text
    assert "Please run again" not in notice.text
    assert "last message" not in notice.text


def test_whoever_was_told_so_is_asked_to_run_again_once_the_table_is_proven(world: Cleared, second: IncidentId) -> None:
    """The other incident tells of its own rows only."""
    corrects(world)
    world.late.look(world.scene.id)
    proves(world, second)

    name, _ = world.telling.preview_correction(world.scene.id, by=ANA)
    world.telling.send_preview(world.scene.id, name, by=ANA, step=None)

    assert [notice.kind for notice in world.told] == ["recovered", "correction", "correction"]
    assert "Please run again" in world.told[-1].text


def test_a_correction_after_a_later_proof_names_that_one_s_head(world: Cleared, second: IncidentId) -> None:
    """Between the two the table was wrong once more: whoever pins, or goes on from there, must not go back to it."""
    first_head = world.scene.incidents.get(world.scene.id).trusted
    proves(world, second)

    told = data_of(corrects(world))

    assert told.stage == "proven"
    assert told.trusted_snapshot == world.scene.orders.head != first_head
    assert told.rerun.resume_after in (None, world.scene.orders.head)


def test_a_correction_that_was_previewed_before_the_doubt_is_not_sent(world: Cleared) -> None:
    """It would say that the table is proven."""
    name, _ = world.telling.keep_preview(world.scene.id, "correction", by=ANA, words="Two more checkpoints.")
    first = world.scene.id
    second = world.scene.closes().opens().id

    with pytest.raises(Refused, match=f"incident {second} questions the table. Preview it again"):
        world.telling.send_preview(first, name, by=ANA, step=None)
    assert len(world.scene.incidents.get(first).notices) == 1


def test_a_correction_that_was_previewed_before_a_later_proof_is_not_sent(world: Cleared, second: IncidentId) -> None:
    """Of the doubt that is over, or of a head that was trusted before."""
    name, _ = world.telling.keep_preview(world.scene.id, "correction", by=ANA, words="Two more checkpoints.")
    proves(world, second)
    again, _ = world.telling.keep_preview(world.scene.id, "correction", by=ANA, words="Two more checkpoints.")
    world.scene.clock.at += timedelta(minutes=1)
    proves(world, second)

    with pytest.raises(Refused, match="it is verified now"):
        world.telling.send_preview(world.scene.id, name, by=ANA, step=None)
    with pytest.raises(Refused, match=r"It names snapshot .* as trusted; it is now .*"):
        world.telling.send_preview(world.scene.id, again, by=ANA, step=None)


def test_nobody_is_told_that_all_is_well_while_the_watch_has_found_something(world: Cleared) -> None:
    """Found after the proof, and looked into by nobody: the table is not called trusted either."""
    world.scene.store.watched.add(reported(finding(), at=world.scene.clock.now()))

    with pytest.raises(Refused, match=r"an all-clear.*: the monitor found F2 in the table"):
        world.telling.preview(world.scene.id, "no_action")
    assert data_of(corrects(world)).stage != "proven"


def test_planned_work_is_not_told_as_harmless_while_another_incident_has_the_table_in_doubt(
    world: Cleared, second: IncidentId
) -> None:
    """Its texts say that nothing is wrong with the table."""
    incident = world.scene.incidents.get(world.scene.id)
    notice = Notice(kind="planned_work", revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="x")

    with pytest.raises(Refused, match=f"an all-clear.*incident {second} questions the table"):
        refuse_other_trust(incident, [notice], world.others.of(incident))


def test_planned_work_after_an_incident_without_proof_is_not_told_as_harmless(tmp_path: Path) -> None:
    """The table is as much in doubt as before: its rows cannot be relied on "before and meanwhile"."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        first = Story(store.journal).opens().closes()
        planned = Story(store.journal, start=first.now).opens(planned=True)

        found = concurrent_doubts(planned.incident, [first.incident, planned.incident], ())

        assert found == ConcurrentDoubts(later=None, doubt=f"incident {first.id} questions the table")


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
