"""Whatever happens to a table, it is never called healthy or right while rows are lost or doubled."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from bot.diagnosis import no_snapshot_advanced as mode
from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import Matches
from tests.diagnosis.little_evidence import TASKS, case_of, look
from tests.diagnosis.little_silences import owes, should_have_arrived, stands_still, writes_by_two_sinks
from tests.diagnosis.little_world import World
from tests.diagnosis.made_up_histories import (
    BAD,
    CHANGES,
    GOES_BACK,
    GOOD,
    RESTARTS,
    Story,
    first_rows_tell,
    stories,
)
from tests.made_up import EXAMPLES

pytestmark = pytest.mark.made_up


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    stories(GOOD | BAD, CHANGES),
    st.lists(st.sampled_from(sorted(TASKS)), max_size=1),
    st.booleans(),
    st.sampled_from([timedelta(0), timedelta(minutes=1)]),
)
def test_a_table_with_lost_or_doubled_rows_is_never_healthy(
    story: Story, without: list[str], flink: bool, pause: timedelta
) -> None:
    """The truth is counted by the world; no history, no change, no missing source and no evidence from before what came
    last makes it healthy."""
    if not flink:
        story.world.tale.flink_is_down()
    story.world.tale.now += pause

    found = recovered_by_itself.examine(case_of(*story, without))

    event("healthy" if isinstance(found, Matches) else "not healthy")
    if isinstance(found, Matches):
        all_is_right(story, found)


@pytest.mark.parametrize("goes_back", sorted(GOES_BACK))
@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), sees_to_come=st.booleans())
def test_what_flink_no_longer_shows_hides_nothing(goes_back: str, data: st.DataObject, sees_to_come: bool) -> None:
    """A run that fails over shows its newest restore only, and one that has ended is forgotten: where the rows went
    that main lost, or had before it was replaced, is not known then, and unknown is not healthy. Nor is it where no
    file tells any more what main lost above all that lives."""
    acts = RESTARTS | {goes_back: GOES_BACK[goes_back]}
    story = data.draw(stories(acts, {"changes nothing": CHANGES["changes nothing"]}))
    case = case_of(*story)
    if case.gaps is not None and not sees_to_come:
        case = case.model_copy(update={"gaps": case.gaps.model_copy(update={"to_come": 0})})

    found = recovered_by_itself.examine(case)

    event("healthy" if isinstance(found, Matches) else "not healthy")
    if isinstance(found, Matches):
        all_is_right(story, found)


def all_is_right(story: Story, found: Matches) -> None:
    """What the world says of a table that is called healthy."""
    assert set() == story.world.lost(story.looked.finished)
    assert set() == story.world.never_arrived(should_have_arrived(story.world))
    assert set() == story.world.taken_off()
    assert set() == story.world.replaced_under_it()
    assert set() == story.world.doubled(found.last_good)
    assert not stands_still(story.world)
    assert not story.world.writes_branch
    assert not owes(story.world, story.looked.at)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD, {"changes nothing": CHANGES["changes nothing"]}))
def test_a_history_without_a_fault_is_healthy(story: Story) -> None:
    """The property above would hold for a mode that never matched; this one sees that it does."""
    looked = look(story.world, story.looked.since)

    found = recovered_by_itself.examine(case_of(story.world, looked))

    assume(not first_rows_tell(found))
    assert isinstance(found, Matches), found
    assert set() == story.world.lost(looked.finished) | story.world.doubled(None)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD, CHANGES), st.sampled_from([None, *sorted(set(TASKS) - {"orphans", "corrected", "leaked"})]))
def test_without_a_source_nothing_is_healthy(story: Story, without: str | None) -> None:
    """Each source that health rests on is needed, Flink (None) too, whatever the others say."""
    if without is None:
        story.world.tale.flink_is_down()

    assert not isinstance(recovered_by_itself.examine(case_of(*story, [without] if without else [])), Matches)


def _erased_before_the_job_went_on() -> Story:
    """The newest commit goes without a trace, evidence looks, and the next checkpoint is committed on top."""
    world = World()
    world.reads(2)
    world.reads(2)
    world.erases(world.chain()[-1].snapshot_id)
    looked = look(world)
    world.reads(1)
    return Story(world, looked)


def _erased_under_a_run_with_low_ids() -> Story:
    """A run that was restored from the very beginning has the ids that the table has from the run before."""
    world = World()
    world.reads(2)
    world.restarts(world.points[0], position=0)
    world.position += 2
    world.reads(2)
    world.fails_over()
    world.erases(world.chain()[-1].snapshot_id)
    return Story(world, look(world))


def _erased_below_a_compaction() -> Story:
    """The only commit of the job goes from under a compaction, and the run was restored a moment ago."""
    world = World()
    world.reads(2)
    world.another_commits("replace")
    world.fails_over()
    world.erases(world.chain()[0].snapshot_id)
    return Story(world, look(world))


def _erased_before_the_next_run() -> Story:
    """A run ends, its only commit goes, and the next run is restored from an id that an older run has on the table."""
    world = World()
    world.reads(2)
    world.restarts(world.points[0])
    world.position = 2
    world.reads(1)
    world.erases(world.chain()[-1].snapshot_id)
    world.restarts(world.points[-1])
    return Story(world, look(world))


def _dropped_and_forgotten() -> Story:
    """A checkpoint is never committed, nobody tells what became of its manifest, and the source is quiet since."""
    world = World(forgets=True)
    world.reads(2)
    world.reads(2, commits=False)
    world.fails_over()
    world.reads(0)
    world.reads(0)
    return Story(world, look(world))


def _erased_below_another_jobs_delete() -> Story:
    """The only commit of the job goes, and what is left on main is by a job that took all its rows off."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.restarts(world.points[-1])
    world.guest_commits("delete", 3, takes=world.live(), by_own_sink=False)
    world.erases(world.chain()[0].snapshot_id)
    return Story(world, look(world))


