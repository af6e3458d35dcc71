"""Whether the state of a run holds what main lost: told by which run wrote the point that it began from, as the path of
that says, and by checkpoint ids where no path does."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from bot.domain.beginnings import FROM_NOTHING, began_from, start_shown
from bot.domain.beside_a_rollback import Scene
from bot.domain.clocks import CLOCKS_DIFFER
from bot.domain.flink import V1_COMMITTER, JobRun
from bot.domain.ids import DRAINED
from bot.domain.kin import writer_of
from bot.domain.table import Snapshot


def holds_lost(
    scene: Scene, run: JobRun, first: datetime | None, lost: Sequence[Snapshot], reached: int
) -> bool | None:
    """Whether what the run began with holds rows of these commits; None: nothing tells.

    `first`: when its first commit came; None where there is none. `reached`: the checkpoint that main has below the
    target.
    """
    return _run_holds(scene, run, first, lost, reached, frozenset())


def _run_holds(
    scene: Scene, run: JobRun, first: datetime | None, lost: Sequence[Snapshot], reached: int, seen: frozenset[str]
) -> bool | None:
    number = began_from(run, first)
    if number is None:
        newest = run.restored.checkpoint_id if run.restored is not None else None
        return False if newest is not None and not any(each <= newest for _, each in _told(lost)) else None
    if number == FROM_NOTHING:
        return False
    shown = start_shown(run, first)
    path = shown.path if shown is not None and shown.checkpoint_id == number else None
    return _state_holds(scene, number, path, lost, reached, seen | {run.job_id[:6]})


def _state_holds(
    scene: Scene, number: int, path: str | None, lost: Sequence[Snapshot], reached: int, seen: frozenset[str]
) -> bool | None:
    writer = writer_of(path)
    if writer is None:
        return _by_ids(scene, number, lost, reached)
    if (held := held_of_writer(scene, number, writer, lost)) is not False:
        return held
    if writer in seen:
        # It is a checkpoint of a run's own: that began below it, from something else.
        return None if any(each < number for _, each in _told(lost)) else False
    if any(s.job_id is not None and s.job_id.startswith(writer) for each in (scene.below, scene.above) for s in each):
        return False
    run = next((each for each in scene.runs.values() if each.job_id.startswith(writer)), None)
    if run is not None:
        return _run_holds(scene, run, first_commit_of(scene, run), lost, reached, seen)
    others = [s for s in lost if s.job_id is None or not s.job_id.startswith(writer)]
    return _by_ids(scene, number, others, reached)


def held_of_writer(scene: Scene, number: int, writer: str, lost: Sequence[Snapshot]) -> bool | None:
    """Whether checkpoint `number` of the run whose id begins with `writer` holds one of its own lost commits; None: it
    has counted these ids twice."""
    mine = [each for commit, each in _told(lost) if commit.job_id and commit.job_id.startswith(writer)]
    if not mine or number < min(mine):
        return False
    kept = next((s for s in scene.below if s.job_id is not None and s.job_id.startswith(writer)), None)
    return None if kept is not None and (kept.checkpoint_id or 0) >= min(mine) else True


def _by_ids(scene: Scene, number: int, lost: Sequence[Snapshot], reached: int) -> bool | None:
    """Ids rise along what a job reads. A run that began below another counts some of them again, so those that main has
    reached do not tell."""
    told = _told(lost)
    if any(reached < each <= number for _, each in told):
        return True
    sinks = scene.sinks | scene.operators
    own = [each for s, each in told if s.operator_id in sinks or s.job_id in scene.runs]
    return None if any(each <= number for each in own or [each for _, each in told]) else False


def _told(lost: Iterable[Snapshot]) -> list[tuple[Snapshot, int]]:
    """The commits with the ids of their checkpoints; what a drain leaves came right after the newest of its run."""
    newest: dict[str | None, int] = {}
    told = []
    for commit in lost:
        if commit.checkpoint_id is not None:
            ran = newest.get(commit.job_id, 0)
            each = commit.checkpoint_id if commit.checkpoint_id < DRAINED else ran + 1
            newest[commit.job_id] = max(ran, each)
            told.append((commit, each))
    return told


def has_passed_over(scene: Scene, run: JobRun, own: Sequence[Snapshot]) -> bool:
    """Whether the run, restored below its own commits (`own`), had completed checkpoints before main lost these: the
    sink took them for committed, and brings their rows no more (F3). The V1 sink keeps them until its ids have passed
    what it found on main."""
    at = lost_at(scene)
    if run.restored is None or at is None or any(V1_COMMITTER in vertex.name for vertex in run.vertices):
        return False
    last = max((s.checkpoint_id or 0 for s in own), default=0)
    return any(
        c.status == "COMPLETED"
        and run.restored.at <= c.triggered_at < at - CLOCKS_DIFFER
        and run.restored.checkpoint_id < c.checkpoint_id <= last
        for c in run.checkpoints
    )


def ended_since(scene: Scene) -> JobRun | None:
    """The job's newest run, where none is alive, and main was rolled back under it: what is restored from its newest
    checkpoint goes on from there. One that was stopped first is as a rewind asks for: so is, for all that clocks tell,
    one that was stopped at about that time, but not one that failed then."""
    last = max(scene.runs.values(), key=lambda run: run.started_at, default=None)
    if last is None or last.ended_at is None or any(not run.is_terminal for run in scene.runs.values()):
        return None
    at = lost_at(scene)
    is_failure = last.state == "FAILED"
    until = last.ended_at + CLOCKS_DIFFER if is_failure else last.ended_at - CLOCKS_DIFFER
    return last if at is not None and last.started_at <= at < until else None


def lost_at(scene: Scene) -> datetime | None:
    """When main went back from the lost commits, by its log; None where that does not tell."""
    left = {s.snapshot_id for s in scene.left}
    at = None
    for before, move in pairwise(scene.table.head_moves):
        if before.snapshot_id in left and move.snapshot_id not in left:
            at = move.at
    return at


def first_commit_of(scene: Scene, run: JobRun) -> datetime | None:
    """When the run's first commit on main came; None: there is none."""
    return next((s.committed_at for s in scene.table.of_flink if s.job_id == run.job_id), None)
