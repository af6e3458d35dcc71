"""Whatever happens to a table, it is never called healthy or right while rows are lost or doubled."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from bot.diagnosis import no_snapshot_advanced as mode
from bot.diagnosis import recovered_by_itself
from bot.domain.contract import TableContract
from bot.domain.diagnosis import CannotTell, Matches
from bot.domain.findings import GapsFinding
from tests.cases import Tale
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
    gets_back_by_a_pick,
    stories,
)
from tests.found import orphans
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


def test_a_compaction_of_what_main_has_no_more_is_not_healthy() -> None:
    """Found by the test above: all commits of the job are gone, a new run has read nothing yet, and no key is lost."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.another_commits("replace", takes=())
    world.restarts(None, position=2)
    world.erases(world.chain()[0].snapshot_id)
    looked = look(world)

    assert {0, 1} == world.lost(looked.finished)
    assert not isinstance(recovered_by_itself.examine(case_of(world, looked, [])), Matches)


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


def test_a_pick_of_what_the_job_has_read_again_under_other_keys_is_not_healthy() -> None:
    """Table and job went back together, and then somebody put the rolled-back commit on top."""
    world = World(keeps_keys=False)
    world.reads(2)
    right = world.tale.head
    assert right is not None
    world.reads(2)
    world.rolls_back_to(right)
    world.restarts(world.points[1])
    world.reads(2)
    gets_back_by_a_pick(world, lambda _below: 0)
    world.reads(2)

    found = recovered_by_itself.examine(case_of(world, look(world)))

    assert {2, 3} == world.doubled(None)
    assert isinstance(found, CannotTell)
    assert "replayed_rows" in found.asks


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


@pytest.mark.parametrize("rolled_back", [False, True])
def test_a_guest_alone_on_main_does_not_stand_for_the_job(*, rolled_back: bool) -> None:
    """Found by the test above: the job's only commit went without a trace, below one that another job had added."""
    world = World(keeps_keys=False)
    world.reads(2)
    first = world.chain()[0].snapshot_id
    if rolled_back:
        world.guest_commits("append", 500, takes=(), by_own_sink=True)
        world.reads(1)
        world.rolls_back_to(first)
        world.restarts(world.points[1])
    world.guest_commits("append", 500, takes=(), by_own_sink=False)
    world.erases(first)
    ends(world, loops=False)
    looked = look(world)

    assert {0, 1} == world.lost(looked.finished)
    assert not isinstance(mode.examine(case_of(world, looked)), Matches)


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


def given_up() -> Tale:
    """Three commits; then checkpoints 4 to 6 complete, none is committed, and the run fails for good."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 4, 5, 6, 7).becomes("a", "FAILED")


def test_without_a_position_no_row_is_known_to_be_there() -> None:
    """An older metadata file may have been registered under the job: its ids go on, its rows are gone."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 8, 9).becomes("a", "FAILED")
    found = mode.examine(tale.looked_at(gaps=None).model_copy(update={"contract": TableContract(key=("id",))}))

    assert isinstance(found, CannotTell)
    assert any("contract.position" in each for each in found.missing)


def test_what_flink_completed_and_nothing_carries_is_looked_for_on_storage() -> None:
    """The manifests may have been cleaned away; only the files show whether the checkpoints held rows."""
    case = given_up().looked_at()

    unlisted = mode.examine(case.model_copy(update={"orphans": None}))
    left = mode.examine(case.model_copy(update={"orphans": orphans(3)}))

    assert isinstance(unlisted, CannotTell)
    assert ("orphan_files",) == unlisted.asks
    assert isinstance(left, CannotTell)
    assert "3 orphan files" in left.missing[0]
    assert isinstance(mode.examine(case), Matches)


def test_what_came_after_the_evidence_is_not_vouched_for() -> None:
    """The head itself is called right, so the evidence has to be of the head."""
    world = World()
    world.reads(2)
    looked = look(world)
    world.reads(2)
    ends(world, loops=False)

    found = mode.examine(case_of(world, looked))

    assert isinstance(found, CannotTell)


def test_a_compaction_after_the_evidence_that_its_counters_leave_open_is_not_vouched_for() -> None:
    """With equality deletes in the table nobody counts what a compaction may rightly leave out."""
    world = World(equality_deletes=1)
    world.reads(4)
    looked = look(world)
    world.compacts(loses=world.live()[-2:])
    ends(world, loops=False)

    found = mode.examine(case_of(world, looked))

    assert isinstance(found, CannotTell)


def test_a_commit_that_main_lost_vouches_for_nothing_below_it() -> None:
    """Found by the test above: an older one was erased without a trace, and it came after the evidence."""
    world = World(keeps_keys=False)
    world.reads(2)
    right = world.tale.head
    assert right is not None
    world.reads(2)
    world.erases(world.chain()[-1].snapshot_id)
    looked = look(world)
    world.reads(1)
    ends(world, loops=False)
    world.rolls_back_to(right)

    found = mode.examine(case_of(world, looked))

    assert {2, 3} == world.lost(looked.finished)
    assert isinstance(found, CannotTell)


def test_rows_lost_under_ids_that_do_not_rise_are_no_rewind() -> None:
    """Found by the test above: main was set back to an empty commit under 2, from one with rows under 1."""
    tale = Tale().flink_runs("a").commits("a", 2, rows=0).commits("a", 1).becomes("a", "FINISHED")
    tale.rolls_back_to("a", 2).flink_runs("b", restored=2).becomes("b", "FAILED")
    nothing = GapsFinding(lowest=None, highest=None, positions=0, missing=0, gaps=())

    assert not isinstance(mode.examine(tale.looked_at(gaps=nothing)), Matches)
