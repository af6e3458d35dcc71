"""A proposal carried out in the little world, and what is wrong with its rows once the job has read on.

What a restored sink commits first, or looks for, is done here as facts 1.5 tell it, not by the code under test.
"""

from collections import Counter
from collections.abc import Iterable
from types import SimpleNamespace
from typing import NamedTuple

from bot.actions._support.current_state import CurrentState as Looked
from bot.actions._support.restore_points import newest_that_pairs
from bot.incident.effects import ChangeFiles, Effect, MakeBranch, MoveTable, StartFromStop, StartJob, StopJob
from bot.incident.proposal import Proposal
from bot.observation.file_changes import FileList
from bot.observation.ids import JobId, OperatorId, SnapshotId
from bot.ports import JobPorts
from tests.actions.little_files import name_of, repairs
from tests.actions.little_points import FOLDER, point_at, stored
from tests.actions.plans import nobody_looks
from tests.cases import JOB, job_id
from tests.diagnosis.little_world import Point, World


class Stuck(Exception):
    """The job looks for a Flink manifest that is gone: it fails at every restart, and neither loses nor doubles."""


class Wrong(NamedTuple):
    """What is wrong with the rows once the job has read on to where it, or a run before it, had been."""

    lost: frozenset[int]
    doubled: Counter[int]
    """Position -> how often too many."""


def carry_out(world: World, proposal: Proposal, *, savepoints: bool, rows: int) -> None:
    """Every effect in its order. `rows`: what the run commits until it stands still, where the proposal allows that.
    Raises Stuck, and Superseded where what the stop left does not pair."""
    may_commit = any(isinstance(each, MoveTable | StartFromStop | MakeBranch) for each in proposal.effects)
    for effect in proposal.effects:
        _do(world, effect, savepoints=savepoints, rows=rows if may_commit else 0)


def _do(world: World, effect: Effect, *, savepoints: bool, rows: int) -> None:
    match effect:
        case StopJob(job_id=stopped):
            assert stopped == job_id(world.run)
            world.reads(rows)
            world.tale.becomes(world.run, "FINISHED")
        case MoveTable(to=to):
            world.rolls_back_to(to)
        case StartJob(path=path):
            starts(world, point_at(world, path, savepoints=savepoints))
        case StartFromStop(job=job, job_id=stopped):
            left = newest_that_pairs(_looked(world, savepoints=savepoints), job, stopped)
            starts(world, point_at(world, left.path, savepoints=savepoints))
        case MakeBranch():
            pass
        case ChangeFiles(add=FileList(sources=sources), remove=None, carries=carries):
            repairs(world, sources, carries)
        case _:
            raise NotImplementedError(effect.kind)


def _looked(world: World, *, savepoints: bool) -> Looked:
    jobs = SimpleNamespace(runs=lambda _job: world.tale.jobs.values)
    points = SimpleNamespace(stored=lambda _job, _runs: stored(world, savepoints=savepoints))
    return Looked(table=world.tale.table, jobs={JOB: JobPorts(jobs, points)}, load=nobody_looks)  # type: ignore[arg-type]


def starts(world: World, point: Point) -> None:
    """A new run; its sink first commits what it owes, by what main has of the run that wrote the state. Raises
    Stuck."""
    world.restarts(point)
    owed = [name for name in point.pending if _checkpoint_of(name) > _reached_on_main(world, name)]
    there = {name_of(manifest.path) for manifest in world.tale.manifests}
    if gone := [name for name in owed if name not in there]:
        world.tale.misses_manifest(world.run, point.run, _checkpoint_of(gone[0]), times=4)
        world.tale.becomes(world.run, "RESTARTING")
        raise Stuck(gone[0])
    if owed:
        _commits_owed(world, point, owed)


def _commits_owed(world: World, point: Point, owed: list[str]) -> None:
    left = zip(world.tale.manifests, world.left, strict=True)
    kept = [(manifest, held) for manifest, held in left if name_of(manifest.path) not in owed]
    world.tale.manifests, world.left = [manifest for manifest, _ in kept], [held for _, held in kept]
    rows = tuple(each for name in owed for each in world.wrote[name])
    world.tale.commits(point.run, point.checkpoint, rows=len(rows))
    head = world.tale.head
    assert head is not None
    world.holds[head], world.reached[head] = rows, world.position
    world.files[head] = tuple(f"{FOLDER}/{name}" for name in owed)


def _reached_on_main(world: World, manifest: str) -> int:
    whose = JobId(manifest[:32]), OperatorId(manifest[33:65])
    found = [s.checkpoint_id for s in world.chain() if (s.job_id, s.operator_id) == whose]
    return next((each for each in reversed(found) if each is not None), 0)


def _checkpoint_of(manifest: str) -> int:
    return int(manifest.split("-")[4])


def wrong_rows(world: World) -> Wrong:
    """As the job goes on where it is, up to the highest position that any run has read; what its sink holds and has
    not committed may still come."""
    until = max(world.position, *(point.position for point in world.points))
    live = Counter(world.live())
    live.update(range(world.position, until))
    lost = frozenset(set(range(until)) - set(live))
    for name in world.pending:
        live.update(world.wrote[name])
    return Wrong(lost, Counter({each: n - 1 for each, n in live.items() if n > 1}))


def wrong_before(world: World, snapshot: SnapshotId, after: Wrong) -> frozenset[int]:
    """What was wrong already when main stood at `snapshot` and the job with it: what it had passed by, and what it
    would read although it was there."""
    live = Counter(world.live_at(snapshot))
    line = world.tale.table.ancestors(snapshot)
    reached = next((world.reached[s.snapshot_id] for s in line if s.snapshot_id in world.reached), 0)
    lost = set(range(reached)) - set(live)
    return frozenset(lost | {each for each, n in live.items() if n > after.doubled[each] > 0 or each >= reached})


def touched_by(world: World, commits: Iterable[SnapshotId]) -> frozenset[int]:
    """Positions that these commits added or took off."""
    added = {each for snapshot in commits for each in world.holds.get(snapshot, ())}
    return frozenset(added | {each for snapshot in commits for each in world.takes.get(snapshot, ())})
