"""What became of the rows that a rollback took off main: told by the job's next commits, and by its living runs.

Whether a living run's state holds what main lost: of its own commits, or of others'.

Starts of the job after a rollback was explained that go back to the state of what main lost.

Whether the state of a run holds what main lost: told by which run wrote the point that it began from, as the path of
that says, and by checkpoint ids where no path does.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import Enum, StrEnum, auto
from itertools import pairwise
from typing import NamedTuple

from bot.domain.beside_a_rollback import Scene, Whose, reached_by, writers_of
from bot.domain.flink import CLOCKS_DIFFER, V1_COMMITTER, JobRun, names_run
from bot.domain.ids import DRAINED, CheckpointId, JobId
from bot.domain.kin import writer_of
from bot.domain.rewinds import FROM_NOTHING, began_from, first_shown, start_shown
from bot.domain.table import Snapshot, TableState


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


class LaterStart(NamedTuple):
    """A run whose state is that of a run that main lost commits of, as the path of its restore point says."""

    run: JobId
    commit: Snapshot | None
    """Its first on main since; None while it is silent."""
    is_beyond: bool
    """Whether its checkpoint lies above all that main had brought again by then: what lies between never comes. Else
    the ids do not tell whether main has brought it."""


def start_from_what_was_lost(scene: Scene, after: Snapshot) -> LaterStart | None:
    """The first of them that was restored after the commit `after`, and has committed since, or lives; None: there is
    none."""
    starts = (_start(scene, run, after) for run in sorted(scene.runs.values(), key=lambda run: run.started_at))
    return next((start for start in starts if start is not None), None)


def _start(scene: Scene, run: JobRun, after: Snapshot) -> LaterStart | None:
    point = run.restored
    writer = writer_of(point.path) if point is not None else None
    if point is None or writer is None or point.at <= after.committed_at:
        return None
    before = [s for s in scene.above if s.committed_at <= point.at]
    is_told = not any(s.job_id is not None and s.job_id.startswith(writer) for s in before)
    if not is_told or not held_of_writer(scene, point.checkpoint_id, writer, scene.left):
        return None
    commit = next((s for s in scene.above if s.job_id == run.job_id and s.committed_at > point.at), None)
    if commit is None and run.is_terminal:
        return None
    ids = (s.checkpoint_id or 0 for s in before)
    reached = max((each for each in ids if each < DRAINED), default=0)
    return LaterStart(run.job_id, commit, point.checkpoint_id > reached)


class Held(Enum):
    """Whether a living run's state holds what main lost."""

    YES = auto()
    PERHAPS = auto()
    NO = auto()
    """It reads it again."""
    NOT_ITS = auto()
    """The run has to do with none of it, for all that is known."""


def own_is_held(scene: Scene, run: JobRun, own: Sequence[Snapshot], lost: Sequence[Snapshot]) -> Held:
    """Of a run that lost some itself: not where Flink has restored it since from below."""
    if run.restored is None or any(s.committed_at >= run.restored.at for s in own):
        return Held.YES
    is_beyond = run.restored.checkpoint_id >= min(ids_of(own, 0), default=0)
    if is_beyond or has_passed_over(scene, run, own):
        return Held.YES
    is_its_own = names_run(run.restored.path, run.job_id)
    return Held.PERHAPS if is_its_own and came_after(own, lost) else Held.NO


def came_after(own: Sequence[Snapshot], lost: Iterable[Snapshot]) -> bool:
    """Whether main lost commits of another run by the same sink that are older than all that this one lost: where it
    began, and so whether a checkpoint of its own reads their rows again, is not told by ids."""
    first, sinks = min(s.committed_at for s in own), {s.operator_id for s in own}
    others = (s for s in lost if s.job_id not in (None, own[0].job_id) and s.operator_id in sinks)
    return any(s.committed_at < first for s in others)


def is_held(scene: Scene, run: JobRun, lost: Sequence[Snapshot], reached: int) -> Held:
    """Of a run that lost none: what it began with lies before all that it did, whenever the lost commits came."""
    of_flink = [s for s in lost if s.checkpoint_id is not None]
    if run.restored is None or not of_flink:
        return Held.NOT_ITS
    held = holds_lost(scene, run, first_commit_of(scene, run), of_flink, reached)
    if held is not None:
        is_since = all(s.committed_at < run.restored.at for s in of_flink)
        reads_again = is_since and run.restored.checkpoint_id > FROM_NOTHING
        return Held.YES if held else Held.NO if reads_again else Held.NOT_ITS
    return Held.PERHAPS


def ids_of(commits: Iterable[Snapshot], above: int) -> list[CheckpointId]:
    """Their checkpoint ids that lie above this one."""
    return [s.checkpoint_id for s in commits if s.checkpoint_id is not None and s.checkpoint_id > above]


