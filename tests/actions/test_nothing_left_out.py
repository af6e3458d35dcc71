"""Sentences that are approved name all that they speak of: what is "3 more" is approved unseen."""

import pytest

from bot.actions._rehearsing import every, listed
from bot.actions._replaying import within
from bot.domain.replay import PositionRange, ReplayRange
from tests.tables import CONTRACT

pytestmark = pytest.mark.smoke


def test_every_range_of_a_replay_is_named() -> None:
    """One a partition of the source, of which there are often more than three."""
    ranges = tuple(PositionRange(first=n, last=n + 9, partition=str(n)) for n in range(12))

    told = within(ReplayRange(positions=ranges), CONTRACT)

    assert told.startswith("positions 0 to 9 of partition 0, 1 to 10 of partition 1, ")
    assert told.endswith(", 11 to 20 of partition 11")


def test_every_commit_of_a_repair_is_named_but_for_its_title() -> None:
    """A title has room for three."""
    commits = range(421_001, 421_006)

    assert every(commits).split(", ")[-1].endswith("421005")
    assert listed(commits).endswith("421003 and 2 more")
