"""What a rehearsal has left: its branch, where that began, the run that it stopped, and from where the job goes on."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from bot.actions._support.current_state import CurrentState
from bot.actions._support.foreseen import case_now, knowing
from bot.actions._support.restore_points import going_on, nearer_unread, newest_that_pairs
from bot.history.case import Case
from bot.history.other_jobs import commits_that_bind
from bot.history.prediction import RestorePrediction, RestoreVerdict, extent_in_words, predict
from bot.history.ranking import for_start
from bot.history.restore import RestorePoint, Restores, lists_none_of
from bot.history.run_commits import CommitsByRun
from bot.incident.action import Action, Past, Plan, StoodStill
from bot.incident.effects import (
    ChangeFiles,
    DeleteRows,
    KeepSavepoint,
    MakeBranch,
    ReplayRows,
    StartFromStop,
    StartJob,
    StopFork,
    StopJob,
)
from bot.incident.proposal import Proposal, SiblingSpared
from bot.observation.errors import NotThere, Refused, UnknownTable
from bot.observation.file_changes import FileList
from bot.observation.flink import StoredCheckpoint
from bot.observation.ids import JobId, SnapshotId, TableName, short
from bot.observation.looked import NotSeen
from bot.observation.paths import may_be_same
from bot.observation.record import Record
from bot.observation.table import TableState

_NOT_LISTED = NotSeen(
    source="The folder of the table's Flink manifests",
    reason="Only those of the incident's table are listed.",
    remedy="Run `waterline restore-check` for this table.",
)
_SAID = {
    RestoreVerdict.RIGHT: "goes on right",
    RestoreVerdict.WRONG: "does not go on right",
    RestoreVerdict.CANNOT_TELL: "may not go on right",
}


class Doubled(Record):
    """Another table of the job of which a start would write rows a second time."""

    table: TableName
    happened: str
    """What the start would do, a sentence that begins small."""
    found: str
    back: str
    """What two people do of it while the job stands still, a clause."""


def with_siblings(proposal: Proposal, plan: Plan) -> Proposal:
    """The same, with each other table of the job in its preview and each start bound not to double it. Raises Refused
    where it would, CouldNotLook."""
    own = plan.case.job_name
    stops = [e for e in proposal.effects if isinstance(e, StopJob | StopFork) and e.job == own]
    starts = [e for e in proposal.effects if isinstance(e, StartJob | StartFromStop | KeepSavepoint)]
    siblings = plan.siblings() if stops or starts else ()
    if not siblings:
        return proposal
    job = (*stops, *starts)[0].job
    stands_still = any(isinstance(each, StopJob) for each in stops)
    told, bound = [_named(job, siblings, stands_still=stands_still)], []
    for start in starts:
        if not isinstance(start, StartJob):
            told.append(
                "The state that the run leaves is compared with these tables too. If a start from it would "
                "duplicate rows, the proposal ends as refused."
            )
            bound += [SiblingSpared(table=t.name, job=job, path=None, job_id=start.job_id) for t in siblings]
            continue
        stored = _stored(plan, start)
        for table in siblings:
            found, doubled = _predicted(plan, stored, table)
            if doubled is not None:
                raise Refused(
                    f"A{doubled.happened[1:]}",
                    doubled.found,
                    f"Tell the owners of {doubled.table}, and open an incident for it. Stop the job, then two people "
                    f"{doubled.back}. Propose this again while the job is stopped.",
                )
            told.append(f"{table.name} {_SAID[found.verdict]}. {found.reason}")
            bound.append(SiblingSpared(table=table.name, job=job, path=start.path))
    preview = proposal.preview.model_copy(update={"sentences": (*proposal.preview.sentences, *told)})
    requirements = (*proposal.requirements, *bound)
    return proposal.model_copy(update={"requirements": requirements, "preview": preview})


def _named(job: str, siblings: Sequence[TableState], *, stands_still: bool) -> str:
    names = " and ".join(table.name for table in siblings)
    them = "them" if len(siblings) > 1 else "it"
    still = f" While the job is stopped, nobody writes to {them} either." if stands_still else ""
    return f"{job} writes {names} as well. This does not freeze, move, tag or repair {them}.{still}"


def _stored(plan: Plan, start: StartJob) -> StoredCheckpoint:
    """What was read of the restore point. Raises Refused where it was not read."""
    for each in plan.case.observation.checkpoints.values:
        if may_be_same(each.path, start.path):
            return each
    raise Refused(
        "It is not known what the restore would do to the other tables of the job.",
        f"Expected {start.path} among the restore points that were read; it is missing.",
        "Make sure that Waterline can read its folder (`checkpoint_dir`, `savepoint_dir`), then propose again.",
    )


def doubled_by(plan: Plan, path: str) -> Doubled | None:
    """Of the other tables of the job the first of which a start from the restore point, which was looked at, would
    write rows a second time. Raises CouldNotLook."""
    stored = next(each for each in plan.case.observation.checkpoints.values if may_be_same(each.path, path))
    told = (_predicted(plan, stored, table)[1] for table in plan.siblings())
    return next((doubled for doubled in told if doubled is not None), None)


def _predicted(plan: Plan, stored: StoredCheckpoint, table: TableState) -> tuple[RestorePrediction, Doubled | None]:
    """What a start would do to another table of the job, and what to do where it writes rows a second time."""
    seen = plan.case.observation.model_copy(update={"table": table, "flink_manifests": _NOT_LISTED})
    until = CommitsByRun(plan.case.observation.table, plan.case.runs).written(stored).latest
    restores = Restores(plan.case.model_copy(update={"observation": seen}))
    found, pair = predict(stored, restores, until), restores.met_by(stored)
    if found.repeated is None:
        return found, None
    back = f"repair {table.name} by hand, as no snapshot on its main pairs with that checkpoint"
    if pair.snapshot_id in table.chain_ids:
        pairs = f"{short(pair.snapshot_id)} ({pair.snapshot_id}), which pairs with that checkpoint"
        back = f"move main of {table.name} back to {pairs}"
    return found, Doubled(
        table=table.name,
        happened=f"a restore from checkpoint {stored.checkpoint_id} would duplicate rows of {table.name}, which the "
        "job writes as well.",
        found=f"Expected no commit of the job there after that checkpoint; found {extent_in_words(found.repeated)}.",
        back=back,
    )


_DOUBLES = "a start would duplicate rows of another table of the job"


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


def start_in_words(plan: Plan, done: Rehearsed, point: RestorePoint) -> tuple[str, ...]:
    """From where the job goes on, sentences of a preview."""
    stop = "an earlier stop of this incident" if done.is_of_earlier else "the repair's stop"
    is_of_stop = done.savepoint is not None and may_be_same(point.path, done.savepoint)
    taken = f", which {stop} took" if is_of_stop else ""
    return (
        f"Start the job from checkpoint {point.checkpoint_id} at {point.path}{taken}. It "
        f"pairs with {short(point.snapshot_id)}: the source continues where main ends.",
        *nearer_unread(plan.case, point),
    )


class GoesOn(NamedTuple):
    """From where a job that stands still goes on, with main as a case has it."""

    point: RestorePoint | None
    stays_down: tuple[str, ...] = ()
    """Where storage shows nothing from which it may: why no run is started, and what people do, sentences."""
    because: str = "no state of it pairs with main"
    """The same, a clause."""


def goes_on(plan: Plan, case: Case) -> GoesOn:
    """From the newest durable restore point, of whatever run, that pairs with main as the case has it, and doubles no
    other table of the job. Raises CouldNotLook."""
    barred: GoesOn | None = None
    for point in going_on(case).points:
        doubled = doubled_by(plan, point.path)
        if doubled is None:
            return GoesOn(point)
        barred = barred or GoesOn(None, _barred(point, doubled), _DOUBLES)
    return barred or GoesOn(None, stays_down(case))


def goes_on_published(plan: Plan, done: Rehearsed) -> GoesOn:
    """The same where main ends once the repair is published; from nothing where storage was not seen. A repair may put
    a run's own commits back under its keys: then its state pairs with these, and nothing older does."""
    if done.stopped is None:
        return GoesOn(None)
    case = main_at(plan.case, done.head, done.stopped)
    is_seen = plan.case.observation.checkpoints.state == "seen"
    return goes_on(plan, case) if is_seen else GoesOn(None, stays_down(case))


