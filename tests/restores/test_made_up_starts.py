"""What is foretold of a start, against what it really does in drawn histories, in which the world itself counts."""

from collections import Counter
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from bot.history.prediction import RestorePrediction, RestoreVerdict, predict
from tests.actions.little_points import case_with_points, point_at
from tests.actions.little_recovery import Stuck, Wrong, starts, touched_by, wrong_before, wrong_rows
from tests.actions.test_never_loses import ALL, FEW, REAL, STAYS, UNDER_ONE_ID, not_told_apart
from tests.diagnosis.little_world import World
from tests.diagnosis.made_up_histories import Story, stories
from tests.made_up import EXAMPLES

pytestmark = [pytest.mark.made_up, pytest.mark.smoke]


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(story=st.one_of(stories(FEW, REAL), stories(ALL, REAL), stories(UNDER_ONE_ID, STAYS)), savepoints=st.booleans())
def test_what_is_called_right_neither_loses_nor_doubles_a_row(story: Story, savepoints: bool) -> None:
    """Where it is called wrong, no more rows come twice than were foretold."""
    world = story.world
    if world.run in world.tale.runs:
        world.tale.becomes(world.run, "FINISHED")
    case = case_with_points(world, story.looked.since, savepoints=savepoints)
    for stored in case.observation.checkpoints.values:
        found = predict(stored, case)
        there = deepcopy(world)
        try:
            starts(there, point_at(there, stored.path, savepoints=savepoints))
        except Stuck:
            event(f"{found.verdict.value}: stuck")
            assert found.verdict is not RestoreVerdict.RIGHT
            continue
        event(found.verdict.value)
        note(f"{stored.path} {found.model_dump(mode='json', exclude_defaults=True)}")
        _is_as_foretold(world, there, found)


def _is_as_foretold(world: World, there: World, found: RestorePrediction) -> None:
    before, after = wrong_rows(world), wrong_rows(there)
    head = world.tale.head
    assert head is not None
    excused = wrong_before(there, head, after) | touched_by(there, not_told_apart(world))
    if found.verdict is RestoreVerdict.RIGHT:
        assert (set(), set()) == (after.lost - before.lost - excused, set(_more(before, after)) - excused)
    if found.verdict is RestoreVerdict.WRONG and found.repeated is not None:
        assert sum(n for each, n in _more(before, after).items() if each not in excused) <= found.repeated.rows


def _more(before: Wrong, after: Wrong) -> Counter[int]:
    return after.doubled - before.doubled
