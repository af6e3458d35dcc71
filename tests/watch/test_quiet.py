"""Quiet hours: what can wait does, over midnight and by the clock of the people who sleep."""

from datetime import UTC, datetime, time

import pytest
from pydantic import ValidationError

from bot.domain.quiet import QuietHours

pytestmark = pytest.mark.smoke

NIGHT = QuietHours(since=time(22), until=time(7), zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("hour", "is_quiet"), [(20, False), (21, True), (23, True), (3, True), (5, True), (6, False), (12, False)]
)
def test_the_night_is_quiet_by_local_time(hour: int, is_quiet: bool) -> None:
    """In November Berlin is one hour before UTC; the last minute before the end still counts."""
    at = datetime(2026, 11, 3, hour, 30, tzinfo=UTC)

    assert NIGHT.silence(at, is_urgent=False) is is_quiet


def test_what_is_urgent_is_told_at_night_unless_somebody_says_otherwise() -> None:
    """Rows that are being lost do not wait for the morning."""
    at = datetime(2026, 11, 3, 1, tzinfo=UTC)
    strict = NIGHT.model_copy(update={"urgent_too": True})

    assert not NIGHT.silence(at, is_urgent=True)
    assert strict.silence(at, is_urgent=True)


def test_a_zone_that_does_not_exist_is_refused() -> None:
    """At the start, not at ten in the evening."""
    with pytest.raises(ValidationError, match="Europe/Berlin"):
        QuietHours(since=time(22), until=time(7), zone="Europe/Berln")
