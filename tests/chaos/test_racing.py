"""The short form of `python -m tests.chaos.racing`: a few races, and a lost commit that is seen."""

import random

import pytest

from tests.chaos.racing import Raced, lost, race, stage

pytestmark = pytest.mark.slow

_RACES = 3


def test_an_approval_that_races_against_commits_loses_none() -> None:
    """A run commits all the time and a stranger at any moment; afterwards everything committed is there, once."""
    raced, chance = Raced(), random.Random(7)  # noqa: S311 - a seed that can be given again

    with stage() as (here, prepared):
        for _ in range(_RACES):
            race(here, prepared, chance, raced)
        invented = list(lost(here, "refused", of_run=[1], of_strangers=[2], has_moved=False))

    assert raced.lost == []
    assert sum(raced.ended.values()) == _RACES
    assert invented == ["a stranger's commit 2 is not in main", "the run's commit 1 is nowhere"]
