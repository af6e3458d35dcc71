"""Undo an earlier proposal, as far as it came: built from what its steps have left in the record and on storage."""

from collections.abc import Mapping, Sequence

from bot.actions._support.draft import drafted, job_and_head, live_run
from bot.actions._support.foreseen import committer
from bot.actions._support.recipes import left_behind, rewound, started_on_head
from bot.actions._support.restore_points import going_on
from bot.actions._support.staged import goes_on, main_at, may_yet_be_found, newest_by_flink
from bot.history.case import Case
from bot.history.restore import RestorePoint
from bot.incident.action import Action, Past, Plan, StoodStill
from bot.incident.effects import (
    DropBranch,
    MarkTable,
    MoveTable,
    PublishBranch,
    StartFromStop,
    StartJob,
    StopFork,
    StopJob,
)
from bot.incident.proposal import HeadDescends, Proposal, RefIs, SnapshotPresent
from bot.observation.errors import Refused
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, SnapshotId, short, short_job
from bot.observation.sentences import clock_time
from bot.observation.table import Snapshot, TableState


def unmarked(
    plan: Plan, action: Action, marks: Sequence[tuple[Mapping[str, SnapshotId], MarkTable]], title: str
) -> Proposal:
    """Tags are as before: what was set goes, what was removed comes back. Raises Refused where nothing that is known
    would change, or a tag's snapshot has expired."""
    table = plan.case.observation.table
    tags = _changed(marks)
    set_again = {tag: was for tag, (was, _) in tags.items() if was is not None}
    gone = {tag: is_on for tag, (_, is_on) in tags.items() if is_on is not None}
    if not (set_again or gone):
        raise Refused(
            f"“{title}” would change nothing.",
            "Expected the record to show which tags were there before; it shows none.",
            "Set them by hand if you need them.",
        )
    lost = [f"{tag} on {short(snapshot)}" for tag, snapshot in set_again.items() if snapshot not in table.by_id]
    if lost:
        raise Refused(
            f"“{title}” cannot restore every tag.",
            f"Expected their snapshots to be listed; these have expired: {', '.join(lost)}.",
            "A tag on an expired snapshot cannot be restored. Set the others by hand if you need them.",
        )
    return drafted(
        plan,
        action,
        title=title,
        effects=(
            MarkTable(table=table.name, why="Restore the earlier tags", new_tags=set_again, remove_tags=tuple(gone)),
        ),
        requirements=(
            *(RefIs(ref=tag, snapshot_id=snapshot) for tag, snapshot in gone.items()),
            *(RefIs(ref=tag, snapshot_id=None) for tag in set_again),
            *(SnapshotPresent(snapshot_id=snapshot) for snapshot in dict.fromkeys(set_again.values())),
        ),
        sentences=(
            *(f"Remove the tag {tag}." for tag in gone),
            *(f"Tag {short(snapshot)} as {tag} again." for tag, snapshot in set_again.items()),
            "Neither main nor the job is changed.",
        ),
        sure="Tags are as they were before; main and the job do not change.",
        undo="`/waterline undo` sets them again, unless a snapshot has expired meanwhile.",
    )


def _changed(
    marks: Sequence[tuple[Mapping[str, SnapshotId], MarkTable]],
) -> dict[str, tuple[SnapshotId | None, SnapshotId | None]]:
    """Tag -> where it was before, where it is now (None: not there), of what all marks have changed."""
    before, now = dict[str, SnapshotId | None](), dict[str, SnapshotId | None]()
    for was, mark in marks:
        changed: dict[str, SnapshotId | None] = {**dict.fromkeys(mark.remove_tags), **mark.new_tags}
        before = {tag: was.get(tag) for tag in changed} | before
        now |= changed
    return {tag: (was, now[tag]) for tag, was in before.items() if was != now[tag]}


def _by_hand(case: Case, stood: StoodStill) -> str:
    left = f"{stood.savepoint}, which the stop of run {short_job(stood.run)} took" if stood.savepoint else None
    return (
        f"Start no run: storage shows no state that pairs with {newest_by_flink(case)}. Start the job by hand after "
        f"main has moved back: from {f'{left}, if storage can read it again and it pairs; else from ' if left else ''}"
        "a restore point that pairs with that commit (`/waterline run checkpoint_pairing` lists them). From any other "
        "it would lose or duplicate rows."
    )


