"""Timers: late is better than lost."""

from collections.abc import Iterator
from datetime import timedelta
from threading import Event, Thread

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.scheduler import SchedulerTimers
from tests.adapters.conftest import NOON, StandingClock
from tests.slack.people import eventually

SOON_S = 60.0
"""How long a test waits for what should happen at once."""


@pytest.fixture
def timers(clock: StandingClock) -> Iterator[SchedulerTimers]:
    """Started, on a clock that stands at noon."""
    made = SchedulerTimers(clock)
    made.start()
    yield made
    made.close()
    made.close()


def still_set(timers: SchedulerTimers) -> list[str]:
    """Keys of the timers that are still to run, the next one first."""
    return [job.id for job in timers._scheduler.get_jobs()]


def tell_when_it_stops(timers: SchedulerTimers, stops: Event) -> None:
    """As soon as no timer is begun any more."""
    eventually(lambda: not timers._scheduler.running)
    stops.set()


def test_what_is_past_runs_at_once(timers: SchedulerTimers) -> None:
    """The process was down for two days; the promise is kept late."""
    done = Event()

    timers.at("next-update", NOON - timedelta(days=2), done.set)

    assert done.wait(SOON_S)


def test_what_was_set_before_the_start_is_not_lost(clock: StandingClock) -> None:
    """Timers are rebuilt from the journal before the scheduler runs, and a slow start makes them later than
    the second that APScheduler grants by default."""
    made, done = SchedulerTimers(clock), Event()
    made.at("expiry", NOON - timedelta(hours=1), done.set)
    Event().wait(1.2)

    made.start()

    assert done.wait(SOON_S)
    made.close()


def test_the_same_key_replaces_an_earlier_timer(timers: SchedulerTimers) -> None:
    """A promise that moves is one promise: when it was kept there is none left."""
    first, second = Event(), Event()
    timers.at("next-update", NOON + timedelta(hours=1), first.set)

    timers.at("next-update", NOON, second.set)

    assert second.wait(SOON_S)
    assert [] == still_set(timers)
    assert not first.is_set()


def test_a_timer_may_set_itself_again_while_it_runs(timers: SchedulerTimers) -> None:
    """A reminder that arms the next one at once must not lose it, though its first run has not ended."""
    second = Event()

    def remind() -> None:
        timers.at("reminder", NOON - timedelta(seconds=1), second.set)
        assert second.wait(SOON_S)

    timers.at("reminder", NOON, remind)

    assert second.wait(SOON_S)


def test_what_repeats_goes_on_after_a_failure(timers: SchedulerTimers) -> None:
    """One failed look must not end the watch."""
    went_on, runs = Event(), []

    def watch() -> None:
        runs.append(1)
        if len(runs) == 1:
            raise RuntimeError("Flink is down")
        went_on.set()

    timers.every("watch", 0.05, watch)

    assert went_on.wait(SOON_S)


def test_a_timer_may_set_another_while_the_bot_ends(clock: StandingClock) -> None:
    """Closing waits for what runs, and what runs may still use the timers: neither waits for the other."""
    made, running, closing = SchedulerTimers(clock), Event(), Event()
    finished: list[str] = []

    def remind() -> None:
        running.set()
        assert closing.wait(SOON_S)
        made.at("next", NOON + timedelta(hours=1), running.set)
        finished.append("reminded")

    made.start()
    made.at("reminder", NOON, remind)
    assert running.wait(SOON_S)
    Thread(target=tell_when_it_stops, args=(made, closing), daemon=True).start()

    made.close()

    assert finished == ["reminded"]


def test_the_system_clock_is_aware_and_utc() -> None:
    """A naive time would be refused at the first record."""
    assert SystemClock().now().utcoffset() == timedelta(0)
