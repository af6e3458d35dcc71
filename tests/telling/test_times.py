"""A time whose age matters is told with its day, wherever it is not plainly of the day on which it is read."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.approval import ApprovalPolicy
from bot.domain.clock_time import clock_time
from bot.domain.entries import NoticesExpired, NoticesHeld, NoticesPreviewed
from bot.domain.ids import UserId
from bot.domain.incident import Incident
from bot.domain.notice import Notice
from bot.domain.notice_fold import HeldView
from bot.service.watch_facts import facts_of
from bot.slack.blocks.held import held_expired_message, held_message, held_reminder_message
from tests.cases import Tale
from tests.incidents import Story

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


@pytest.mark.parametrize(("hours", "day"), [(2, ""), (26, "{0.day} {0:%b}, ")])
def test_approvers_read_until_which_day(tmp_path: Path, hours: int, day: str) -> None:
    """Where notices wait beyond midnight; that nobody approved is told with the day always, as it may come late."""
    incident, view = _held(tmp_path, timedelta(hours=hours))
    end = view.asked_at + timedelta(hours=hours)

    held, reminder = (str(make(incident, view)) for make in (held_message, held_reminder_message))
    over = str(held_expired_message(incident, replace(view, expired=NoticesExpired(name="seen", asks=None)), True))

    told = f"until {day.format(end)}{end:%H:%M} UTC"
    assert told in held
    assert told in reminder
    assert f"until {end.day} {end:%b %Y, %H:%M} UTC" in over


def _held(tmp_path: Path, expires_after: timedelta) -> tuple[Incident, HeldView]:
    store = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    story = Story(store.journal).opens()
    notice = Notice(kind="recovered", revision=1, consumer="revenue_daily", channel="C0REVENUE1", text="Recovered.")
    policy = ApprovalPolicy(users=(UserId("U0BEN00002"),), expires_after=expires_after)
    story.says(NoticesPreviewed(name="seen", notices=(notice,)))
    story.says(NoticesHeld(name="seen", policy=policy, step=None))
    incident = story.incident
    store.close()
    return incident, incident.held["seen"]
