"""What the little world does without main having a row too few or too many: time passes, the job commits nothing or
writes another branch, a second sink is stuck, storage is cleaned up, snapshots expire. The truth of each is told here,
beside the act."""

from datetime import UTC, datetime, timedelta

from bot.observation.ids import OperatorId
from bot.observation.table import Ref
from tests.diagnosis.little_world import World

SECOND = OperatorId("dd" * 16)
"""The run's second sink: it writes rows of another source, which has no positions."""
BRANCH = "audit"
_LONG = timedelta(hours=1)
_OVERDUE = timedelta(minutes=2)
_ON_ITS_WAY = timedelta(seconds=10)
_JUST_NOW = timedelta(seconds=30)
"""An answer this young is taken for one of now."""


def waits(world: World) -> None:
    """Five hours without a checkpoint; Flink shows the run as before."""
    world.tale.now += timedelta(hours=5)


def commits_nothing(world: World) -> None:
    """The sink's commit of a checkpoint without rows, as it makes one now and then."""
    world.completes()
    world.commits(world.checkpoint, rows=0)
    newest = world.tale.snapshots[-1]
    told = {key: value for key, value in newest.summary.items() if not key.startswith("added-")}
    world.tale.snapshots[-1] = newest.model_copy(update={"summary": told})
    world.holds[newest.snapshot_id] = ()


def expires(world: World) -> None:
    """Maintenance takes out what neither main nor a branch or tag holds, with its files; Iceberg's Java clears the log
    up to the newest that is gone."""
    tale = world.tale
    heads = [tale.head, *(ref.snapshot_id for ref in tale.refs)]
    kept = {s.snapshot_id for head in heads for s in tale.table.ancestors(head)}
    tale.snapshots = [s for s in tale.snapshots if s.snapshot_id in kept]
    gone = [place for place, move in enumerate(tale.moves) if move.snapshot_id not in kept]
    del tale.moves[: gone[-1] + 1 if gone else 0]


def stands_still(world: World) -> bool:
    """Whether the run has completed nothing for an hour and more; a commit of a later checkpoint than Flink lists shows
    one too."""
    run = world.tale.runs[world.run]
    began = [run.started_at, *([run.restored.at] if run.restored else [])]
    listed = max((c.checkpoint_id for c in run.checkpoints), default=0)
    mine = [s for s in world.tale.snapshots if s.job_id == run.job_id and (s.checkpoint_id or 0) > listed]
    signs = [*began, *(c.triggered_at for c in run.checkpoints), *(s.committed_at for s in mine)]
    return world.tale.now - max(signs) > _LONG


def commits_to_branch(world: World, rows: int) -> None:
    """The next rows go to the branch, on top of main as it is when the branch is begun."""
    world.position += rows
    world.completes()
    tale = world.tale
    main, there = tale.head, next((ref.snapshot_id for ref in tale.refs if ref.name == BRANCH), tale.head)
    tale.head = there
    tale.stages(world.run, world.checkpoint).by_sink(world.operator)
    tale.head = main
    tale.refs = [Ref(name=BRANCH, kind="branch", snapshot_id=tale.snapshots[-1].snapshot_id)]
    world.writes_branch = True


def writes_by_two_sinks(world: World, rows: int) -> None:
    """Both commit the checkpoint, the second one with all that it still owed."""
    world.reads(rows)
    world.tale.commits(world.run, world.checkpoint).by_sink(SECOND)
    world.holds[world.tale.snapshots[-1].snapshot_id] = ()
    came = owed_now(world)
    left = zip(world.tale.manifests, world.left, strict=True)
    kept = [(manifest, held) for manifest, held in left if manifest.path not in came]
    world.tale.manifests, world.left = [manifest for manifest, _ in kept], [held for _, held in kept]
    world.owed = {path: due for path, due in world.owed.items() if path not in came}


def loses_a_sink(world: World, rows: int) -> None:
    """Only the first commits the checkpoint; what the second wrote waits."""
    world.reads(rows)
    world.tale.leaves_manifest(world.run, world.checkpoint, operator=SECOND)
    world.left.append(())
    run = world.tale.runs[world.run]
    done = run.checkpoints[0].triggered_at
    world.owed[world.tale.manifests[-1].path] = (world.run, run.restored_count, done)


def cleans_up(world: World) -> None:
    """Somebody removes the Flink manifests that were left behind, and the files that they list."""
    world.tale.manifests.clear()
    world.left.clear()
    world.owed.clear()


def owed_now(world: World) -> dict[str, datetime]:
    """Path -> when its checkpoint completed, of what a run that goes on should have committed."""
    now = (world.run, world.tale.runs[world.run].restored_count)
    return {path: done for path, (*since, done) in world.owed.items() if tuple(since) == now}


def has_passed(world: World, path: str) -> bool:
    """Whether the second sink has committed a later checkpoint: it skips this one from then on."""
    job = world.tale.runs[world.run].job_id
    theirs = [s.committed_at for s in world.chain() if s.job_id == job and s.operator_id == SECOND]
    return max(theirs, default=datetime.min.replace(tzinfo=UTC)) > owed_now(world)[path]


def is_overdue(world: World, path: str) -> bool:
    """As evidence has it."""
    return world.tale.now - owed_now(world)[path] > _OVERDUE


def owes(world: World, seen_at: datetime) -> bool:
    """Whether what evidence saw then should have been committed by now."""
    late = world.tale.now - _ON_ITS_WAY
    return any(done <= min(seen_at, late) for done in owed_now(world).values())


def should_have_arrived(world: World) -> set[int]:
    """What the job had finished so long ago that it was committed, and seen by evidence that is taken for one of
    now; what a replaced table had is judged by itself (`replaced_under_it`)."""
    settled = world.tale.now - _JUST_NOW - _ON_ITS_WAY
    return {each for each, at in world.finished.items() if at < settled} - {each for _, each in world.replaced}
