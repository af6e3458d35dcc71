"""A time whose age matters is told with its day, wherever it is not plainly of the day on which it is read."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from bot.domain.sentences import clock_time
from bot.service.watch_look import facts_of
from tests.cases import Tale

NOW = datetime(2026, 11, 3, 0, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "beside", "told"),
    [
        (NOW, NOW, "00:05 UTC"),
        (NOW - timedelta(minutes=10), NOW, "2 Nov, 23:55 UTC"),
        (NOW - timedelta(days=365), NOW, "3 Nov 2025, 00:05 UTC"),
        (NOW.astimezone(timezone(timedelta(hours=-5))), NOW, "00:05 UTC"),
        (NOW, None, "3 Nov 2026, 00:05 UTC"),
    ],
)
def test_the_day_is_told_where_it_is_another(at: datetime, beside: datetime | None, told: str) -> None:
    """Days are UTC's; where nobody knows when it is read, the day is always told."""
    assert told == clock_time(at, beside)


@pytest.mark.parametrize(("days", "day"), [(0, ""), (1, "21 Nov, ")])
def test_what_stood_still_since_yesterday_does_not_read_as_minutes_ago(days: int, day: str) -> None:
    """Beside an alert that the table is stale, the newest commit and checkpoint are told with their day."""
    tale = Tale().flink_runs("a").completes("a", 1).commits("a", 1)

    head, run = facts_of(tale.case(), tale.now + timedelta(days=days))

    assert f", of {day}12:00:23 UTC by run" in head
    assert run.endswith(f"its newest checkpoint is 1, of {day}12:00:13 UTC.")


def test_a_run_that_ended_is_told_with_its_day() -> None:
    """Nobody knows how long ago the table was read when this is read."""
    tale = Tale().flink_runs("a").commits("a", 1).becomes("a", "FAILED")

    _head, ended = facts_of(tale.case(), tale.now)

    assert ended.endswith("is FAILED since 21 Nov 2026, 12:00:20 UTC.")
