"""Change the sink's uid: how a uid is given stands in the job's own code or statement, so people do it, step by step.

The sink's old state asks for a Flink manifest that is gone, or holds a mark above which nothing is committed (facts F5,
F8). Under another uid the state is left behind, and with it what the restored checkpoint had not committed: that is
safe only if its files are live.

Why it is not carried out: which uid a state belongs to is part of the savepoint, and only Flink's State Processor API,
a Java program of the cluster's own version, writes that anew. And a start with another uid than is deployed would hold
until the next deployment, which brings the old uid back, and with it a sink without state. So the change belongs where
the job is declared; here is said what to change, and what is proven before.
"""

from bot.actions._draft import live_run
from bot.domain.action import Action, Plan
from bot.domain.errors import Refused
from bot.domain.findings import PairVerdict
from bot.domain.flink import JobRun
from bot.domain.ids import short_job
from bot.domain.proposal import Proposal

ACTION = Action(
    name="change_operator_uid",
    title="Change the sink's uid",
    promise="The job starts without the state of its old sink.",
    needs=("checkpoint_pairing", "missing_positions"),
    proofs=(),
)


def propose(plan: Plan) -> Proposal:
    """Always Refused, with what to do by hand; CouldNotLook when Flink was not seen."""
    live = live_run(plan)
    raise Refused(
        f"{_proof(plan)} The uid stands in the job's code or statement, so Waterline cannot change it.",
        _start(plan, live),
        "Two people do it together: freeze maintenance (`/waterline freeze`), stop the run, change the uid, start it, "
        "wait for two commits, run missing_positions and duplicate_rows again. Write each step into the thread.",
    )


def _proof(plan: Plan) -> str:
    gaps = plan.case.gaps
    if gaps is None or gaps.lowest is None:
        return "Whether the rows of the last checkpoint are in the table is not proven: no source position was counted."
    if gaps.missing:
        return f"{gaps.missing} source positions are missing: what the old state owed is lost unless it is replayed."
    highest = plan.case.contract.shown(plan.case.contract.position, gaps.highest)
    return f"No source position up to {highest} is missing at the head: the old state owes nothing up to there."


def _start(plan: Plan, live: JobRun | None) -> str:
    pairings = plan.case.pairing.pairings if plan.case.pairing else ()
    newest = next((p for p in pairings if p.verdict is not PairVerdict.UNREADABLE), None)
    stop = f"Cancel run {short_job(live.job_id)} (no stop-with-savepoint). " if live else ""
    path = f"from {newest.path} (checkpoint {newest.checkpoint_id})" if newest else "from the newest readable point"
    return (
        f"{stop}Start it {path} with allowNonRestoredState=true and another uid for the sink: in SQL "
        "`/*+ OPTIONS('uid-suffix'='NEW') */` behind the table's name in the INSERT (V2 sink), in code "
        'uidPrefix("NEW") (V1) or uidSuffix("NEW") (V2).'
    )
