"""Change the sink's uid, so that the job starts without the state of its old sink.

That state asks for a Flink manifest that is gone, or holds a mark above which nothing is committed (facts F5, F8). What
the restored checkpoint had not committed is left behind with it: so it is proven before that it owes nothing, by the
head, which is that very checkpoint, or by a committer without anything pending.

Carried out where the job's start is declared with `{uid_suffix}`; every later start from state of that run has the same
suffix. Else people do it, step by step: how a uid is given then stands in the job's own code or statement.
"""

from bot.actions._draft import live_run
from bot.actions._restarting import started_on_head
from bot.actions._restore_points import RestorePoint, pair_with_head
from bot.domain.action import Action, Plan
from bot.domain.errors import Refused
from bot.domain.findings import PairVerdict
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.ids import short_job
from bot.domain.proposal import Proposal

ACTION = Action(
    name="change_operator_uid",
    title="Change the sink's uid",
    promise="The job starts without the state of its old sink.",
    needs=("checkpoint_pairing", "missing_positions"),
    proofs=(("duplicate_rows", "No row is there twice"), ("missing_positions", "No row is missing")),
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused, with what to do by hand, where no suffix is declared or nothing is proven; CouldNotLook when
    Flink was not seen."""
    live = live_run(plan)
    if not plan.renames_sink:
        raise _by_hand(plan, live, "No `{uid_suffix}` is declared in the job's `start`, so Waterline cannot change it.")
    gaps = plan.case.gaps
    if gaps is None or gaps.lowest is None or gaps.missing:
        raise _by_hand(plan, live, "So Waterline does not change the uid.")
    point = _owes_nothing(plan, live)
    suffix = f"{plan.incident}-{plan.proposal[-4:].lower()}"
    proposal = started_on_head(plan, ACTION, point, live)
    *before, start = proposal.effects
    other = start.model_copy(update={"allow_non_restored": True, "uid_suffix": suffix})
    preview = proposal.preview
    sentences = (
        f"{_proof(plan)} What the old sink's state holds is left behind (allowNonRestoredState).",
        *preview.sentences,
        f"The sink runs under the uid suffix {suffix}, from now on at each start by Waterline from this run's state. "
        "Set it in the job's `start` and in your own deployment, too.",
        "Verify: it commits under another operator id.",
    )
    return proposal.model_copy(
        update={"effects": (*before, other), "preview": preview.model_copy(update={"sentences": sentences})}
    )


def _owes_nothing(plan: Plan, live: JobRun | None) -> RestorePoint:
    """The point that is the head itself, else the newest one, if its committer has nothing pending."""
    try:
        return pair_with_head(plan.case, live)
    except Refused as unpaired:
        head = plan.case.observation.table.head
        stored = max(plan.case.observation.checkpoints.values, key=lambda each: each.written_at, default=None)
        if head is None or stored is None or not _is_settled(stored, live):
            why = f"That the old state owes nothing is not proven: {unpaired.found}"
            raise _by_hand(plan, live, f"{why} So Waterline does not change the uid.") from unpaired
        assert stored.checkpoint_id is not None
        assert stored.digest is not None
        return RestorePoint(
            path=stored.path, checkpoint_id=stored.checkpoint_id, snapshot_id=head, digest=stored.digest
        )


def _is_settled(stored: StoredCheckpoint, live: JobRun | None) -> bool:
    """Whether it is whole, stays, and its committer's state was read and holds nothing that is to be committed."""
    is_whole = stored.problem is None and stored.checkpoint_id is not None and stored.digest is not None
    stays = live is None or stored.job_id != live.job_id
    return is_whole and stays and stored.is_committer_read and not stored.pending_manifests


def _by_hand(plan: Plan, live: JobRun | None, why: str) -> Refused:
    return Refused(
        f"{_proof(plan)} {why}",
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
