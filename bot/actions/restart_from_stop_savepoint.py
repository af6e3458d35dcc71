"""Restart the job from its own stop: the one way to take up a new schema or setting that loses and repeats nothing."""

from bot.actions._support.draft import live_run
from bot.actions._support.recipes import restarted
from bot.incident.action import Action, Plan
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.ids import short_job

ACTION = Action(
    name="restart_from_stop_savepoint",
    title="Restart from a stop-savepoint",
    promise="The job continues from its last state with the present schema. No row is lost or duplicated.",
    needs=("ledger",),
    proofs=(("duplicate_rows", "No duplicate rows"), ("missing_positions", "No missing rows")),
    on_request=True,
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """A run that has committed nothing has read nothing that main lacks: the job starts from what pairs with the head.

    Raises Refused when no run, several, or one that is not settled is alive; CouldNotLook when Flink was not seen."""
    live = live_run(plan)
    if live is None or not live.is_settled:
        found = f"run {short_job(live.job_id)} in state {live.state}" if live else "none"
        raise Refused(
            "No run can take a savepoint now.",
            f"Expected one run with every operator running; found {found}.",
            "Wait until it runs, or restore the job from a point that pairs with the head.",
        )
    return restarted(plan, ACTION, live, first=_ready(plan))


def _ready(plan: Plan) -> tuple[str, ...]:
    """Flink checks a statement against the table's schema at its start, and by then the old run has ended."""
    drift = plan.case.schema_drift
    columns = dict.fromkeys((*drift.all_null, *drift.not_in_state)) if drift is not None else {}
    if not columns:
        return ()
    return (
        f"Before you approve: make sure that what starts the job fills {', '.join(columns)}. Flink refuses a "
        "statement that does not fit the table's schema, and the job then stays stopped until it is corrected.",
    )
