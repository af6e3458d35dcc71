"""Whatever has become of a table, no proposal that is carried out loses or doubles a row that was right before it, but
those of other writers that it names.

Histories of the little world are made up, in which recoveries have been carried out too; the world itself counts.
"""

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

import bot.actions
import bot.diagnosis
from bot.actions._support.completing import scan as scan_actions
from bot.diagnosis._support.examine import diagnose, scan
from bot.incident.diagnosis import Matches, Remedy
from bot.incident.effects import MoveTable, StopJob
from bot.incident.proposal import Proposal
from bot.observation.errors import WaterlineError
from bot.observation.findings import DuplicateCommitsFinding, GapsFinding
from bot.observation.ids import SnapshotId
from tests.actions.little_files import survey
from tests.actions.little_points import case_with_points
from tests.actions.little_recovery import Stuck, carry_out, starts, touched_by, wrong_before, wrong_rows
from tests.actions.plans import ASKED, plan_of
from tests.cases import OPERATOR, job_id
from tests.diagnosis.little_evidence import look
from tests.diagnosis.little_world import World
from tests.diagnosis.made_up_histories import BAD, CHANGES, GOOD, Draw, Story, stories
from tests.made_up import EXAMPLES

pytestmark = [pytest.mark.made_up, pytest.mark.smoke]

MODES = scan(bot.diagnosis)
ACTIONS = scan_actions(bot.actions)
STARTS = ("restore_job_at_head", "restart_from_stop_savepoint", "restart_with_new_job_id", "restore_job_only")
"""Tried also where no diagnosis asks for them."""
RECOVERS = {*STARTS, "recover_leaked_manifests", "restore_lost_commits", "roll_back_table_and_restore_job"}
"""Whose effects this world knows."""
_FOR_NOTHING = Matches(headline="Asked.", reasons=(), remedy=Remedy.NOTHING)


def proposals(
    world: World, since: SnapshotId | None, *, savepoints: bool, drops_others: bool = False
) -> Iterator[Proposal]:
    """Every one that can be made: what a diagnosis asks for, and starts."""
    case = case_with_points(world, since, savepoints=savepoints)
    asked = [(mode, match, match.remedy.value.replace("-", "_")) for mode, match in diagnose(case, MODES).matches]
    asked += [(ASKED, _FOR_NOTHING, action) for action in STARTS]
    for mode, match, action in asked:
        if action not in RECOVERS:
            continue
        try:
            files = partial(survey, world)
            proposal = ACTIONS[action].propose(plan_of(case, mode, match, survey=files, drops_others=drops_others))
        except WaterlineError:
            event(f"{action}: refused")
            continue
        yield proposal


def recovered(world: World, proposal: Proposal, *, savepoints: bool, rows: int) -> World | None:
    """What the world is after it; None where a repair is not proven, and so not published. A repair is given the start
    that its publication makes."""
    there = deepcopy(world)
    try:
        carry_out(there, proposal, savepoints=savepoints, rows=rows)
        if proposal.rehearses_on and not _is_proven(there):
            event(f"{proposal.action}: not proven")
            return None
        if proposal.rehearses_on and any(isinstance(each, StopJob) for each in proposal.effects):
            starts(there, there.points[-1])
    except Stuck:
        event(f"{proposal.action}: stuck")
    except WaterlineError:
        event(f"{proposal.action}: stopped and not started")
    else:
        event(f"{proposal.action}: carried out")
    return there


def _is_proven(world: World) -> bool:
    found = look(world).found
    twice, gaps, again = found["duplicates"], found["gaps"], found["duplicate_commits"]
    assert isinstance(gaps, GapsFinding)
    assert isinstance(again, DuplicateCommitsFinding)
    return not (twice.keys or gaps.missing or again.repeated)


def recovers(world: World, draw: Draw) -> None:
    """An act: one of the proposals is carried out, and the job goes on."""
    if world.run not in world.tale.runs:
        return
    savepoints = bool(draw(2))
    made = list(proposals(world, None, savepoints=savepoints, drops_others=bool(draw(2))))
    if not made:
        return
    proposal = made[draw(len(made))]
    there = recovered(world, proposal, savepoints=savepoints, rows=draw(2))
    if there is not None and not there.tale.runs[there.run].is_terminal:
        note(f"Done: {proposal.code} {proposal.title}")
        world.__dict__.update(there.__dict__)


def is_restored(world: World, draw: Draw) -> None:
    """An act: main may be rolled back, and the job is restored from what may owe a manifest that is gone by then."""
    if draw(2):
        chain = world.chain()
        world.rolls_back_to(chain[draw(len(chain))].snapshot_id)
    points = [each for each in world.points if each.checkpoint]
    if points and world.run in world.tale.runs:
        with suppress(Stuck):
            starts(world, points[-1 - draw(min(3, len(points)))])


def is_rewound_under_its_id(world: World, draw: Draw) -> None:
    """An act: table and job go back to a checkpoint of the run itself, which keeps its job id."""
    mine = [s for s in world.chain() if s.job_id == job_id(world.run)]
    if not mine or world.tale.manifests or world.run not in world.tale.runs or any(s.is_repair for s in mine):
        return
    to = mine[draw(len(mine))]
    for point in reversed(world.points):
        if (point.run, point.checkpoint) == (world.run, to.checkpoint_id):
            world.rolls_back_to(to.snapshot_id)
            world.goes_back_under_its_id(point)
            return


