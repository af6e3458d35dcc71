"""Resolve a fork: two runs write the table, and the one that should not is stopped.

Which one that is, people may say; else it is the one that the diagnosis takes for the fork. Only the stop is proposed,
for it is quick, and each commit of the fork makes the rest harder. Once it stands still, the diagnosis asks for its
rows to be taken back: by a rewind to before its first commit, or by key.
"""

from bot.actions._draft import drafted, job_and_head, living, state_at_risk, stop_sentences, untouched
from bot.domain.action import Action, Plan
from bot.domain.effects import StopFork
from bot.domain.errors import Refused
from bot.domain.flink import JobRun
from bot.domain.ids import short_job
from bot.domain.proposal import Proposal
from bot.domain.requirements import RunsAlive, TableIs

ACTION = Action(
    name="resolve_fork",
    title="Resolve the fork",
    promise="One run writes the table; the rows of the other are taken back by the proposal that follows.",
    needs=("ledger",),
    is_destructive=True,
    keeps_a_run=True,
    proofs=(),
    moves_waterline="no",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused when it is not one of two living runs, CouldNotLook when Flink was not seen."""
    live = living(plan)
    job, _head = job_and_head(plan, ACTION)
    fork = _fork(plan, live)
    kept = [run for run in live if run is not fork]
    if fork is None or len(kept) != 1:
        alive = ", ".join(short_job(run.job_id) for run in live) or "none"
        raise Refused(
            "Which run is to be stopped is not clear.",
            f"Expected {_expected(plan)}; found {alive}.",
            "Where two are alive, name the one that stays: propose resolve_fork keep=RUN. Where fewer are, diagnose "
            "again: a fork that stands still has left rows. Of more, stop those by hand that Waterline does not see as "
            "one of the two.",
        )
    keep = kept[0]
    one, other = short_job(fork.job_id), short_job(keep.job_id)
    chosen = keep.job_id == plan.case.keeps or bool(plan.keeps)
    sentences = (
        *stop_sentences(fork),
        f"Leave run {other} alone: {'people chose it' if chosen else 'by the diagnosis it came first'}, and it keeps "
        f"the table. If run {one} is the one to keep, say so: propose resolve_fork keep={one}.",
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
        preview=untouched(
            sentences,
            sure=f"Run {one} is stopped, run {other} goes on. No row leaves the table yet." + state_at_risk(fork),
        ),
        undo=f"It cannot be undone here: Waterline starts no second writer. Start run {one} by hand from the state "
        "that its stop has left, if it has to be.",
    )


def _fork(plan: Plan, live: tuple[JobRun, ...]) -> JobRun | None:
    """The run that is to end: the other one than people chose, now or before, else the one that the diagnosis names."""
    chosen = plan.keeps or plan.case.keeps
    stays = [run for run in live if chosen and run.job_id.startswith(chosen)]
    if len(stays) == 1:
        return next((run for run in live if run is not stays[0]), None)
    return None if plan.keeps else next((run for run in live if run.job_id == plan.match.wrong_run), None)


def _expected(plan: Plan) -> str:
    if plan.keeps:
        return f"run {plan.keeps} and one other run alive"
    return f"the fork {short_job(plan.match.wrong_run)} and one other run alive"
