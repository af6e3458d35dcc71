"""Histories of a small world, made up from what jobs and people do, and changed afterwards."""

from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

from hypothesis import note
from hypothesis import strategies as st

from bot.incident.diagnosis import CannotTell, Examined
from bot.observation.ids import DRAINED, SnapshotId
from bot.observation.table import Ref, Snapshot
from tests.diagnosis.little_evidence import Looked, look
from tests.diagnosis.little_silences import (
    SECOND,
    cleans_up,
    commits_nothing,
    commits_to_branch,
    expires,
    loses_a_sink,
    waits,
    writes_by_two_sinks,
)
from tests.diagnosis.little_world import RUNS, Point, World
from tests.job_tale import OPERATOR, job_id

Draw = Callable[[int], int]
"""A number below the given one."""
Act = Callable[[World, Draw], object]


def _paired(world: World) -> list[tuple[SnapshotId, Point]]:
    """What main carries of the checkpoints that were completed: another run may have completed one of the same id."""
    carries = {(s.job_id, s.checkpoint_id): s.snapshot_id for s in world.chain() if s.job_id}
    named = [((job_id(p.run), p.checkpoint), p) for p in world.points]
    return [(carries[name], point) for name, point in named if name in carries]


def _rewinds_together(world: World, draw: Draw) -> None:
    """Main and job go back to one checkpoint that is on main."""
    if paired := _paired(world):
        at, point = paired[draw(len(paired))]
        world.rolls_back_to(at)
        world.restarts(point)


def _goes_back_alone(world: World, draw: Draw) -> None:
    """Only the job goes back to a checkpoint that is on main."""
    if paired := _paired(world):
        world.restarts(paired[draw(len(paired))][1])


def _rolls_back(world: World, draw: Draw) -> None:
    chain = world.chain()
    world.rolls_back_to(chain[draw(len(chain))].snapshot_id)


def _goes_to_another_line(world: World, draw: Draw) -> None:
    """Main is set to what it had lost: a rollback that was a mistake is set forward again."""
    on_main = {s.snapshot_id for s in world.chain()}
    once = {move.snapshot_id for move in world.tale.moves} - on_main
    lost = [s.snapshot_id for s in world.tale.snapshots if s.snapshot_id in once]
    if lost:
        world.rolls_back_to(lost[draw(len(lost))])


def gets_back_by_a_pick(world: World, draw: Draw) -> None:
    """Somebody cherry-picks what main had lost, perhaps after the job has read it again."""
    on_main = {s.snapshot_id for s in world.chain()}
    once = {move.snapshot_id for move in world.tale.moves} - on_main
    lost = [s.snapshot_id for s in world.tale.snapshots if s.snapshot_id in once and world.holds.get(s.snapshot_id)]
    if lost:
        source = lost[draw(len(lost))]
        world.another_commits("append", adds=world.holds[source])
        newest = world.tale.snapshots[-1]
        told = {**newest.summary, "source-snapshot-id": str(source)}
        world.tale.snapshots[-1] = newest.model_copy(update={"summary": told})


def _goes_back_and_forward(world: World, draw: Draw) -> None:
    """Main is rolled back by mistake and set forward again; the job may commit meanwhile."""
    right = world.tale.head
    assert right is not None
    _rolls_back(world, draw)
    world.reads(draw(3))
    world.rolls_back_to(right)


def _is_replaced(world: World, draw: Draw) -> None:
    """The table is replaced under its job, which goes on; tags stay where they are, Waterline's own too, and all else
    of what was there may expire."""
    if draw(2):
        world.tale.refs.append(Ref(name="waterline", kind="tag", snapshot_id=world.chain()[-1].snapshot_id))
    world.is_replaced()
    world.reads(1 + draw(2))
    if draw(2):
        world.expires_below_main()


def _owes_under_another_uid(world: World, draw: Draw) -> None:
    """Not all that the sink had written was committed when its uid was changed."""
    if draw(2):
        world.reads(1 + draw(2), commits=False)
    world.takes_another_uid()


def _compacts(world: World, draw: Draw, *, losing: bool) -> None:
    lost = world.live()[-1 - draw(3) :] if losing else ()
    world.compacts(loses=lost, works_in=draw(world.deleted + 1), removes=bool(draw(2)))


def _restarts_without_state(world: World, draw: Draw) -> None:
    world.restarts(None, position=(0, world.position, world.position + 2)[draw(3)])


