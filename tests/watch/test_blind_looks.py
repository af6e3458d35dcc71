"""Looks that fail or cannot see: no all-clear, and it is said what nobody sees."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.adapters.journal_sql.store import Store, open_store
from bot.observation.ids import TableName, UserId
from bot.service.incident_store import IncidentStore
from bot.service.watching.check import TableCheck, TableStatus, WatchTerms
from bot.service.watching.finding_store import FindingStore, post_key
from bot.service.watching.watch import Watch
from bot.slack.commands import watched
from tests.watch.conftest import OverRecorded
from tests.watch.recorded import Recorded
from tests.watch.signs import ORDERS, finding
from tests.web.scene import StandingClock

TERMS = WatchTerms(grace_period=timedelta(minutes=2))


class BrokenMonitor:
    """Its look ends in an error that nobody foresaw, until it is mended."""

    is_broken = True

    def look(self, _table: TableName, _seen: TableStatus) -> TableCheck:
        if self.is_broken:
            raise KeyError("summary")
        return TableCheck(findings=())


class World:
    """A watch with such an monitor."""

    def __init__(self, store: Store) -> None:
        self.clock = StandingClock()
        self.store = store
        self.monitor: Any = BrokenMonitor()
        incidents = IncidentStore(store.journal, self.clock)
        self.finding_store = FindingStore(store.watched, store.outbox, incidents, self.clock, {ORDERS: "C0ORDERS01"})
        alone = store.presence.is_leader
        self.watch = Watch(self.monitor, self.finding_store, incidents, self.clock, alone, TERMS, (ORDERS,))

    def fails(self, times: int) -> None:
        """It looks each minute."""
        for _ in range(times):
            with pytest.raises(KeyError):
                self.watch.look(ORDERS)
            self.clock.at += timedelta(minutes=1)

    @property
    def told(self) -> list[str]:
        """Headlines that are in the outbox."""
        seen = self.finding_store.memory(ORDERS).reported.values()
        return [each.finding.headline for each in seen if self.store.outbox.find(post_key(each.id)) is not None]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Nothing was seen yet."""
    store = open_store(f"sqlite:///{tmp_path}/journal.db")
    made = World(store)
    yield made
    made.watch.close()
    store.close()


def test_a_watch_that_only_fails_says_that_it_is_blind(world: World) -> None:
    """After the grace_period that any source has, once; and that is over when it looks again."""
    world.fails(2)
    early = world.told
    world.fails(3)
    [late] = world.told

    world.monitor.is_broken = False
    for _ in range(2):
        world.watch.look(ORDERS)
        world.clock.at += timedelta(minutes=2)

    assert early == []
    assert "has not been able to look at sales.orders since 3 Nov 2026, 09:00:00 UTC" in late
    assert world.finding_store.memory(ORDERS).lasting == ()


def test_what_waits_is_told_though_the_look_fails(world: World) -> None:
    """An alert that came in quiet hours, and a failing watch in the morning."""
    world.finding_store.see(ORDERS, finding("alert"), occasion="first")

    world.fails(1)

    assert len(world.told) == 1


def test_one_failure_among_looks_that_succeed_is_nothing_to_tell(world: World) -> None:
    """What counts is that no look since has succeeded."""
    world.fails(1)
    world.monitor.is_broken = False
    world.watch.look(ORDERS)
    world.clock.at += timedelta(minutes=5)
    world.monitor.is_broken = True

    world.fails(1)

    assert world.told == []


@pytest.mark.parametrize("is_watched", [True, False])
def test_the_answer_says_whether_anybody_looks(record: Store, is_watched: bool) -> None:
    """`/waterline status TABLE`; the watch has not begun yet."""
    clock = StandingClock()
    incidents = IncidentStore(record.journal, clock)
    finding_store = FindingStore(record.watched, record.outbox, incidents, clock, {ORDERS: "C0ORDERS01"})
    nobody: Any = None
    followed = (ORDERS,) if is_watched else ()
    watch = Watch(nobody, finding_store, incidents, clock, lambda _name: nobody, WatchTerms(), followed)
    watch.close()
    services: Any = SimpleNamespace(finding_store=finding_store, clock=clock, watch=watch)

    listed = "\n".join(watched(services, ORDERS, clock.now()))

    assert ("not looked at by this process yet" in listed) is is_watched
    assert ("not watched (`watch: false`)" in listed) is not is_watched


class Rhythm:
    """Timers that come when the test says so."""

    def __init__(self) -> None:
        self._again: list[Callable[[], None]] = []

    def at(self, key: str, when: datetime, do: Callable[[], None]) -> None:
        """See the port."""

    def every(self, key: str, seconds: float, do: Callable[[], None]) -> None:
        self._again.append(do)

    def cancel(self, key: str) -> None:
        """See the port."""

    def comes(self) -> None:
        """Once, all of them."""
        for each in self._again:
            each()


