"""Two recipes that leave the table as it is: start from a point that pairs with it, or from what the stop leaves.

A restore point that the run which is to be stopped may own: Flink deletes with a run what it had claimed.
"""

from bot.actions._draft import NOTHING_STOPPED, alone, drafted, job_and_head, state_at_risk, stop_sentences, untouched
from bot.actions._idle import stands_on
from bot.actions._restore_points import RestorePoint, nearer_unread
from bot.domain.action import Action, Plan
from bot.domain.effects import Effect, Owed, StartFromStop, StartJob, StopJob
from bot.domain.flink import JobRun
from bot.domain.ids import SnapshotId, short, short_job
from bot.domain.paths import may_be_same
from bot.domain.proposal import Proposal
from bot.domain.requirements import HeadDescends, Requirement, RestorePointIntact, SnapshotPresent, TableIs


def may_go(live: JobRun | None, path: str) -> str | None:
    """`path`, where the stop of `live` may delete it; None where it does not."""
    return path if live is not None and live.may_own(path) else None


def said_of(live: JobRun | None, path: str) -> tuple[str, ...]:
    """Of a preview: what the approvers look up, and what happens if the point is gone. Empty where it cannot go."""
    if live is None or may_go(live, path) is None:
        return ()
    return (
        f"Before you approve: run {short_job(live.job_id)} may own {path}. If it was restored in CLAIM mode "
        "(execution.state-recovery.claim-mode; Flink does not tell), Flink deletes what it was restored from when it "
        "ends: then copy the savepoint's folder beside it first, under a name that begins with savepoint-, collect "
        "evidence again, and propose from the copy. "
        "Should it be gone after the stop, nothing that follows is done: main is not moved and no run is started.",
    )


ENDED_BY = (
    "Anything that is committed before the start ends this proposal, but for compactions and for other Flink jobs that "
    "wrote beside this one."
)

_OFF_TOO = (
    " What was owed is taken off with it, and no start from this point brings it again: its Flink manifests go with "
    "their commit. The job is started then from a point that pairs with main, and reads these rows again."
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
        *(stop_sentences(live, keeps_checkpoints=keeps) if live else [NOTHING_STOPPED]),
        f"Leave the table as it is, with head {short(head)}. {ENDED_BY}",
        f"Start the job from checkpoint {point.checkpoint_id} at {point.path}, under a new job id. " + _fits(point),
        f"Verify: {_next_commit(point, head)}no row is there twice, no row is missing.",
    )
    return drafted(
        plan,
        action,
        title=f"{action.title}: from checkpoint {point.checkpoint_id}",
        effects=effects,
        requirements=requirements,
        preview=untouched(
            sentences,
            sure=f"The job restarts from checkpoint {point.checkpoint_id}; the table is not changed."
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
            "It holds files that never reached the table; all of them are on storage, and the sink commits them first."
        )
    return f"It pairs with {short(point.snapshot_id)}: the source goes on where the table ends."


def _next_commit(point: RestorePoint, head: SnapshotId) -> str:
    if point.owes is not None:
        return (
            f"what is owed is committed after {short(head)}, the job goes on after checkpoint {point.checkpoint_id}, "
        )
    return f"the next commit comes after checkpoint {point.checkpoint_id}, on top of {short(head)}, "


def started_from_stop(plan: Plan, action: Action, live: JobRun, *, first: tuple[str, ...] = ()) -> Proposal:
    """Stop `live`, prove that what it leaves pairs with the head, start from there. `first`: what an approver must know
    before. Raises Refused where no job is configured, and where a run that has committed nothing would leave what pairs
    with nothing; CouldNotLook."""
    table = plan.case.observation.table
    job, head = job_and_head(plan, action)
    run, on = short_job(live.job_id), stands_on(plan.case, live)
    silent = (f"The table lists no commit of run {run}; what it began from pairs with {short(on)}.",) if on else ()
    sentences = (
        *first,
        *silent,
        *stop_sentences(live, needs_state=True),
        f"What it commits as its last act stays on main of {table.name}; nothing is taken off.",
        f"Look for the newest state that run {run} has left, and prove that it pairs with the head. If none does, "
        "nothing is started and the proposal ends as refused.",
        "Start the job from there, under a new job id.",
        "Verify: the next commit comes after that state, on top of the head, no row is there twice, no row is missing.",
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
        preview=untouched(sentences, sure=f"Run {run} is stopped and goes on from its own last state; no row leaves."),
        undo=_undo(live),
    )


def _undo(live: JobRun | None, *, keeps_checkpoints: bool = False) -> str:
    takes_off = "`/waterline undo` stops the new run, takes what it committed off main again"
    if live is None:
        return f"{takes_off}, and starts none, as none was alive."
    left = "if its stop could take a savepoint that pairs"
    if keeps_checkpoints:
        left = "which is its newest retained checkpoint, while storage has it"
    return (
        f"{takes_off}, and starts the job from the state of run {short_job(live.job_id)}, {left}. Its rows are then "
        "read again."
    )