def _skips(world: World, draw: Draw) -> None:
    """The source jumps over rows; nobody can know before it reads on."""
    world.position += 1 + draw(3)


def _is_expired(world: World, _draw: Draw) -> None:
    """What a replaced table had goes, too."""
    expires(world)


def _writes_twice(world: World, _draw: Draw) -> None:
    """A commit holds rows twice, with the keys that they have; under other keys a copy comes from another run only."""
    world.reads(2, twice=2 if world.keeps_keys else 0)


def _is_added_to(world: World, draw: Draw) -> None:
    """Another engine adds rows that live already, or puts back some that were lost, from files or from the source."""
    live = world.live()
    lost = sorted(set(range(max(live, default=0))) - set(live))
    if lost and draw(2):
        if draw(2):
            cleans_up(world)
        world.another_commits("append", adds=lost[: 1 + draw(len(lost))])
    else:
        world.another_commits("append", adds=live[-1 - draw(4) :])


def _has_a_guest(world: World, draw: Draw, *, operation: str) -> None:
    """Another job counts its own checkpoints, of which the last one of a batch is Long.MAX_VALUE."""
    gone = () if operation == "append" else world.live()[-1 - draw(4) :]
    world.guest_commits(operation, (3, 500, DRAINED)[draw(3)], takes=gone, by_own_sink=bool(draw(2)))


GOOD: dict[str, Act] = {
    "reads": lambda world, draw: world.reads(1 + draw(3)),
    "writes by two sinks": lambda world, draw: writes_by_two_sinks(world, 1 + draw(3)),
    "is quiet": lambda world, _draw: world.reads(0),
    "commits nothing": lambda world, _draw: commits_nothing(world),
    "fails over": lambda world, _draw: world.fails_over(),
    "is restarted where it stood": lambda world, _draw: world.restarts(world.points[-1]),
    "is restarted under another uid": lambda world, _draw: world.takes_another_uid(),
    "is compacted": lambda world, draw: _compacts(world, draw, losing=False),
    "is expired": _is_expired,
}
BAD: dict[str, Act] = {
    "is restarted from an older point": lambda world, draw: world.restarts(world.points[draw(len(world.points))]),
    "is restarted without state": _restarts_without_state,
    "is replaced": _is_replaced,
    "is forgotten by Flink": lambda world, _draw: world.forgets_runs(),
    "is rolled back": _rolls_back,
    "is rewound with its job": _rewinds_together,
    "is set to another line": _goes_to_another_line,
    "is rolled back and set forward": _goes_back_and_forward,
    "gets a lost commit back by a pick": gets_back_by_a_pick,
    "loses what it owed under a uid": _owes_under_another_uid,
    "skips positions": _skips,
    "writes rows twice": _writes_twice,
    "drops a checkpoint": lambda world, _draw: world.reads(2, commits=False),
    "fails in flight": lambda world, draw: world.fails_in_flight(1 + draw(3)),
    "is compacted with a loss": lambda world, draw: _compacts(world, draw, losing=True),
    "is deleted from": lambda world, draw: world.another_commits("delete", takes=world.live()[-1 - draw(4) :]),
    "has a guest": lambda world, draw: _has_a_guest(world, draw, operation="append"),
    "is overwritten by another job": lambda world, draw: _has_a_guest(world, draw, operation="overwrite"),
    "is deleted from by another job": lambda world, draw: _has_a_guest(world, draw, operation="delete"),
    "stands still": lambda world, _draw: waits(world),
    "writes another branch": lambda world, draw: commits_to_branch(world, 1 + draw(3)),
    "has a sink that is stuck": lambda world, draw: loses_a_sink(world, 1 + draw(3)),
    "is added to": _is_added_to,
}
RESTARTS = {
    **{name: GOOD[name] for name in ("reads", "is quiet", "commits nothing", "fails over", "is expired")},
    "is restarted where it stood": GOOD["is restarted where it stood"],
    "is forgotten by Flink": BAD["is forgotten by Flink"],
}
GOES_BACK = {
    "is restarted from below": _goes_back_alone,
    **{
        name: BAD[name]
        for name in ("is replaced", "is restarted without state", "is rewound with its job", "is rolled back")
    },
}
"""What is told apart by where the runs began, which `RESTARTS` hides."""


