"""Resolve a fork: two runs write the table, and the one that should not is stopped.

Only the stop is proposed, for it is quick, and each commit of the fork makes the rest harder. Once it stands still, the
diagnosis asks for its rows to be taken back: by a rewind to before its first commit, or by key.
"""

from bot.actions._draft import drafted, how_it_is_stopped, job_and_head, living, untouched
from bot.domain.action import Action, Plan
from bot.domain.effects import StopFork
from bot.domain.errors import Refused
from bot.domain.ids import short_job
from bot.domain.proposal import Proposal
from bot.domain.requirements import RunsAlive, TableIs

ACTION = Action(
    name="resolve_fork",
    title="Resolve the fork",
    promise="One run writes the table; the rows of the other are taken back by the proposal that follows.",
    needs=("ledger",),
    is_destructive=True,
    proofs=(),
    moves_waterline="no",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused when it is not one of two living runs, CouldNotLook when Flink was not seen."""
    live = living(plan)
    job, _head = job_and_head(plan, ACTION)
    fork = next((run for run in live if run.job_id == plan.match.wrong_run), None)
    kept = [run for run in live if run is not fork]
    if fork is None or len(kept) != 1:
        alive = ", ".join(short_job(run.job_id) for run in live)
        raise Refused(
            "Which run is to be stopped is not clear.",
            f"Expected the fork {short_job(plan.match.wrong_run)} and one other run alive; found {alive}.",
            "Where two are alive, let the owners decide and stop one by hand. Then diagnose again: a fork that stands "
            "still has left rows.",
        )
    keep = kept[0]
    one, other = short_job(fork.job_id), short_job(keep.job_id)
    sentences = (
        f"{how_it_is_stopped(fork)} Its state stays on storage.",
        f"Leave run {other} alone: it came first and keeps the table. If the fork is the one to keep, reject this and "
        f"stop run {other} by hand.",
        f"The rows of run {one} stay in the table for now. When it stands still, diagnose again: the next proposal "
        "takes them back, by a rewind or by key.",
        f"Verify: only run {other} is alive.",
    )
    return drafted(
        plan,
        ACTION,
        title=f"Stop the fork: run {one}",
        effects=(StopFork(job=job, job_id=fork.job_id, keeps=keep.job_id),),
        requirements=(
            TableIs(uuid=plan.case.observation.table.uuid),
            RunsAlive(job=job, job_ids=(keep.job_id, fork.job_id)),
        ),
        preview=untouched(sentences, sure=f"Run {one} is stopped, run {other} goes on. No row leaves the table yet."),
        undo=f"It cannot be undone here: Waterline starts no second writer. Run {one} leaves its state; start it by "
        "hand from there if it has to be.",
    )
