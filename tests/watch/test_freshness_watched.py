"""Freshness is judged by the newest event where the contract names its column, and also while an incident is open.

The worlds are real ones of the lab; what the contract promises is the test's.
"""

from datetime import timedelta

from tests.watch.conftest import OverRecorded
from tests.watch.recorded import Recorded

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


def test_silence_and_age_are_said_in_the_thread_of_an_open_incident(over_recorded: OverRecorded) -> None:
    """Once each, by two looks, and never as a finding of their own; people look at everything else themselves."""
    watched = over_recorded(Recorded(EVENTS_OF_76_S).promises(freshness=55 * SECOND))
    incident = watched.opens_incident()
    watched.looks(1)
    at_once = [watched.store.outbox.find(f"{incident}/watch/{code}") for code in ("no-commit", "stale")]

    watched.looks(4, apart=SECOND)

    silence, age = (watched.store.outbox.find(f"{incident}/watch/{code}") for code in ("no-commit", "stale"))
    assert at_once == [None, None]
    assert silence is not None
    assert age is not None
    assert silence.thread_of == age.thread_of == f"{incident}/card"
    assert "Meanwhile: Run d04a92 is RUNNING, and has committed nothing since 01:07:15 UTC." in (silence.text or "")
    assert "1 min are promised." in (age.text or "")
    assert watched.seen == ()


def test_what_was_told_before_the_incident_is_not_said_in_its_thread(over_recorded: OverRecorded) -> None:
    """It stands in the channel already, and shows which incident is open."""
    watched = over_recorded(Recorded(EVENTS_OF_76_S))
    watched.looks(4, apart=SECOND)
    incident = watched.opens_incident()

    watched.looks(4, apart=SECOND)

    assert "no-commit" in watched.seen
    assert watched.store.outbox.find(f"{incident}/watch/no-commit") is None


def test_a_job_that_commits_in_time_says_nothing_in_the_thread(over_recorded: OverRecorded) -> None:
    """A healthy neighbour, with an incident open."""
    watched = over_recorded(Recorded(EVENTS_OF_13_S).promises(freshness=MINUTE))
    incident = watched.opens_incident()

    watched.looks(6, apart=SECOND)

    assert [watched.store.outbox.find(f"{incident}/watch/{code}") for code in ("no-commit", "stale")] == [None, None]