class Sequel(StrEnum):
    """What the first Flink commit on top of a rollback's target says."""

    WENT_ON = "went-on"
    """A run whose commits were rolled back, or whose state came from beyond the target, committed its next checkpoint:
    what lay between is lost (facts 0.2)."""
    REDONE = "redone"
    """The same job id commits the rolled-back checkpoint ids again: it was restored to the target."""
    OTHER_RUN = "other-run"
    """A run of the job that had nothing rolled back goes on from the target, as far as Flink and the checkpoint ids
    tell."""
    UNTOLD = "untold"
    """Nothing tells where the run that goes on from the target began, and it has passed ids of what main lost, or is
    not surely the job's: the rows of these were read again under later ids, or are lost."""
    NOTHING_YET = "nothing-yet"
    """The job has committed nothing since; another Flink job may have."""


class Told(NamedTuple):
    """A sequel, and who tells it."""

    sequel: Sequel
    commit: Snapshot | None = None
    goes_on: JobId | None = None
    may_go_on: JobId | None = None
    ended_on: JobId | None = None
    is_rewound: bool = False
    by_a_loser: bool = False
    """Whether a run tells it that lost some itself: it knows where it stood."""

    @property
    def is_explained(self) -> bool:
        """Whether the rows have come again, or will."""
        return self.sequel in {Sequel.REDONE, Sequel.OTHER_RUN} or self.is_rewound

    @property
    def badness(self) -> int:
        """How much it speaks for a hole."""
        if self.sequel is Sequel.WENT_ON or self.goes_on is not None:
            return 4
        if self.sequel is Sequel.UNTOLD or self.may_go_on is not None or self.ended_on is not None:
            return 3
        return 2 if not self.is_explained else 1 if self.is_rewound else 0

    def in_doubt(self, commit: Snapshot | None) -> "Told":
        """The same where nobody knows whether that run goes on from what was lost; `commit` may say otherwise."""
        if self.sequel is Sequel.NOTHING_YET and commit is None:
            return Told(Sequel.NOTHING_YET, may_go_on=self.goes_on or self.may_go_on)
        return Told(Sequel.UNTOLD, commit)


def sequel_of(scene: Scene) -> Told:
    """Where Flink lists none of the runs that lost some, each writer is judged by itself, and the worst counts: a guest
    that lost a commit and repeats it explains nothing of the job. Where Flink's runs are of the one or the other by
    their sinks, these alone are the job's. A listed run that is of neither for all that is known goes on from what each
    lost that has not repeated it, or it is not known. What explains a rollback does so only until the job is started
    from the state of what was lost."""
    told = _of_writers(scene)
    later = start_from_what_was_lost(scene, told.commit) if told.is_explained and told.commit is not None else None
    if later is None:
        return told
    if later.commit is not None:
        return Told(Sequel.WENT_ON if later.is_beyond else Sequel.UNTOLD, later.commit)
    goes_on, may_go_on = (later.run, None) if later.is_beyond else (None, later.run)
    return Told(Sequel.NOTHING_YET, goes_on=goes_on, may_go_on=may_go_on)


def _of_writers(scene: Scene) -> Told:
    if listed := [s for s in scene.left if s.job_id in scene.runs]:
        return _judged(scene, listed, scene.left)
    groups = writers_of(scene.left)
    own = [s for group in groups if any(each.operator_id in scene.operators for each in group) for s in group]
    told = [_judged(scene, own, lost) for lost in (own, scene.left)] if own else []
    told = told or [_judged(scene, group, group or scene.left) for group in groups]
    worst = max(told, key=lambda each: each.badness)
    if worst.badness == 4 and not worst.by_a_loser and any(each.is_explained and not each.by_a_loser for each in told):
        return worst.in_doubt(worst.commit)
    return worst


def _judged(scene: Scene, theirs: Sequence[Snapshot], lost: Sequence[Snapshot]) -> Told:
    """`theirs`: what one writer lost, whose commits and state tell; `lost`: what may have been in that state."""
    reached = reached_by(scene.below, theirs)
    sinks = scene.sinks | {s.operator_id for s in theirs}
    hints: list[tuple[Whose, Snapshot]] = []
    settled: Told | None = None
    for commit in scene.firsts:
        whose = scene.whose(commit, theirs, sinks)
        if whose is Whose.ITS_OWN:
            settled = _by_commit(scene, commit, theirs, lost, reached)
            break
        if whose is not Whose.ANOTHERS:
            hints.append((whose, commit))
    settled = settled or _by_living(scene, lost, reached)
    told = _with_hints(scene, settled, hints, theirs, lost, reached) if hints else settled
    if told.by_a_loser:
        return told
    leading = scene.leading_on(told.commit, theirs, reached, from_above=told.is_explained)
    return told if leading is None else told.in_doubt(leading)


def _with_hints(
    scene: Scene,
    settled: Told,
    hints: Sequence[tuple[Whose, Snapshot]],
    theirs: Sequence[Snapshot],
    lost: Sequence[Snapshot],
    reached: int,
) -> Told:
    """With commits before that are the job's only by their sink: one in line with the ids explains a rollback unless a
    later run was restored from what was lost itself; one that is not explains none, and lets nobody be sure of a later
    run's hole but of one that lost some."""
    first = hints[0][1]
    by_ids = [_by_commit(scene, commit, theirs, lost, reached) for _, commit in hints]
    in_line = next((told for told, (whose, _) in zip(by_ids, hints, strict=True) if whose is Whose.IN_LINE), None)
    if in_line is not None and in_line.is_explained:
        return Told(Sequel.UNTOLD, first) if _descends(scene, settled, lost) else in_line
    explained = [each.is_explained for each in by_ids]
    if all(explained) if settled.is_explained else settled.by_a_loser:
        return settled
    is_sure = in_line is by_ids[0] and not any(explained) and not settled.is_explained
    return by_ids[0] if is_sure else Told(Sequel.UNTOLD, first)


