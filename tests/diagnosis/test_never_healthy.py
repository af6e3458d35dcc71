"""Whatever happens to a table, it is never called healthy while rows are lost or doubled.

Histories of a small world are made up, then changed: commits dropped, repeated, exchanged, sources taken away. The
world counts positions itself and says what is true.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import Excluded, Matches
from tests.diagnosis.little_evidence import TASKS, Looked, case_of, look
from tests.diagnosis.little_world import World

Draw = Callable[[int], int]
"""A number below the given one."""
Act = Callable[[World, Draw], object]
EXAMPLES = int(os.environ.get("WATERLINE_EXAMPLES", "400"))
"""Raise it for a long hunt."""


def _rewinds_together(world: World, draw: Draw) -> None:
    """Main and job go back to one checkpoint that is on main."""
    by_checkpoint = {s.checkpoint_id: s.snapshot_id for s in world.chain() if s.job_id}
    paired = [p for p in world.points if p.checkpoint in by_checkpoint]
    if paired:
        point = paired[draw(len(paired))]
        world.rolls_back_to(by_checkpoint[point.checkpoint])
        world.restarts(point)


def _rolls_back(world: World, draw: Draw) -> None:
    chain = world.chain()
    world.rolls_back_to(chain[draw(len(chain))].snapshot_id)


def _compacts(world: World, draw: Draw, *, losing: bool) -> None:
    live = world.live()
    world.another_commits("replace", takes=live[-1 - draw(3) :] if losing else ())


def _restarts_without_state(world: World, draw: Draw) -> None:
    world.restarts(None, position=(0, world.position, world.position + 2)[draw(3)])


def _skips(world: World, draw: Draw) -> None:
    """The source jumps over rows; nobody can know before it reads on."""
    world.position += 1 + draw(3)


def _writes_twice(world: World, _draw: Draw) -> None:
    """A commit holds rows twice, with the keys that they have; under other keys a copy comes from another run only."""
    world.reads(2, twice=2 if world.keeps_keys else 0)


GOOD: dict[str, Act] = {
    "reads": lambda world, draw: world.reads(1 + draw(3)),
    "is quiet": lambda world, _draw: world.reads(0),
    "fails over": lambda world, _draw: world.fails_over(),
    "is restarted where it stood": lambda world, _draw: world.restarts(world.points[-1]),
    "is compacted": lambda world, draw: _compacts(world, draw, losing=False),
}
BAD: dict[str, Act] = {
    "is restarted from an older point": lambda world, draw: world.restarts(world.points[draw(len(world.points))]),
    "is restarted without state": _restarts_without_state,
    "is rolled back": _rolls_back,
    "is rewound with its job": _rewinds_together,
    "skips positions": _skips,
    "writes rows twice": _writes_twice,
    "drops a checkpoint": lambda world, _draw: world.reads(2, commits=False),
    "is compacted with a loss": lambda world, draw: _compacts(world, draw, losing=True),
    "is deleted from": lambda world, draw: world.another_commits("delete", takes=world.live()[-1 - draw(4) :]),
    "is added to": lambda world, draw: world.another_commits("append", adds=world.live()[-1 - draw(4) :]),
}


def _drops(world: World, draw: Draw) -> None:
    if len(world.chain()) > 1:
        world.erases(world.chain()[draw(len(world.chain()))].snapshot_id)


def _drops_the_newest(world: World, draw: Draw) -> None:
    for _ in range(1 + draw(3)):
        if len(world.chain()) > 1:
            world.erases(world.chain()[-1].snapshot_id)


def _repeats(world: World, draw: Draw) -> None:
    commits = [s for s in world.chain() if s.job_id]
    if commits:
        again = commits[draw(len(commits))]
        checkpoint = (again.checkpoint_id, world.checkpoint + 1)[draw(2)]
        # Under other keys, one run that is never restored cannot give the same rows again.
        same_files = not world.keeps_keys or bool(draw(2))
        world.repeats(again.snapshot_id, checkpoint=checkpoint or 1, same_files=same_files)


def _exchanges(world: World, draw: Draw) -> None:
    commits = [s.snapshot_id for s in world.chain() if s.job_id]
    if len(commits) > 1:
        world.swaps(commits[draw(len(commits) - 1)], commits[-1])


CHANGES: dict[str, Act] = {
    "drops a commit": _drops,
    "drops the newest commits": _drops_the_newest,
    "repeats a commit": _repeats,
    "exchanges two commits": _exchanges,
    "is rolled back": _rolls_back,
    "changes nothing": lambda _world, _draw: None,
}


class Story(NamedTuple):
    """What became of a table, and what was found when somebody looked, perhaps some time ago."""

    world: World
    looked: Looked


@st.composite
def stories(draw: st.DrawFn, acts: dict[str, Act], changes: dict[str, Act]) -> Story:
    """A history of up to nine acts, changed in up to two ways; evidence may be older than the last acts."""
    world = World(keeps_keys=draw(st.booleans()))
    below: Draw = lambda number: draw(st.integers(0, number - 1))  # noqa: E731 - it needs this test's draw
    before = draw(st.lists(st.sampled_from(sorted(acts)), max_size=9))
    changed = draw(st.lists(st.sampled_from(sorted(changes)), max_size=2))
    after = draw(st.lists(st.sampled_from(sorted({**acts, **changes})), max_size=2))
    looked = None
    world.reads(2)
    for index, name in enumerate((*before, *changed, *after)):
        if index == len(before) + len(changed):
            looked = look(world)
        (acts | changes)[name](world, below)
    note(f"{', '.join((*before, *changed)) or 'nothing happens'}; then {', '.join(after)}; keys: {world.keeps_keys}")
    return Story(world, looked or look(world))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD | BAD, CHANGES), st.lists(st.sampled_from(sorted(TASKS)), max_size=1), st.booleans())
def test_a_table_with_lost_or_doubled_rows_is_never_healthy(story: Story, without: list[str], flink: bool) -> None:
    """The truth is counted by the world; no history, no change and no missing source makes it healthy."""
    if not flink:
        story.world.tale.flink_is_down()

    found = recovered_by_itself.examine(case_of(*story, without))

    event("healthy" if isinstance(found, Matches) else "not healthy")
    if isinstance(found, Matches):
        assert set() == story.world.lost(story.looked.finished)
        assert set() == story.world.doubled(found.last_good)


def test_a_compaction_of_what_main_has_no_more_is_not_healthy() -> None:
    """Found by the test above: all commits of the job are gone, a new run has read nothing yet, and no key is lost."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.another_commits("replace", takes=())
    world.restarts(None, position=2)
    world.erases(world.chain()[0].snapshot_id)
    looked = look(world)

    assert {0, 1} == world.lost(looked.finished)
    assert isinstance(recovered_by_itself.examine(case_of(world, looked, [])), Excluded)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD, {"changes nothing": CHANGES["changes nothing"]}))
def test_a_history_without_a_fault_is_healthy(story: Story) -> None:
    """The property above would hold for a mode that never matched; this one sees that it does."""
    looked = look(story.world)

    found = recovered_by_itself.examine(case_of(story.world, looked))

    assert isinstance(found, Matches), found
    assert set() == story.world.lost(looked.finished) | story.world.doubled(None)


@settings(max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories(GOOD, CHANGES), st.sampled_from([None, *sorted(set(TASKS) - {"orphans"})]))
def test_without_a_source_nothing_is_healthy(story: Story, without: str | None) -> None:
    """Each source that health rests on is needed, Flink (None) too, whatever the others say."""
    if without is None:
        story.world.tale.flink_is_down()

    found = recovered_by_itself.examine(case_of(*story, [without] if without else []))

    assert not isinstance(found, Matches)


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


@pytest.mark.parametrize(
    "story",
    [
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
