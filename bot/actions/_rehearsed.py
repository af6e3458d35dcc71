"""What a rehearsal has left: its branch, where that began, the run that it stopped, and from where the job goes on."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bot.actions._foreseen import knowing
from bot.actions._idle import idle_left, idle_point, lists_none_of
from bot.actions._restore_points import RestorePoint, ends_main, goes_on_from, only_copies_follow
from bot.actions._siblings import Doubled, doubled_by
from bot.domain.action import Action, Past, Plan, StoodStill
from bot.domain.diagnosis import Case
from bot.domain.effects import ChangeFiles, DeleteRows, MakeBranch, ReplayRows, StopJob
from bot.domain.errors import Refused
from bot.domain.file_changes import FileList
from bot.domain.guests import commits_that_bind
from bot.domain.ids import JobId, SnapshotId, short
from bot.domain.own_points import points_told_apart
from bot.domain.paths import may_be_same
from bot.domain.record import Record

DOUBLES = "a start would duplicate rows of another table of the job"


class Rehearsed(Record):
    because: str
    """Why it was proposed."""
    code: str
    branch: str
    base: SnapshotId
    head: SnapshotId
    add: FileList | None
    remove: FileList | None
    rows: int
    """Rows that were deleted by their places, beside those of `remove`."""
    written: int
    """Rows that were made once more from the source."""
    stopped: JobId | None
    """The run whose stop left the job standing still for it; None: no run was alive, and none had been stopped."""
    is_of_earlier: bool
    """Whether an earlier proposal of the incident had stopped it."""
    savepoint: str | None
    stands_on: SnapshotId | None = None
    """Of a stopped run that had committed nothing: the commit with which its beginning pairs, where that was proven."""


def rehearsed(plan: Plan, action: Action) -> Rehearsed:
    """The incident's open rehearsal, whose branch somebody may have removed. Raises Refused where there is none."""
    found = _told(plan.rehearsed) if plan.rehearsed is not None else None
    if found is None:
        raise Refused(
            f"“{action.title}” needs a repair on a branch, and there is none.",
            "Expected a branch with a repair of this incident; found none.",
            "Propose the repair that the diagnosis asks for first.",
        )
    return found


def whose_stop(done: Rehearsed) -> str:
    """`the rehearsal's stop`, where a point comes from it."""
    return "an earlier stop of this incident" if done.is_of_earlier else "the repair's stop"


class GoesOn(NamedTuple):
    """From where a job that stands still goes on."""

    point: RestorePoint | None
    """None: storage shows nothing now from which it may."""
    barred: tuple[str, ...] = ()
    """Where a point pairs with main, and would double another table of the job: why no run is started, sentences."""


def goes_on_published(plan: Plan, done: Rehearsed) -> GoesOn:
    """As `goes_on`, where main ends once the repair is published; from nothing where storage was not seen."""
    if done.stopped is None or plan.case.observation.checkpoints.state == "not-seen":
        return GoesOn(None)
    return goes_on(plan, published(plan, done), done)


def goes_on(plan: Plan, case: Case, done: Rehearsed) -> GoesOn:
    """From the newest durable restore point, of whatever run, that pairs with main as the case has it, and doubles no
    other table of the job. Of a run that had committed nothing, and that Flink has forgotten, what was proven before
    its stop still counts; that comes first, as it is newer than what it began from. Raises CouldNotLook."""

    def newest_first() -> Iterator[RestorePoint | None]:
        yield _idle_of_stop(case, done)
        yield goes_on_from(case)
        yield idle_left(case)

    return spared(plan, newest_first())


def spared(plan: Plan, points: Iterable[RestorePoint | None]) -> GoesOn:
    """From the first of them that doubles no other table of the job. Raises CouldNotLook."""
    barred: tuple[str, ...] = ()
    for point in points:
        doubled = doubled_by(plan, point.path) if point is not None else None
        if point is not None and doubled is None:
            return GoesOn(point)
        if point is not None and doubled is not None:
            barred = barred or _barred(point, doubled)
    return GoesOn(None, barred)


def _barred(point: RestorePoint, doubled: Doubled) -> tuple[str, str]:
    return (
        f"Start no run; the job stays down. {point.path} pairs with main, but {doubled.happened} {doubled.found}",
        f"What to do next: tell the owners of {doubled.table}, and open an incident for it. While the job is "
        f"stopped, two people {doubled.back}. Then collect evidence again and diagnose: that says from where to "
        "restore the job. Start it by hand only from a state that pairs with the head of each of its tables.",
    )


