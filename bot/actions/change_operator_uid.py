"""Change the sink's uid, so that the job starts without the state of its old sink.

That state asks for a Flink manifest that is gone, or holds a mark above which nothing is committed (facts F5, F8). What
the restored checkpoint had not committed is left behind with it: so it is proven before that the newest commit by Flink
on main is that very checkpoint. Where that commit was expired, older metadata files tell of it.

Carried out where the job's start is declared with `{uid_suffix}`; every later start from state of that run has the same
suffix. Else people do it, step by step: how a uid is given then stands in the job's own code or statement.

From no restore point above which the job has committed people are told to start it: nothing then passes over what main
has.
"""

from bot.actions._draft import live_run, may_lose_state
from bot.actions._recipes import started_on_head
from bot.actions._restore_points import pair_with_head
from bot.domain.action import Action, Plan
from bot.domain.diagnosis import Case
from bot.domain.effects import StartJob
from bot.domain.errors import Refused
from bot.domain.findings import Pairing, PairingFinding, PairVerdict
from bot.domain.flink import V2_AGGREGATOR, JobRun, StoredCheckpoint
from bot.domain.highest_position import highest_position
from bot.domain.ids import DRAINED, short, short_job
from bot.domain.pending_manifests import owed_to
from bot.domain.proposal import Proposal
from bot.domain.rewinds import flink_commits
from bot.history.prediction import RestoreVerdict, predict
from bot.history.ranking import for_rewind
from bot.history.restore import RestorePoint, Restores, pairings

HOW = (
    "in SQL `/*+ OPTIONS('uid-suffix'='NEW') */` after the table's name in the INSERT (only the V2 sink takes it), "
    'in code uidPrefix("NEW") (V1, dynamic) or uidSuffix("NEW") (V2)'
)
_WITHOUT = "with allowNonRestoredState=true and"
_ANOTHER = f"another uid for the sink: {HOW}."
_SURELY_ITS_OWN = (
    "the newest readable point that certainly belongs to the job and after which the job has committed nothing"
)
_AND_SHARED = "and what it references under `shared`"
_TOGETHER = (
    "Do it with a second person: freeze maintenance (`/waterline freeze`), stop the run, change the uid, and start "
    "the job. Wait for two commits, then run missing_positions and duplicate_rows again. Write each step into the "
    "thread."
)


def _by_hand(plan: Plan, case: Case, live: JobRun | None, why: str) -> Refused:
    """`case`: as `remembered` tells it. `why`: a sentence."""
    restores = Restores(case)
    stop = f"Cancel run {short_job(live.job_id)} (no stop-with-savepoint)" if live else ""

    def told(what: str, first: str = "") -> Refused:
        return Refused(f"{_proof(plan)} {why}", f"{first}{f'{stop}. ' if stop else ''}{what}", _TOGETHER)

    stored = {each.path: each for each in restores.newest_first}
    none = {PairVerdict.FOREIGN, PairVerdict.UNREADABLE}
    read = [(stored[p.path], p) for p in restores.in_evidence if p.path in stored and p.verdict not in none]
    is_of_others = bool(restores.binding) and restores.guests.has_run(restores.binding[-1].job_id)
    if restores.guests.is_untold or is_of_others or not read or not restores.binding:
        copy = f"First copy away {_SURELY_ITS_OWN}, {_AND_SHARED}. " if live and may_lose_state(live) else ""
        which = "Waterline cannot tell which point that is"
        if is_of_others:
            which += f": run {short_job(restores.binding[-1].job_id)} committed last. Ask its owners what it reads"
        return told(f"Start the job from {_SURELY_ITS_OWN}, {_WITHOUT} {_ANOTHER} {which}.", copy)
    fits = [(each, p) for each, p in read if _repeats_nothing(restores, each, p)]
    if fits:
        point, pair = min(fits, key=lambda each: not each[1].is_durable)
        again = (
            "If that run has committed anything more by then, start nothing and propose this again. " if live else ""
        )
        start = f"{again}Start the job from {point.path} (checkpoint {point.checkpoint_id}) {_WITHOUT} {_ANOTHER}"
        start += _lost(case, point)
        if pair.is_durable or (live is not None and live.job_id == point.job_id and not may_lose_state(live)):
            return told(start)
        copy = f"First copy away {point.path}, {_AND_SHARED}: Flink may delete them. "
        then = f"{stop} only then, and copy" if stop else "Copy"
        return Refused(f"{_proof(plan)} {why}", f"{copy}{then} back what is gone by then. {start}", _TOGETHER)
    repeats = next((p for each, p in read if predict(each, restores).repeated is not None), None)
    why_not = f"{read[0][0].path} is not proven to continue where main ends. {read[0][1].reason.rstrip('.')}"
    if repeats is not None:
        why_not = f"rows after checkpoint {repeats.checkpoint_id} would be duplicated"
    none_fits = f"Start the job from none of the points on storage: {why_not}."
    last_good = plan.match.last_good
    rewind = for_rewind(plan.case, last_good).best if last_good is not None else None
    if rewind is None:
        return told(f"{none_fits} {_without_state(case)}")
    return Refused(
        f"{_proof(plan)} {why}",
        f"{none_fits} Instead, rewind table and job to checkpoint {rewind.checkpoint_id}, which pairs with snapshot "
        f"{short(rewind.snapshot_id)}. The job then reads those rows again, and its sink keeps its uid.",
        "Propose that: `/waterline propose rewind_table_and_job`. Start nothing by hand until it is done.",
    )