def _erases(world: World, commit: Snapshot) -> None:
    """Something of a sink stays beside another one's commits: without a trace nothing tells that there were two."""
    job = {job_id(name) for name in RUNS[: world.started + 1]}
    first = [s for s in world.chain() if s.job_id in job and s.operator_id != SECOND]
    if first != [commit] or all(s.operator_id != SECOND for s in world.chain()):
        world.erases(commit.snapshot_id)


def _drops(world: World, draw: Draw) -> None:
    if len(world.chain()) > 1:
        _erases(world, world.chain()[draw(len(world.chain()))])


def _drops_the_newest(world: World, draw: Draw) -> None:
    for _ in range(1 + draw(3)):
        if len(world.chain()) > 1:
            _erases(world, world.chain()[-1])


def _repeats(world: World, draw: Draw) -> None:
    commits = [s for s in world.chain() if s.job_id]
    if commits:
        again = commits[draw(len(commits))]
        checkpoint = (again.checkpoint_id, world.checkpoint + 1)[draw(2)]
        # Under other keys, one run that is never restored cannot give the same rows again.
        same_files = not world.keeps_keys or bool(draw(2))
        world.repeats(again.snapshot_id, checkpoint=checkpoint or 1, same_files=same_files)


def _exchanges(world: World, draw: Draw) -> None:
    """But for another job's under the very same uid: it cannot be told from the job by what it committed first."""
    apart = [s for s in world.chain() if s.job_id and (s.job_id != job_id("z") or s.operator_id != OPERATOR)]
    commits = [s.snapshot_id for s in apart]
    if len(commits) > 1:
        world.swaps(commits[draw(len(commits) - 1)], commits[-1])


CHANGES: dict[str, Act] = {
    "drops a commit": _drops,
    "drops the newest commits": _drops_the_newest,
    "repeats a commit": _repeats,
    "exchanges two commits": _exchanges,
    "is rolled back": _rolls_back,
    "is set to another line": _goes_to_another_line,
    "changes nothing": lambda _world, _draw: None,
}


class Story(NamedTuple):
    """What became of a table, and what was found when somebody looked, perhaps some time ago."""

    world: World
    looked: Looked


OF_THE_ROOT = (
    "from which run's",
    "where ",
    "which start of",
    "when run",
    "whether main has the rows",
    "whether checkpoint",
)
"""How it begins what has to be known of where a living run stands, before rows of its own show it."""


def first_rows_tell(found: Examined) -> bool:
    """Whether only the start of a run is open that has brought no rows."""
    return isinstance(found, CannotTell) and all(each.startswith(OF_THE_ROOT) for each in found.missing)


@st.composite
def stories(draw: st.DrawFn, acts: dict[str, Act], changes: dict[str, Act]) -> Story:
    """A history of up to nine acts, changed in up to two ways; evidence may be older than the last acts. The window
    may begin at any commit that was on main while all was well, whatever main does later. What evidence has looked at
    is exchanged no more, nor does it lose a commit below others: a commit names its parent for good."""
    world = World(
        keeps_keys=draw(st.booleans()),
        forgets=draw(st.booleans()),
        deleted=draw(st.integers(0, 4)),
        equality_deletes=draw(st.integers(0, 1)),
    )
    below: Draw = lambda number: draw(st.integers(0, number - 1))  # noqa: E731 - it needs this test's draw
    before = draw(st.lists(st.sampled_from(sorted(acts)), max_size=9))
    changed = draw(st.lists(st.sampled_from(sorted(changes)), max_size=2))
    after = draw(
        st.lists(st.sampled_from(sorted({*acts, *changes} - {"exchanges two commits", "drops a commit"})), max_size=2)
    )
    looked = since = None
    world.reads(2)
    well = len(list(takewhile(GOOD.__contains__, before)))
    opens = draw(st.none() | st.integers(0, well))
    for index, name in enumerate((*before, *changed, *after)):
        if index == opens:
            since = world.chain()[below(len(world.chain()))].snapshot_id
        if index == len(before) + len(changed):
            looked = look(world, since)
        (acts | changes)[name](world, below)
    told = f"{', '.join((*before, *changed)) or 'nothing happens'}; then {', '.join(after)}"
    note(f"{told}; keys: {world.keeps_keys}, forgets: {world.forgets}, since: {since}")
    note(f"deleted: {world.deleted}, equality deletes: {world.equality_deletes}")
    return Story(world, looked or look(world, since))