class AppliedEffects:
    def __init__(self, past: Past) -> None:
        self.title = past.proposal.title
        done = [(index, effect) for index, effect in enumerate(past.proposal.effects) if index in past.results]
        self.stopped = next((e.job_id for _, e in done if isinstance(e, StopJob)), None)
        self.fork = next((e.job_id for _, e in done if isinstance(e, StopFork)), None)
        starts = [(i, e) for i, e in done if isinstance(e, StartJob | StartFromStop)]
        self.started = next((past.started[i].job_id for i, _ in starts), None)
        moves = [i for i, e in done if isinstance(e, MoveTable | PublishBranch)]
        left = next((past.results[i].get("left") for i in moves), None)
        self.moved_from = SnapshotId(int(left)) if left else None
        to = (e.to if isinstance(e, MoveTable) else e.head for _, e in done if isinstance(e, MoveTable | PublishBranch))
        self.moved_to = next(to, None)
        self.stood_at = next((_stood_at(past, i, e) for i, e in starts), None)
        self.marks = [(past.started[i].before, e) for i, e in done if isinstance(e, MarkTable)]
        self.gives_up = next((e.branch for e in past.proposal.effects if isinstance(e, DropBranch)), None)
        self.brings = next((e for _, e in done if isinstance(e, StartJob) and e.owes is not None), None)
        on_head = (r for r in past.proposal.requirements if isinstance(r, HeadDescends))
        self.brings_of = next((r.goes_on_from for r in on_head), None) if self.brings is not None else None
        self.stood_still = past.stood_still


def _stood_at(past: Past, index: int, effect: StartJob | StartFromStop) -> SnapshotId | None:
    intent = past.started[index].expected_head
    return intent if intent is not None else effect.on_top_of if isinstance(effect, StartJob) else None


def undone(plan: Plan, action: Action, past: Past) -> Proposal:
    """Raises Refused with the reason when it cannot be undone, CouldNotLook when Flink was not seen."""
    did = AppliedEffects(past)
    proposal = _undone(plan, action, did, f"Undo: {did.title}")
    warning = f"Undo “{did.title}”: table and job return to their earlier state, including the fault."
    sentences = (warning, *proposal.preview.sentences)
    return proposal.model_copy(update={"preview": proposal.preview.model_copy(update={"sentences": sentences})})


def _undone(plan: Plan, action: Action, did: AppliedEffects, title: str) -> Proposal:
    if did.fork is not None:
        raise _impossible(
            did,
            f"It stopped run {short_job(did.fork)}, one of two writers. Waterline starts no second writer.",
            "If you need that run, start it by hand from the state that its stop left.",
        )
    if did.gives_up is not None:
        raise _impossible(
            did,
            f"It dropped a repair: branch {did.gives_up} cannot be created again, because its files may have expired.",
            "Propose the repair again, which creates a new branch.",
        )
    if did.started is not None or did.moved_from is not None:
        return _moved_back(plan, action, did, title)
    if did.stopped is not None:
        _job, head = job_and_head(plan, action)
        live = live_run(plan)
        if live is not None:
            raise _impossible(
                did,
                f"It stopped run {short_job(did.stopped)}, and run {short_job(live.job_id)} is alive now.",
                "Somebody has started the job since, so nothing needs to be undone.",
            )
        proposal = started_on_head(plan, action, _state_of(plan, did, did.stopped, head), None)
        return proposal.model_copy(update={"title": title})
    if did.marks:
        return unmarked(plan, action, did.marks, title)
    raise _impossible(did, "It changed neither main, nor the job, nor tags of the table.", "Nothing needs to be done.")


