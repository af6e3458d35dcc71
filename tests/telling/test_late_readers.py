"""Who was told that they need not run again is corrected when lineage shows later that they must: once."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import spark_tasks
from bot.bootstrap import CONTENT
from bot.domain.entries import NoticeQueued, WaterlineMoved
from bot.domain.journal import WATERLINE
from bot.domain.notice import Notice
from bot.evidence import Collector, find_tasks
from bot.notices import scan
from bot.service.late_readers import LateReaders
from bot.service.looks import LOOKS
from bot.service.newer_commits import NewerCommits
from bot.service.telling import Telling
from bot.service.telling_rules import owes_withdrawal
from tests.decisions import ANA
from tests.slack.looking import ArrowRunner
from tests.slack.people import eventually
from tests.telling.rerunning_world import World
from tests.web.scene import Scene


class Cleared(World):
    """A table that was rewound and proven; revenue_daily read only what is right, as far as lineage shows."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        scene.clock.at = datetime.now(UTC)  # the table's commits carry the real time
        newer = NewerCommits(Collector(find_tasks(spark_tasks), ArrowRunner(), scene.clock))
        self.telling = Telling(scene.incidents, self.observer, scan(CONTENT / "messages"), scene.clock, newer)
        self.late = LateReaders(scene.incidents, self.observer, self.telling, self.background, scene.clock, self.timers)
        scene.opens()
        self.reads(scene.good, "right")
        scene.verifies()
        self.tells_recovered()

    def tells_recovered(self) -> None:
        """The closing message, as it is made now."""
        preview = self.telling.preview(self.scene.id, "recovered")
        self.telling.send(self.scene.id, preview, by=ANA, step=None)

    @property
    def told(self) -> list[Notice]:
        """All notices, oldest first."""
        return [view.notice for view in self.scene.incidents.get(self.scene.id).notices.values()]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Cleared]:
    """It was told that it need not do anything."""
    scene = Scene(tmp_path)
    made = Cleared(scene)
    assert "You need not do anything" in made.told[0].text
    yield made
    made.close()
    scene.close()


def test_a_run_that_is_seen_late_is_told_once(world: Cleared) -> None:
    """Its event came after the closing message; further looks and further events change nothing."""
    world.late.settle(world.scene.id)
    assert [notice.kind for notice in world.told] == ["recovered"]
    world.reads(world.scene.commits[-1], "late")

    world.late.settle(world.scene.id)
    world.reads(world.scene.commits[-2], "later")
    world.late.settle(world.scene.id)

    assert [notice.kind for notice in world.told] == ["recovered", "correction"]
    correction = world.told[-1]
    assert "a run of yours was seen only now" in correction.text
    assert "Please run again" in correction.text
    assert correction.data is not None
    assert correction.data.rerun is not None
    assert (correction.data.rerun.needed, correction.data.rerun.runs) == (True, ("late",))


def test_whoever_was_corrected_by_a_person_is_not_told_again(world: Cleared) -> None:
    """Somebody was quicker."""
    by_hand = Notice(kind="correction", revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="x")
    world.scene.incidents.write(world.scene.id, by=ANA, decide=lambda _now: [NoticeQueued(notice=by_hand)])
    world.reads(world.scene.commits[-1], "late")

    world.late.settle(world.scene.id)

    assert len(world.told) == 2


def test_it_is_told_also_when_the_incident_is_closed(world: Cleared) -> None:
    """Events come when a run has ended, and incidents end sooner."""
    world.scene.closes()
    world.reads(world.scene.commits[-1], "late")

    world.late.settle(world.scene.id)

    assert world.told[-1].kind == "correction"


def test_it_is_looked_at_by_the_clock_for_a_day_and_no_longer(world: Cleared) -> None:
    """A restart sets the next moment from the record; after the last one lineage is left alone."""
    world.timers.start()
    world.late.start()
    world.reads(world.scene.commits[-1], "late")
    world.scene.clock.at += LOOKS[-2] + timedelta(seconds=1)

    world.late.looks.look(world.scene.id)

    eventually(lambda: world.told[-1].kind == "correction")
    incident = world.scene.incidents.get(world.scene.id)
    assert world.late._due(incident, False) is None


def test_who_read_nothing_wrong_is_left_alone_after_a_day(world: Cleared) -> None:
    """Nothing is looked at for ever."""
    incident = world.scene.incidents.get(world.scene.id)
    assert world.late._due(incident, False) is not None

    world.scene.clock.at += LOOKS[-1]

    assert world.late._due(incident, False) is None


def test_a_trust_that_is_taken_back_later_is_still_told(world: Cleared) -> None:
    """The correction of one reader says nothing of that."""
    world.reads(world.scene.commits[-1], "late")
    world.late.settle(world.scene.id)
    assert not owes_withdrawal(world.scene.incidents.get(world.scene.id))

    moved = WaterlineMoved(snapshot=world.scene.good, status="under-review")
    world.scene.incidents.write(world.scene.id, by=WATERLINE, decide=lambda _now: [moved])

    assert owes_withdrawal(world.scene.incidents.get(world.scene.id))