def _descends(scene: Scene, told: Told, lost: Sequence[Snapshot]) -> bool:
    """Whether the run that goes on from what was lost was restored from a checkpoint of a run that lost it, by its
    path."""
    name = told.commit.job_id if told.commit is not None else told.goes_on
    run = scene.runs.get(name) if name is not None and told.badness == 4 else None
    shown = first_shown(run) if run is not None else None
    return shown is not None and any(names_run(shown.path, s.job_id) for s in lost if s.job_id is not None)


def _by_commit(
    scene: Scene, first: Snapshot, theirs: Sequence[Snapshot], lost: Sequence[Snapshot], reached: int
) -> Told:
    own = [s for s in lost if s.job_id == first.job_id and s.checkpoint_id is not None]
    others = [s for s in (theirs if own else lost) if s.job_id != first.job_id]
    ids = ids_of(own, 0) + ids_of(others, reached)
    number, again = first.checkpoint_id or 0, Sequel.REDONE if own else Sequel.OTHER_RUN
    run = scene.runs.get(first.job_id or JobId(""))
    if run is not None and not own:
        held = holds_lost(scene, run, first.committed_at, others, reached)
        if held is not None or began_from(run, first.committed_at) is not None:
            return Told(Sequel.UNTOLD if held is None else Sequel.WENT_ON if held else again, first)
    elif run is not None and (point := _restored_between(run, own, first)) is not None:
        if any(each <= point for each in ids) or has_passed_over(scene, run, own):
            return Told(Sequel.WENT_ON, first, by_a_loser=True)
        return Told(Sequel.UNTOLD if came_after(own, lost) else again, first, by_a_loser=True)
    is_taken_over = run is not None and not own and first.committed_at < run.started_at
    may_be_next = is_taken_over and number <= reached + scene.allowed
    if ids and number > max(ids_of(own, 0) or ids) and not may_be_next:
        return Told(Sequel.WENT_ON, first, by_a_loser=bool(own))
    return Told(Sequel.UNTOLD if any(each < number for each in ids) else again, first, by_a_loser=bool(own))


def _restored_between(run: JobRun, own: list[Snapshot], first: Snapshot) -> CheckpointId | None:
    """The checkpoint from which the run came from its own lost commits to its first commit above the target. None where
    Flink does not show it."""
    point, last = run.restored, max(s.committed_at for s in own)
    return point.checkpoint_id if point is not None and last <= point.at <= first.committed_at else None


def _by_living(scene: Scene, lost: Sequence[Snapshot], reached: int) -> Told:
    """What the living runs will do that have committed nothing since, told by where Flink restored them."""
    again = counted_again(lost, scene.target)
    goes_on: JobId | None = None
    may_go_on: JobId | None = None
    is_rewound = by_a_loser = False
    for run in (each for each in scene.runs.values() if not each.is_terminal):
        if run.restored is not None and any(each <= run.restored.checkpoint_id for each in again):
            may_go_on = run.job_id
        own = [s for s in lost if s.job_id == run.job_id]
        held = own_is_held(scene, run, own, lost) if own else is_held(scene, run, lost, reached)
        if held is Held.YES:
            goes_on, by_a_loser = run.job_id, bool(own)
        elif held is Held.PERHAPS:
            may_go_on = run.job_id
        is_rewound = is_rewound or held is Held.NO
    is_rewound = is_rewound and goes_on is None and may_go_on is None
    if (last := ended_since(scene)) is not None:
        own = [s for s in lost if s.job_id == last.job_id]
        held = own_is_held(scene, last, own, lost) if own else is_held(scene, last, lost, reached)
        return Told(Sequel.NOTHING_YET, ended_on=last.job_id if held is Held.YES else None, by_a_loser=bool(own))
    return Told(Sequel.NOTHING_YET, goes_on=goes_on, may_go_on=may_go_on, is_rewound=is_rewound, by_a_loser=by_a_loser)


def counted_again(lost: Iterable[Snapshot], kept: Snapshot | None) -> frozenset[CheckpointId]:
    """`kept`: the target. The run counted anew under its job id (F14), or two commits bear one id (F1)."""
    if kept is None or kept.job_id is None:
        return frozenset()
    ids = (s.checkpoint_id for s in lost if s.job_id == kept.job_id and s.checkpoint_id is not None)
    return frozenset(each for each in ids if each <= (kept.checkpoint_id or 0))


def beginning_of(run: JobRun, table: TableState) -> CheckpointId | None:
    """The checkpoint that the run began from, as Flink and its first commit on main tell; None: nothing tells."""
    first = next((s.committed_at for s in table.of_flink if s.job_id == run.job_id), None)
    return began_from(run, first)