def _moved_back(plan: Plan, action: Action, did: AppliedEffects, title: str) -> Proposal:
    """Main goes back to what was left, and the job to the state of the run that was stopped, if one was."""
    table = plan.case.observation.table
    live = live_run(plan)
    if live is not None and live.job_id != did.started:
        raise _impossible(
            did,
            f"Expected run {short_job(did.started)}, which it started, or no run to be alive; found run "
            f"{short_job(live.job_id)}.",
            "Somebody has started the job since. Diagnose again, and decide by the present state.",
        )
    to = did.moved_from or did.stood_at
    if to is None or to not in table.by_id:
        raise _impossible(
            did,
            f"Snapshot {short(to)}, the earlier head of the table, is not listed any more.",
            "An expired snapshot cannot be restored. Diagnose again; the job can only read rows again from the source.",
        )
    foreign = [s for s in left_behind(table, to) if s.job_id != did.started and s.snapshot_id not in _known(did, table)]
    if foreign:
        more = f"; {len(foreign) - 1} more followed" if len(foreign) > 1 else ""
        raise _impossible(
            did,
            f"{short(foreign[0].snapshot_id)} was committed since by {committer(foreign[0])} at "
            f"{clock_time(foreign[0].committed_at, table.read_at, seconds=True)}{more}: an undo would lose its rows.",
            "Talk to that writer first. Then diagnose again, and decide by the present state.",
        )
    if did.stopped is None and did.stood_still is not None:
        return _as_before_the_rehearsal(plan, action, did.stood_still, to, live, title)
    point = _state_of(plan, did, did.stopped, to) if did.stopped is not None else None
    return rewound(plan, action, to, point, live, title=title)


def _as_before_the_rehearsal(
    plan: Plan, action: Action, stood: StoodStill, to: SnapshotId, live: JobRun | None, title: str
) -> Proposal:
    """Main goes back to where the branch began, and the job to what the rehearsal's stop left there; where that is not
    proven to pair, to another point that is, or to none. People are sent to the stop's savepoint by hand only where
    storage does not show it now."""
    case = main_at(plan.case, to, stood.run)
    on = goes_on(plan, case)
    if on.point is not None:
        return rewound(plan, action, to, on.point.model_copy(update={"is_right": False}), live, title=title)
    is_hidden = may_yet_be_found(case, stood.run, stood.savepoint)
    unstarted = _by_hand(case, stood) if is_hidden else " ".join(on.stays_down)
    return rewound(plan, action, to, None, live, title=title, unstarted=unstarted)


def _known(did: AppliedEffects, table: TableState) -> frozenset[SnapshotId]:
    """The commits that it brought to main itself, such as those of a repair: they are what is undone."""
    if did.brings is not None and did.brings_of is not None:
        return frozenset(s.snapshot_id for s in table.chain if _is_owed(s, did.brings_of, did.brings))
    if did.moved_to is None or did.moved_from is None:
        return frozenset()
    below = {s.snapshot_id for s in table.ancestors(did.moved_from)}
    return frozenset(s.snapshot_id for s in table.ancestors(did.moved_to) if s.snapshot_id not in below)


def _is_owed(snapshot: Snapshot, run: JobId, start: StartJob) -> bool:
    """Whether it is what the restore point held: its sink commits that under the id of the run that wrote the point,
    in one commit or in one a checkpoint."""
    reached = snapshot.checkpoint_id
    return snapshot.job_id == run and reached is not None and reached <= start.checkpoint_id


def _state_of(plan: Plan, did: AppliedEffects, run: JobId, at: SnapshotId) -> RestorePoint:
    """The newest durable state that pairs with the table as it was at `at`, in most cases the stopped run's. Raises
    Refused, CouldNotLook."""
    case = main_at(plan.case, at, run)
    ranking = going_on(case)
    if ranking.best is not None:
        return ranking.best.model_copy(update={"is_right": False})
    raise _impossible(
        did,
        f"Expected a savepoint of run {short_job(run)} that pairs with {newest_by_flink(case)}; found "
        f"{ranking.in_words(3)}.",
        "Without it the job would lose or duplicate rows. Diagnose again, and propose what fits the present state.",
    )


def _impossible(did: AppliedEffects, found: str, do: str) -> Refused:
    return Refused(f"“{did.title}” cannot be undone.", found, do)


ACTION = Action(
    name="undo_proposal",
    title="Undo",
    promise="Table and job are as they were before the undone proposal. The fault that it fixed is back as well.",
    needs=(),
    proofs=(),
    on_request=True,
    moves_waterline="under-review",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused when it cannot be undone, with the reason; CouldNotLook when Flink was not seen."""
    if plan.undoes is None:
        raise Refused("An undo needs a proposal to undo.", "None was named.", "Type /waterline undo in the channel.")
    return undone(plan, ACTION, plan.undoes)
