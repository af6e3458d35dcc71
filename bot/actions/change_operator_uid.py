"""Change the sink's uid, so that the job starts without the state of its old sink: what people do, step by step.

That state asks for a Flink manifest that is gone, or holds a mark above which nothing is committed (facts F5, F8). What
the restored checkpoint had not committed is left behind with it, so a point is named only where that is proven to be
nothing, or with what is lost. Where the newest commit was expired, older metadata files tell of it.

How a uid is given stands in the job's own code or statement, so Waterline does not do it. From no restore point above
which the job has committed people are told to start it: nothing then passes over what main has.
"""

from bot.actions._support.draft import live_run, may_lose_state
from bot.history.case import Case
from bot.history.other_jobs import highest_position
from bot.history.prediction import RestoreVerdict, predict
from bot.history.ranking import for_rewind
from bot.history.restore import Restores, pairings
from bot.history.starts import flink_commits
from bot.incident.action import Action, Plan
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.findings import Pairing, PairingFinding, PairVerdict
from bot.observation.flink import JobRun, StoredCheckpoint, owed_to
from bot.observation.ids import DRAINED, short, short_job

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
    is_of_others = bool(restores.binding) and restores.other_jobs.has_run(restores.binding[-1].job_id)
    if restores.other_jobs.is_untold or is_of_others or not read or not restores.binding:
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
        f"{none_fits} Instead, roll back table and job to checkpoint {rewind.checkpoint_id}, which pairs with snapshot "
        f"{short(rewind.snapshot_id)}. The job then reads those rows again, and its sink keeps its uid.",
        "Propose that: `/waterline propose roll_back_table_and_restore_job`. Start nothing by hand until it is done.",
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
    promise="People start the job without the state of its old sink; Waterline says from where.",
    needs=("checkpoint_pairing", "missing_positions"),
    proofs=(),
)


def propose(plan: Plan) -> Proposal:
    """Always raises Refused, with what to do by hand; CouldNotLook when Flink was not seen or storage cannot be
    asked."""
    why = "Waterline does not change the uid: it stands in the job's code or statement."
    raise _by_hand(plan, remembered(plan), live_run(plan), why)


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
