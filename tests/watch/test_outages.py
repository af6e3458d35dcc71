"""How often a job failed is not how many failures Flink lists."""

from datetime import timedelta

import pytest

from bot.domain.flink import Failure
from bot.service.watch_unnamed import outages
from tests.watch.signs import NINE

pytestmark = pytest.mark.smoke


def failure(seconds: float) -> Failure:
    """One entry of Flink's history, so long after nine."""
    at = NINE + timedelta(seconds=seconds)
    return Failure(at=at, exception="TimeoutException", message="lost", task=None, attempt=None)


def test_a_lost_machine_is_one_outage_however_many_attempts_fail() -> None:
    """Two killed TaskManagers, five entries each, as a real Flink lists them."""
    listed = [failure(start + step) for start in (0, 180) for step in (0, 11, 21, 22, 40)]

    found = outages(reversed(listed), NINE - timedelta(hours=1))

    assert [each.at for each in found] == [NINE, NINE + timedelta(minutes=3)]


def test_what_began_earlier_does_not_count_again() -> None:
    """The end of an outage within the hour is not an outage of its own."""
    found = outages([failure(-10), failure(20), failure(600)], NINE)

    assert [each.at for each in found] == [NINE + timedelta(minutes=10)]
