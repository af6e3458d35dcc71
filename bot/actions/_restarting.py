"""Two recipes that leave the table as it is: start from a point that pairs with it, or from what the stop leaves."""

from bot.actions._draft import NOTHING_STOPPED, alone, drafted, job_and_head, state_at_risk, stop_sentences, untouched
from bot.actions._restore_points import nearer_unread, passed_over, stands_on
from bot.domain.action import Action, Plan
from bot.domain.effects import Effect, Owed, StartFromStop, StartJob, StopJob
from bot.domain.flink import JobRun
from bot.domain.ids import SnapshotId, short, short_job
from bot.domain.paths import may_be_same
from bot.domain.proposal import Proposal
from bot.domain.requirements import HeadDescends, Requirement, RestorePointIntact, SnapshotPresent, TableIs
from bot.domain.restore_points import RestorePoint


def may_go(live: JobRun | None, path: str) -> str | None:
    """`path`, where the stop of `live` may delete it; None where it does not."""
    return path if live is not None and live.may_own(path) else None


def said_of(live: JobRun | None, path: str) -> tuple[str, ...]:
    """Of a preview: what the approvers look up, and what happens if the point is gone. Empty where it cannot go."""
    if live is None or may_go(live, path) is None:
        return ()
    return (
        f"Before you approve: run {short_job(live.job_id)} may own {path}. Was it restored in CLAIM mode "
        "(execution.state-recovery.claim-mode)? Flink does not show that. In CLAIM mode, Flink deletes that "
        "restore point when the run ends. Then first copy the savepoint's folder next to it, under a name that "
        "begins with savepoint-. Collect evidence again and propose from the copy. If the restore point is gone "
        "after the stop, the proposal ends there: main is not moved and no run is started.",
    )


ENDED_BY = (
    "Any commit before the start ends this proposal, except compactions and commits of other Flink jobs that wrote "
    "concurrently."
)

_OFF_TOO = (
    " This also removes the pending files that the start committed, and no later start from this point commits "
    "them again. The job then starts from a point that pairs with main, and reads these rows again."
)


def started_on_head(plan: Plan, action: Action, point: RestorePoint, live: JobRun | None) -> Proposal:
    """Stop `live` if there is one, then start from `point`, which pairs with the head, or owes it files that the sink
    commits first. A run that commits until it stands still supersedes it: the point would no longer fit. A compaction
    or a guest's commit does not. Raises Refused where no job is configured."""
    table = plan.case.observation.table
    job, head = job_and_head(plan, action)
    keeps, owned = point.goes_with_savepoint, None if point.goes_with_savepoint else may_go(live, point.path)
    stop = [StopJob(job=job, job_id=live.job_id, keeps_checkpoints=keeps, may_delete=owned)] if live else []
    effects: list[Effect] = [*stop]
    effects.append(
        StartJob(
            job=job,
            path=point.path,
            checkpoint_id=point.checkpoint_id,
            on_top_of=head if point.owes is None else None,
            owes=None if point.owes is None else Owed(checkpoint_id=point.owes, head=head),
        )
    )
    requirements: list[Requirement] = [
        TableIs(uuid=table.uuid),
        alone(job, live),
        kept_for_start(plan, job, head, point),
        SnapshotPresent(snapshot_id=point.snapshot_id),
        RestorePointIntact(job=job, path=point.path, checkpoint_id=point.checkpoint_id, digest=point.digest),
    ]
    sentences = (
        *(said_of(live, owned) if owned is not None else ()),
        *nearer_unread(plan.case, point),
        *passed_over(plan.case, point),
        *(stop_sentences(live, keeps_checkpoints=keeps) if live else [NOTHING_STOPPED]),
        f"Leave the table as it is, with head {short(head)}. {ENDED_BY}",
        f"Start the job from checkpoint {point.checkpoint_id} at {point.path}, under a new job id. " + _fits(point),
        f"Verify: {_next_commit(point, head)}no duplicate rows, no missing rows.",
    )
    return drafted(
        plan,
        action,
        title=f"{action.title}: from checkpoint {point.checkpoint_id}",
        effects=effects,
        requirements=requirements,
        preview=untouched(
            sentences,
            sure=f"The job restarts from checkpoint {point.checkpoint_id}; the table does not change."
            + ("" if keeps else state_at_risk(live)),
            replayed_from=point.checkpoint_id,
        ),
        undo=_undo(live, keeps_checkpoints=keeps) + (_OFF_TOO if point.owes is not None else ""),
    )