def started(record: Store, clock: StandingClock) -> tuple[FindingStore, Watch, Rhythm]:
    """A watch that follows no table, over one that has a channel."""
    incidents = IncidentStore(record.journal, clock)
    finding_store = FindingStore(record.watched, record.outbox, incidents, clock, {ORDERS: "C0ORDERS01"})
    nobody: Any = None
    watch = Watch(nobody, finding_store, incidents, clock, record.presence.is_leader, WatchTerms(), ())
    rhythm = Rhythm()
    watch.start(rhythm)
    return finding_store, watch, rhythm


def is_told(record: Store, finding_store: FindingStore) -> bool:
    """Whether the one finding is in the outbox."""
    [only] = finding_store.memory(ORDERS).reported
    return record.outbox.find(post_key(only)) is not None


def test_what_was_muted_on_an_unwatched_table_is_told_when_the_mute_ends(record: Store) -> None:
    """As the answer to *Mute table* promises."""
    clock = StandingClock()
    finding_store, watch, rhythm = started(record, clock)
    finding_store.mute(ORDERS, timedelta(hours=1), by=UserId("U0ANA00001"))
    finding_store.see(ORDERS, finding("alert"), occasion="first")
    finding_store.post_due(ORDERS)
    while_muted = is_told(record, finding_store)

    clock.at += timedelta(hours=1, seconds=1)
    rhythm.comes()
    watch.close()

    assert not while_muted
    assert is_told(record, finding_store)


SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
EVENTS_OF_76_S = "notification-lost-v2"
"""Its newest commit was 60 s old, and its newest event 76 s, when it was recorded."""
EVENTS_OF_13_S = "planned-restart-v2"
"""Its newest commit was 2 s old, and its newest event 13 s."""


def test_events_that_are_older_than_promised_are_told_though_the_commit_is_not(over_recorded: OverRecorded) -> None:
    """By the contract's column; a promise that both keep is not broken."""
    watched = over_recorded(Recorded(EVENTS_OF_76_S).promises(freshness=70 * SECOND))
    watched.looks(8, apart=SECOND)

    (told,) = (each for each in watched.told if each.code == "stale")

    assert "The newest event is of 01:06:59 UTC; 1 min are promised" in told.text
    assert "No row has a later event_time" in told.text
    assert told.buttons == ("Open incident", "Mute table for 4 hours")


def test_events_and_commits_that_keep_the_promise_are_not_told(over_recorded: OverRecorded) -> None:
    """The run is told for its silence, and not for its age."""
    watched = over_recorded(Recorded(EVENTS_OF_76_S).promises(freshness=2 * MINUTE))

    watched.looks(8, apart=SECOND)

    assert set(watched.seen) == {"F11", "no-commit"}


def test_old_events_in_commits_that_come_are_told_by_their_mode_alone(over_recorded: OverRecorded) -> None:
    """F24; one thing is not told under two names."""
    watched = over_recorded(Recorded(EVENTS_OF_13_S).promises(freshness=10 * SECOND))

    watched.looks(6, apart=SECOND)

    assert [each.code for each in watched.told] == ["F24"]


def test_without_a_column_of_event_times_the_commit_is_judged(over_recorded: OverRecorded) -> None:
    """What it holds is older still, so that is no false finding."""
    world = Recorded(EVENTS_OF_76_S).promises(freshness=55 * SECOND, event_time=None)
    world.case = world.case.model_copy(update={"evidence": ()})
    watched = over_recorded(world)
    watched.looks(8, apart=SECOND)

    (told,) = (each for each in watched.told if each.code == "stale")

    assert "The newest rows came at 01:07:15 UTC" in told.text


def test_the_newest_event_is_asked_for_again_when_the_promise_may_be_broken(over_recorded: OverRecorded) -> None:
    """No later than the promise is long, instead of with the next closer look by itself; and no more often."""
    free = {"commit_every": timedelta(hours=1)}
    asked = {}
    for promised in (2 * MINUTE, None):
        world = Recorded(EVENTS_OF_13_S if promised else "planned-restart-v1").promises(freshness=promised, **free)
        watched = over_recorded(world)
        watched.looks(5, apart=MINUTE / 2)
        before = world.asked.count("freshness")
        watched.clock.at += MINUTE / 2
        watched.looks(1)
        asked[promised] = (before, world.asked.count("freshness"))

    assert asked == {2 * MINUTE: (1, 2), None: (1, 1)}
