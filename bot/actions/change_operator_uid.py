"""Change the sink's uid, so that the job starts without the state of its old sink.

That state asks for a Flink manifest that is gone, or holds a mark above which nothing is committed (facts F5, F8). What
the restored checkpoint had not committed is left behind with it: so it is proven before that the newest commit by Flink
on main is that very checkpoint. Where that commit was expired, older metadata files tell of it.

Carried out where the job's start is declared with `{uid_suffix}`; every later start from state of that run has the same
suffix. Else people do it, step by step: how a uid is given then stands in the job's own code or statement.

What a real Flink does, by sink and by restore point, stands in docs/catalogs-and-operator.md.
"""

from bot.actions._draft import live_run
from bot.actions._expired import remembered
from bot.actions._restarting import started_on_head
from bot.actions._restore_points import RestorePoint, pair_with_head
from bot.actions._uid_by_hand import by_hand
from bot.domain.action import Action, Plan
from bot.domain.diagnosis import Case
from bot.domain.effects import StartJob
from bot.domain.errors import Refused
from bot.domain.flink import V2_AGGREGATOR, JobRun
from bot.domain.ids import short
from bot.domain.proposal import Proposal
from bot.domain.rewinds import flink_commits

ACTION = Action(
    name="change_operator_uid",
    title="Change the sink's uid",
    promise="The job starts without the state of its old sink.",
    needs=("checkpoint_pairing", "missing_positions"),
    looks=("checkpoint_pairing", "missing_positions"),
    proofs=(("duplicate_rows", "No row is there twice"), ("missing_positions", "No row is missing")),
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused, with what to do by hand, where no suffix is declared or would do nothing, or nothing is proven;
    CouldNotLook when Flink was not seen or storage cannot be asked."""
    live = live_run(plan)
    case = remembered(plan)
    why = _impossible(plan)
    if why is not None:
        raise by_hand(plan, case, live, _proof(plan), why)
    point = _committed(plan, case, live)
    head = plan.case.observation.table.head
    assert head is not None
    suffix = f"{plan.incident}-{plan.proposal[-4:].lower()}"
    listed = point.model_copy(update={"snapshot_id": head}) if _is_expired(plan, point) else point
    proposal = started_on_head(plan, ACTION, listed, live)
    *before, start = proposal.effects
    assert isinstance(start, StartJob)
    left = flink_commits(case.observation.table)[-1].operator_id
    other = start.model_copy(update={"allow_non_restored": True, "uid_suffix": suffix, "leaves_operator": left})
    preview = proposal.preview
    sentences = (
        f"{_proof(plan)} {_where(plan, point)} What the old sink's state holds is left behind (allowNonRestoredState).",
        *preview.sentences,
        f"The sink runs under the uid suffix {suffix}, from now on at each start by Waterline from this run's state. "
        "Set it in the job's `start` and in your own deployment, too.",
        "Verify: it commits under another operator id, and its source went on from the state of the restore point.",
    )
    return proposal.model_copy(
        update={"effects": (*before, other), "preview": preview.model_copy(update={"sentences": sentences})}
    )


def _impossible(plan: Plan) -> str | None:
    """Why Waterline cannot change it, a sentence; None where it can."""
    if not plan.renames_sink:
        return "No `{uid_suffix}` is declared in the job's `start`, so Waterline cannot change it."
    graph = next((run for run in plan.case.observation.jobs.values if run.vertices), None)
    if plan.is_sql and graph is not None and not _is_v2(graph):
        return "In SQL only Iceberg's V2 sink takes a uid (uid-suffix), and this job has another: nothing would change."
    gaps = plan.case.gaps
    if gaps is None or not gaps.has_positions or gaps.missing:
        return "So Waterline does not change the uid."
    return None


def _is_v2(run: JobRun) -> bool:
    return any(V2_AGGREGATOR in vertex.name for vertex in run.vertices)


def _committed(plan: Plan, case: Case, live: JobRun | None) -> RestorePoint:
    """The restore point whose checkpoint is the newest commit by Flink on main, expired or not."""
    try:
        return pair_with_head(case, live)
    except Refused as unpaired:
        why = f"That the old state owes nothing is not proven: {unpaired.found}"
        raise by_hand(plan, case, live, _proof(plan), f"{why} So Waterline does not change the uid.") from unpaired


def _is_expired(plan: Plan, point: RestorePoint) -> bool:
    return point.snapshot_id not in plan.case.observation.table.by_id


def _where(plan: Plan, point: RestorePoint) -> str:
    if not _is_expired(plan, point):
        return ""
    return (
        f"Checkpoint {point.checkpoint_id} was committed as {short(point.snapshot_id)}, which was expired since: an "
        "older metadata file still has it, below the head."
    )


def _proof(plan: Plan) -> str:
    gaps = plan.case.gaps
    if gaps is None or not gaps.has_positions:
        return "Whether the rows of the last checkpoint are in the table is not proven: no source position was counted."
    if gaps.is_untold:
        return f"Whether rows of {gaps.missing} source positions are missing is not known: the old state may owe them."
    if gaps.missing:
        return f"{gaps.missing} source positions are missing: what the old state owed is lost unless it is replayed."
    highest = plan.case.contract.shown(plan.case.contract.position, gaps.highest)
    return f"No source position up to {highest} is missing at the head: the old state owes nothing up to there."