def kept_for_start(plan: Plan, job: str, head: SnapshotId, point: RestorePoint) -> HeadDescends:
    """That nobody commits on `head` before the start from `point` but those whose commits do not matter to it."""
    stored = plan.case.observation.checkpoints.values
    wrote = next((each.job_id for each in stored if may_be_same(each.path, point.path)), None)
    return HeadDescends(head=head, job_id=None, starts=job if wrote else None, goes_on_from=wrote)


def _fits(point: RestorePoint) -> str:
    if point.owes is not None:
        return (
            "It holds files that were never committed to the table. All of them are on storage, and the sink "
            "commits them first."
        )
    return f"It pairs with {short(point.snapshot_id)}: the source continues where the table ends."


def _next_commit(point: RestorePoint, head: SnapshotId) -> str:
    if point.owes is not None:
        return (
            f"the pending files are committed after {short(head)}, the job continues after checkpoint "
            f"{point.checkpoint_id}, "
        )
    return f"the next commit is of a later checkpoint than {point.checkpoint_id}, on top of {short(head)}, "


def started_from_stop(plan: Plan, action: Action, live: JobRun, *, first: tuple[str, ...] = ()) -> Proposal:
    """Stop `live`, prove that what it leaves pairs with the head, start from there. `first`: what an approver must know
    before. Raises Refused where no job is configured, and where a run that has committed nothing would leave what pairs
    with nothing; CouldNotLook."""
    table = plan.case.observation.table
    job, head = job_and_head(plan, action)
    run, on = short_job(live.job_id), stands_on(plan.case, live)
    silent = (
        (f"The table lists no commit of run {run}; it started from a point that pairs with {short(on)}.",) if on else ()
    )
    sentences = (
        *first,
        *silent,
        *stop_sentences(live, needs_state=True),
        f"Its last commit stays on main of {table.name}; nothing is removed.",
        f"Find the newest state that run {run} left, and prove that it pairs with the head. If none does, nothing "
        "is started and the proposal ends as refused.",
        "Start the job from that state, under a new job id.",
        "Verify: the next commit is of a later checkpoint, on top of the head, no duplicate rows, no missing rows.",
    )
    return drafted(
        plan,
        action,
        title=f"{action.title}: run {run}",
        effects=(
            StopJob(job=job, job_id=live.job_id, needs_state=True),
            StartFromStop(job=job, job_id=live.job_id, stands_on=on),
        ),
        requirements=(
            TableIs(uuid=table.uuid),
            alone(job, live),
            HeadDescends(head=head, job_id=live.job_id, starts=job),
        ),
        preview=untouched(
            sentences, sure=f"Run {run} is stopped, and the job restarts from its last state. No rows are removed."
        ),
        undo=_undo(live),
    )


def _undo(live: JobRun | None, *, keeps_checkpoints: bool = False) -> str:
    takes_off = "`/waterline undo` stops the new run and removes what it committed from main."
    if live is None:
        return f"{takes_off} It starts no run, because none was alive."
    left = "if its stop left a savepoint that matches the table"
    if keeps_checkpoints:
        left = "if storage still has its newest retained checkpoint"
    return (
        f"{takes_off} It starts the job from the state of run {short_job(live.job_id)} {left}. The job then reads "
        "those rows again."
    )