@pytest.mark.parametrize(
    "story",
    [
        _erased_below_another_jobs_delete,
        _dropped_and_forgotten,
        _erased_before_the_next_run,
        _erased_before_the_job_went_on,
        _erased_under_a_run_with_low_ids,
        _erased_below_a_compaction,
    ],
)
def test_what_the_search_once_found_stays_found(story: Callable[[], Story]) -> None:
    """Histories that were called healthy once although rows were lost."""
    told = story()

    found = recovered_by_itself.examine(case_of(*told))

    assert told.world.lost(told.looked.finished)
    assert not isinstance(found, Matches)


def ends(world: World, *, loops: bool) -> None:
    """The run is at its end, or only fails."""
    if loops:
        world.tale.fails(world.run, times=3).becomes(world.run, "RESTARTING")
    else:
        world.tale.becomes(world.run, "FAILED")


@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    stories(GOOD | BAD, CHANGES),
    st.lists(st.sampled_from(sorted(TASKS)), max_size=1),
    st.booleans(),
    st.sampled_from([timedelta(0), timedelta(minutes=1)]),
)
def test_a_table_with_lost_or_doubled_rows_is_never_left_to_the_job(
    story: Story, without: list[str], loops: bool, pause: timedelta
) -> None:
    """What a restore of the job would not read again is lost; the world counts it. What main lost after evidence had
    looked at the very commit that it went back to is read again from the point that pairs with that."""
    story.world.tale.now += pause
    ends(story.world, loops=loops)

    found = mode.examine(case_of(*story, without))

    event("right" if isinstance(found, Matches) else "not right")
    if isinstance(found, Matches):
        assert set() == story.world.lost(story.looked.finished)
        never = story.world.never_arrived(should_have_arrived(story.world))
        assert set() == never - story.world.taken_off()
        assert set() == story.world.doubled(found.last_good)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD, {"changes nothing": CHANGES["changes nothing"]}), st.booleans())
def test_a_history_without_a_fault_is_left_to_the_job(story: Story, loops: bool) -> None:
    """The property above would hold for a mode that never matched; this one sees that it does."""
    ends(story.world, loops=loops)

    found = mode.examine(case_of(story.world, look(story.world, story.looked.since)))

    assume(not first_rows_tell(found))
    assert isinstance(found, Matches), found
    assert story.world.tale.head == found.last_good


def test_a_sink_that_lost_its_only_commit_is_not_forgotten() -> None:
    """Found by the test above: the run's other sink has its commit, and the window begins at the run before."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.restarts(world.points[-1])
    writes_by_two_sinks(world, 1)
    world.erases(world.chain()[-2].snapshot_id)
    looked = look(world, world.chain()[0].snapshot_id)
    ends(world, loops=False)

    assert {2} == world.lost(looked.finished)
    assert not isinstance(mode.examine(case_of(world, looked)), Matches)
