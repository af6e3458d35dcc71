"""Main was rolled back under its job, and maintenance has expired what it lost: no snapshot shows it any more, but the
metadata does that some are gone."""

import pytest

from bot.diagnosis import rolled_back_while_running
from bot.domain.diagnosis import CannotTell, Excluded
from tests.cases import Tale


def expired() -> Tale:
    """Main goes from 4 back to 2 while run a runs, and 3 and 4 expire."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).completes("a", 5)
    return tale.rolls_back_to("a", 2).expires("a", 3, 4)


@pytest.mark.parametrize("by_numbers", [True, False], ids=["sequence numbers", "the way back"])
def test_an_expired_rollback_is_not_excluded(by_numbers: bool) -> None:
    """Format v1 has no numbers: the log tells."""
    tale = expired()
    tale.numbers_snapshots = by_numbers

    assert isinstance(rolled_back_while_running.examine(tale.looked_at()), CannotTell)


def test_positions_that_are_missing_settle_nothing() -> None:
    """The run went on above the hole."""
    assert isinstance(rolled_back_while_running.examine(expired().commits("a", 6).looked_at(missing=20)), CannotTell)


def test_rows_that_came_since_settle_it() -> None:
    """No position is missing below them: what is gone was not main's, or was brought again."""
    assert isinstance(rolled_back_while_running.examine(expired().commits("a", 6).looked_at()), Excluded)


def test_ordinary_expiry_is_none() -> None:
    """The oldest go first."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).expires("a", 1, 2)

    assert isinstance(rolled_back_while_running.examine(tale.looked_at()), Excluded)
    assert isinstance(rolled_back_while_running.examine(tale.case()), Excluded)