def published(plan: Plan, done: Rehearsed) -> Case:
    """The case as it is with main at the repair, and with the stopped run among the job's. A repair may put a run's own
    commits back under its keys: then its state pairs with these, and nothing older does."""
    seen = plan.case.observation
    there = seen.table.as_of(done.head, seen.table.head_moves)
    case = plan.case.model_copy(update={"observation": seen.model_copy(update={"table": there})})
    return knowing(case, done.stopped) if done.stopped is not None else case


def may_yet_be_found(case: Case, run: JobId, savepoint: str | None, stands_on: SnapshotId | None) -> bool:
    """Whether a state of the run that a rehearsal stopped may pair that storage does not show now, readable: the
    savepoint of its stop, or where none is known any of it. Not of a run that had committed nothing and was not proven
    to fit, nor where another has committed above what it was proven to fit."""
    seen = case.observation
    if stands_on is None and lists_none_of(run, seen.table):
        return False
    if stands_on is not None and not only_copies_follow(stands_on, commits_that_bind(case)):
        return False
    there = [s for s in seen.checkpoints.values if s.checkpoint_id is not None and s.digest is not None]
    if savepoint is not None:
        return not any(may_be_same(each.path, savepoint) for each in there)
    return not any(each.job_id == run for each in there)


def newest_by_flink(case: Case) -> str:
    """With what a restore point has to pair for the job to go on from it, a clause."""
    commits = commits_that_bind(case)
    if not commits:
        return "main, which has no commit by Flink"
    return f"{short(commits[-1].snapshot_id)} (checkpoint {commits[-1].checkpoint_id}), main's newest commit by Flink"


def stays_down(case: Case) -> tuple[str, str]:
    """Why no run is started on main as the case has it, and what people do, sentences."""
    told = points_told_apart(case)
    found = "; ".join(f"{p.path}: {p.verdict.value}, {p.reason.rstrip('.')}" for _, p in told[:3]) or "none at all"
    return (
        "Start no run; the job stays down. Expected a savepoint or retained checkpoint that pairs with "
        f"{newest_by_flink(case)}; found {found}. From any of these, the job would lose or duplicate rows.",
        "What to do next: collect evidence again and diagnose. That says whether to rewind table and job, or to "
        "restore the job in another way. Start it by hand only from a state that pairs with "
        f"{newest_by_flink(case)}.",
    )


def _idle_of_stop(case: Case, done: Rehearsed) -> RestorePoint | None:
    table, commits = case.observation.table, commits_that_bind(case)
    of_run = (told for told in points_told_apart(case) if told[0].job_id == done.stopped and told[1].is_durable)
    found = (idle_point(stored, pair, table, done.stands_on, case.runs) for stored, pair in of_run)
    return next((point for point in found if point is not None and ends_main(point, commits)), None)


def _told(past: Past) -> Rehearsed | None:
    places = {type(effect): index for index, effect in enumerate(past.proposal.effects) if index in past.results}
    made, stop = places.get(MakeBranch), places.get(StopJob)
    changed = next((places[kind] for kind in (ChangeFiles, DeleteRows, ReplayRows) if kind in places), None)
    if made is None:
        return None
    branch, change = past.proposal.effects[made], past.proposal.effects[changed] if changed is not None else None
    own = past.proposal.effects[stop] if stop is not None else None
    stood = past.stood_still
    if isinstance(own, StopJob) and stop is not None:
        savepoint = past.results[stop].get("savepoint")
        stood = StoodStill(run=own.job_id, savepoint=savepoint, stands_on=own.stands_on)
    assert isinstance(branch, MakeBranch)
    base = SnapshotId(int(past.results[made]["base"]))
    return Rehearsed(
        because=past.proposal.because,
        code=past.proposal.code,
        branch=branch.branch,
        base=base,
        head=SnapshotId(int(past.results[changed]["snapshot"])) if changed is not None else base,
        add=change.add if isinstance(change, ChangeFiles) else None,
        remove=change.remove if isinstance(change, ChangeFiles) else None,
        rows=sum(each.rows for each in change.rows) if isinstance(change, DeleteRows) else 0,
        written=change.replay.rows if isinstance(change, ReplayRows) else 0,
        stopped=stood.run if stood is not None else None,
        is_of_earlier=own is None,
        savepoint=stood.savepoint if stood is not None else None,
        stands_on=stood.stands_on if stood is not None else None,
    )