def repeats(world: World, draw: Draw) -> None:
    """An act: the head gets once more what a commit of the run holds, under the same checkpoint id."""
    mine = [s for s in world.chain() if s.job_id == job_id(world.run) and (s.checkpoint_id or 0) <= world.checkpoint]
    if mine:
        again = mine[draw(len(mine))]
        same_files = not world.keeps_keys or bool(draw(2))
        world.repeats(again.snapshot_id, checkpoint=again.checkpoint_id or 1, same_files=same_files)


def expires(world: World, _draw: Draw) -> None:
    """An act: what main has lost goes from the metadata, and the log with it as far as it tells of that."""
    table = world.tale.table
    kept = {
        s.snapshot_id for end in (table.head, *(ref.snapshot_id for ref in table.refs)) for s in table.ancestors(end)
    }
    gone = {s.snapshot_id for s in table.snapshots} - kept
    world.tale.snapshots = [s for s in world.tale.snapshots if s.snapshot_id in kept]
    last = max((at for at, move in enumerate(world.tale.moves) if move.snapshot_id in gone), default=-1)
    del world.tale.moves[: last + 1]


RECOVERIES = {
    "is recovered": recovers,
    "is recovered again": recovers,
    "is restored": is_restored,
    "what main has lost expires": expires,
}
OFTEN = [
    "reads", "is quiet", "fails over", "is restarted where it stood", "is restarted from an older point",
    "is rolled back", "is rolled back and set forward", "is set to another line", "drops a checkpoint",
    "fails in flight", "is compacted", "gets a lost commit back by a pick", "has a guest", "is forgotten by Flink",
]  # fmt: skip
"""What is told apart by states and commits, which the rest hides."""
FEW = {name: (GOOD | BAD)[name] for name in OFTEN} | RECOVERIES
UNDER_ONE_ID = {name: FEW[name] for name in ("reads", "is quiet", "fails over", "is restarted where it stood")} | {
    "is rewound under its id": is_rewound_under_its_id,
    "is rewound again": is_rewound_under_its_id,
    "is recovered": recovers,
}
"""Checkpoint ids come again. Where main is set to a line that an earlier start of the run had lost, nothing tells any
more whose they are."""
_LEFT_OUT = {"skips positions", "is added to"}
ALL = {name: act for name, act in (GOOD | BAD).items() if name not in _LEFT_OUT} | RECOVERIES
"""Positions that the source itself jumps over are wrong in every state from then on. Of rows that somebody has put
back one by one only their keys tell: `duplicate_rows` on the repair's branch, which this world has not, finds those
that come a second time before anything is published."""
REAL = {"repeats a commit": repeats} | {
    name: CHANGES[name] for name in ("is rolled back", "is set to another line", "changes nothing")
}
"""What becomes of real tables; other changes leave no state that tells the truth."""

STAYS = {"changes nothing": CHANGES["changes nothing"]}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    story=st.one_of(stories(FEW, REAL), stories(ALL, REAL), stories(UNDER_ONE_ID, STAYS)),
    savepoints=st.booleans(),
    drops_others=st.booleans(),
    ends=st.sampled_from([None, "FAILED", "RESTARTING"]),
    rows=st.integers(0, 2),
)
def test_what_was_right_stays_right(
    story: Story, savepoints: bool, drops_others: bool, ends: str | None, rows: int
) -> None:
    """Every proposal that can be made is carried out, each on a world of its own."""
    world = story.world
    if ends is not None and world.run in world.tale.runs:
        world.tale.fails(world.run, times=3).becomes(world.run, ends)

    for proposal in proposals(world, story.looked.since, savepoints=savepoints, drops_others=drops_others):
        there = recovered(world, proposal, savepoints=savepoints, rows=rows)
        if there is not None:
            _is_as_right_as_before(world, there, proposal)


def _is_as_right_as_before(world: World, there: World, proposal: Proposal) -> None:
    note(f"{proposal.code} {proposal.title}: {[each.model_dump(exclude_defaults=True) for each in proposal.effects]}")
    before, after = wrong_rows(world), wrong_rows(there)
    target = next((each.to for each in proposal.effects if isinstance(each, MoveTable)), world.tale.head)
    assert target is not None
    excused = wrong_before(there, target, after) | touched_by(there, [*_named(proposal), *not_told_apart(world)])
    doubled = {each for each, n in after.doubled.items() if n > before.doubled[each]}
    assert (set(), set()) == (after.lost - before.lost - excused, doubled - excused), (before, after)


def _named(proposal: Proposal) -> list[SnapshotId]:
    return [each for other in proposal.preview.others for each in other.commits]


def not_told_apart(world: World) -> list[SnapshotId]:
    """Another job's commits under the job's own operator id: nothing shows whose they are."""
    return [s.snapshot_id for s in world.tale.snapshots if s.job_id == job_id("z") and s.operator_id == OPERATOR]


@settings(max_examples=EXAMPLES // 10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(stories({name: GOOD[name] for name in ("reads", "is quiet")}, STAYS))
def test_a_job_that_is_well_can_be_restarted(story: Story) -> None:
    """The property above would hold for actions that propose nothing; this one sees that they do."""
    made = {each.action for each in proposals(story.world, None, savepoints=True)}

    assert set(STARTS) <= made