def _barred(point: RestorePoint, doubled: Doubled) -> tuple[str, str]:
    return (
        f"Start no run; the job stays down. {point.path} pairs with main, but {doubled.happened} {doubled.found}",
        f"What to do next: tell the owners of {doubled.table}, and open an incident for it. While the job is "
        f"stopped, two people {doubled.back}. Then collect evidence again and diagnose: that says from where to "
        "restore the job. Start it by hand only from a state that pairs with the head of each of its tables.",
    )


def main_at(case: Case, head: SnapshotId, run: JobId | None) -> Case:
    """The case as it is with main there, and with `run` among the job's."""
    seen = case.observation
    there = seen.table.as_of(head, seen.table.head_moves)
    case = case.model_copy(update={"observation": seen.model_copy(update={"table": there})})
    return knowing(case, run) if run is not None else case


def may_yet_be_found(case: Case, run: JobId, savepoint: str | None) -> bool:
    """Whether a state of the run that a rehearsal stopped may pair that storage does not show now, readable: the
    savepoint of its stop, or where none is known any of it. Not of a run that had committed nothing."""
    seen = case.observation
    if lists_none_of(run, seen.table):
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
    found = for_start(case).in_words(3)
    return (
        "Start no run; the job stays down. Expected a savepoint or retained checkpoint that pairs with "
        f"{newest_by_flink(case)}; found {found}. From any of these, the job would lose or duplicate rows.",
        "What to do next: collect evidence again and diagnose. That says whether to roll back table and job, or to "
        "restore the job in another way. Start it by hand only from a state that pairs with "
        f"{newest_by_flink(case)}.",
    )


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
        stood = StoodStill(run=own.job_id, savepoint=savepoint)
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
    )


def not_spared(requirement: SiblingSpared, world: CurrentState) -> str | None:
    """A sentence with expected and found, or None when it holds, or cannot be told yet because the run that is to leave
    the state goes on. A table that is gone holds no row. Raises CouldNotLook, and Superseded where the run has ended
    and left none."""
    path, ports = requirement.path, world.jobs[requirement.job]
    if path is None:
        assert requirement.job_id is not None
        run = ports.flink.run(requirement.job_id)
        if run is not None and not run.is_terminal:
            return None
        path = newest_that_pairs(world, requirement.job, requirement.job_id).path
    try:
        stored = ports.checkpoints.read(path)
    except NotThere as error:
        return f"Expected restore point {path} to be readable; {error.happened} {error.found}"
    try:
        table = world.load(requirement.table)
    except UnknownTable:
        return None
    runs = ports.flink.runs(requirement.job)
    there = replace(world, table=table)
    wrote = stored.job_id or (runs[-1].job_id if runs else None)
    if wrote is None:
        return None
    until = CommitsByRun(world.table, runs).written(stored).latest
    found = predict(stored, case_now(there, requirement.job, wrote, runs), until)
    if found.repeated is None:
        return None
    return (
        f"Expected no commit of {requirement.job} on main of {requirement.table} after checkpoint "
        f"{stored.checkpoint_id} ({path}); found {extent_in_words(found.repeated)}."
    )