def _repeats_nothing(restores: Restores, stored: StoredCheckpoint, pair: Pairing) -> bool:
    """Whether a start from there without the sink's state neither repeats nor passes over what main has: what that
    state owes, or takes for committed, does not matter then."""
    found = predict(stored, restores)
    if found.repeated is not None or found.lost is not None:
        return False
    if stored.is_drained:
        newest = restores.binding[-1]
        reached = newest.checkpoint_id or 0
        return newest.job_id == stored.job_id and (reached == DRAINED or reached <= (stored.checkpoint_id or 0))
    is_at_end = pair.verdict is PairVerdict.AHEAD and restores.ends_with(stored.job_id)
    return is_at_end or found.verdict is RestoreVerdict.RIGHT


def _without_state(case: Case) -> str:
    highest = highest_position(case)
    if highest is not None:
        after = f"position {highest}, the highest on the table"
    else:
        after = "the newest position that the table has of each of its partitions"
    return (
        f"Instead, start it without any state, with its source set after {after}, and with {_ANOTHER} All other "
        "state, such as open windows, starts empty."
    )


def _lost(case: Case, point: StoredCheckpoint) -> str:
    """What is left behind with its state, a sentence; nothing where that owes nothing that is not on the table."""
    if point.is_drained:
        return " It was drained: open windows and timers have fired early, and start again empty."
    table = case.observation.table
    owed = owed_to(table, point)
    commits = flink_commits(table)
    is_on_main = any(each.job_id == point.job_id and each.checkpoint_id == point.checkpoint_id for each in commits)
    if not owed or is_on_main:
        return ""
    count = "1 Flink manifest" if len(owed) == 1 else f"{len(owed)} Flink manifests"
    return (
        f" Its state still lists {count} ({owed[0]}{', …' if len(owed) > 1 else ''}), which this start drops. Their "
        "rows that are not in the table are lost unless their files are appended afterwards (leaked_manifests)."
    )


def remembered(plan: Plan) -> Case:
    """The case with what main no longer lists put back below it, and every restore point paired with that.

    The case as it is where main lists a commit by Flink, or where no older metadata file tells of one: what was expired
    below a listed commit decides nothing. Raises CouldNotLook.
    """
    case, observed = plan.case, plan.case.observation
    expired = () if flink_commits(observed.table) else plan.expired(observed.table)
    if not expired:
        return case
    table = observed.table.below(expired)
    told = pairings(observed.checkpoints.values, table, observed.jobs)
    return case.model_copy(
        update={"observation": observed.model_copy(update={"table": table}), "pairing": PairingFinding(pairings=told)}
    )


ACTION = Action(
    name="change_operator_uid",
    title="Change the sink's uid",
    promise="The job starts without the state of its old sink.",
    needs=("checkpoint_pairing", "missing_positions"),
    looks=("checkpoint_pairing", "missing_positions"),
    proofs=(("duplicate_rows", "No duplicate rows"), ("missing_positions", "No missing rows")),
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused, with what to do by hand, where no suffix is declared or would do nothing, or nothing is proven;
    CouldNotLook when Flink was not seen or storage cannot be asked."""
    live = live_run(plan)
    case = remembered(plan)
    why = _impossible(plan)
    if why is not None:
        raise _by_hand(plan, case, live, why)
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
        f"{_proof(plan)} {_where(plan, point)} The start drops the state of the old sink (allowNonRestoredState).",
        *preview.sentences,
        f"The sink runs under the uid suffix {suffix}, also at each later start by Waterline from this run's state. "
        "Set it in the job's `start` and in your own deployment as well.",
        "Verify: the job commits under another operator id, and its source continued from the state of the restore "
        "point.",
    )
    return proposal.model_copy(
        update={"effects": (*before, other), "preview": preview.model_copy(update={"sentences": sentences})}
    )


def _impossible(plan: Plan) -> str | None:
    """Why Waterline cannot change it, a sentence; None where it can."""
    if not plan.renames_sink:
        return "The job's `start` declares no `{uid_suffix}`, so Waterline cannot change the uid."
    graph = next((run for run in plan.case.observation.jobs.values if run.vertices), None)
    if plan.is_sql and graph is not None and not _is_v2(graph):
        return (
            "In SQL only Iceberg's V2 sink takes a uid (uid-suffix), and this job has another sink, so nothing "
            "would change."
        )
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
        why = f"It is not proven that the old state has nothing left to commit: {unpaired.found}"
        raise _by_hand(plan, case, live, f"{why} So Waterline does not change the uid.") from unpaired


def _is_expired(plan: Plan, point: RestorePoint) -> bool:
    return point.snapshot_id not in plan.case.observation.table.by_id


def _where(plan: Plan, point: RestorePoint) -> str:
    if not _is_expired(plan, point):
        return ""
    return (
        f"Checkpoint {point.checkpoint_id} was committed as {short(point.snapshot_id)}, which has expired since. An "
        "older metadata file still lists it, below the head."
    )


def _proof(plan: Plan) -> str:
    gaps = plan.case.gaps
    if gaps is None or not gaps.has_positions:
        return "It is not proven that the table has the rows of the last checkpoint: no source position was counted."
    if gaps.is_untold:
        return (
            f"It is not known whether rows of {gaps.missing} source positions are missing: the old state may "
            "still have to commit them."
        )
    if gaps.missing:
        return (
            f"{gaps.missing} source positions are missing: what the old state still had to commit is lost unless "
            "it is replayed."
        )
    highest = plan.case.contract.shown(plan.case.contract.position, gaps.highest)
    return (
        f"No source position up to {highest} is missing at the head: the old state has nothing left to commit up "
        "to there."
    )
