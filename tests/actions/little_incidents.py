"""Incidents in the little world: what is proposed there, carried out, and what happens to a job for real."""

from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from functools import partial

from hypothesis import event, note

import bot.actions
import bot.diagnosis
from bot.actions._support.completing import scan as scan_actions
from bot.diagnosis._support.examine import diagnose, scan
from bot.incident.diagnosis import Matches, Remedy
from bot.incident.effects import StopJob
from bot.incident.proposal import Proposal
from bot.observation.errors import WaterlineError
from bot.observation.findings import DuplicateCommitsFinding, GapsFinding
from bot.observation.ids import SnapshotId
from tests.actions.little_files import survey
from tests.actions.little_points import case_with_points
from tests.actions.little_recovery import Stuck, carry_out, starts
from tests.actions.plans import ASKED, plan_of
from tests.cases import job_id
from tests.diagnosis.little_evidence import look
from tests.diagnosis.little_world import World
from tests.diagnosis.made_up_histories import Draw

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
