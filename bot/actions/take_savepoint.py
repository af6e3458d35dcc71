"""Take the authoritative savepoint: stop, prove that it pairs with the head, and keep that table state under a tag.

Only a stop-with-savepoint surely pairs, as it commits as its last act; an intermediate one commits nothing itself.
"""

from bot.actions._support.draft import drafted, job_and_head, live_run, stop_sentences, this_run
from bot.history.restore import lists_none_of
from bot.incident.action import Action, Plan
from bot.incident.effects import KeepSavepoint, StopJob
from bot.incident.proposal import HeadDescends, PlanCounts, Proposal
from bot.incident.savepoints import HOW_TO_PLAN, recorded_terms
from bot.observation.errors import Refused
from bot.observation.ids import short_job

ACTION = Action(
    name="take_savepoint",
    title="Take the savepoint",
    promise="One savepoint is proven to pair with the head, and a tag keeps its table state.",
    needs=("ledger",),
    proofs=(),
    on_request=True,
    moves_waterline="no",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused when no run, several, one that is not settled, or one that has committed nothing is alive, and
    when the plan's day has passed;
    CouldNotLook when Flink was not seen."""
    job, head = job_and_head(plan, ACTION)
    _must_end_later(plan)
    table, live = plan.case.observation.table, live_run(plan)
    if live is None or not live.is_settled:
        found = f"run {short_job(live.job_id)} in state {live.state}" if live else "none"
        raise Refused(
            "No savepoint can be taken now.",
            f"Expected one run with every operator running; found {found}.",
            "Wait until it runs. If it is already down, use its newest point that pairs with the head (`/waterline "
            "run checkpoint_pairing` lists them). A point that pairs with an older snapshot duplicates rows: for "
            "that, roll back table and job (`/waterline propose roll_back_table_and_restore_job`).",
        )
    if lists_none_of(live.job_id, table):
        raise Refused(
            "No savepoint can be taken now.",
            "Expected a commit of the run, with which its savepoint would pair; the table lists none of run "
            f"{short_job(live.job_id)}.",
            "Wait for its next commit, then propose again. The run was not stopped.",
        )
    tagged = f"{plan.at:%Y%m%d}-{plan.proposal[-4:].lower()}"
    return drafted(
        plan,
        ACTION,
        title=f"{ACTION.title}: stop run {short_job(live.job_id)}",
        effects=(
            StopJob(job=job, job_id=live.job_id, needs_state=True),
            KeepSavepoint(table=table.name, job=job, job_id=live.job_id, tagged=tagged, plan=plan.planned),
        ),
        requirements=(
            this_run(job, live),
            HeadDescends(head=head, job_id=live.job_id, starts=job),
            *((PlanCounts(until=plan.planned.until),) if plan.planned else ()),
        ),
        sentences=(
            *stop_sentences(live, needs_state=True),
            "Prove that the savepoint pairs with the head. If it does not, the proposal ends as refused; then "
            "start nothing from it.",
            f"Tag the snapshot as savepoint-<checkpoint>-{tagged}, so that it does not expire.",
            "Start nothing. People start the new code, from exactly this path.",
        ),
        recorded=recorded_terms(plan.planned, table, live.code_version, plan.case.contract.keep_snapshots),
        sure=f"Run {short_job(live.job_id)} is stopped and stays stopped; its savepoint is proven and kept.",
        undo="`/waterline undo` starts the job again from exactly this savepoint. The tag stays until its planned day.",
    )


def _must_end_later(plan: Plan) -> None:
    planned = plan.planned
    if planned is not None and planned.until <= plan.at:
        raise Refused(
            "The day of the planned savepoint has passed.",
            f"The plan ended at {planned.until:%Y-%m-%d %H:%M} UTC, so nobody would rely on this savepoint.",
            f"To plan it again, {HOW_TO_PLAN}.",
        )
