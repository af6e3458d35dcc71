"""`no-advance`: the job stands still and the table is as it left it: recover the job, not the table.

Others may have written the table; the job itself owes it what its checkpoints hold, and nothing else.
"""

from bot.diagnosis._support.asked import answers, checked_until, lacking, reaches_head, unasked
from bot.diagnosis._support.case import living, time_in, unseen
from bot.diagnosis._support.leaks import came_again
from bot.diagnosis._support.may_commit_on import cause_now, is_forgotten, may_commit_on, standstill
from bot.diagnosis._support.missing_manifest import missing_manifest
from bot.diagnosis._support.other_writers import is_known_to_keep_rows
from bot.diagnosis._support.restoring import can_rewind_to, newer_than_head, pair_with_head, restore_in_words
from bot.diagnosis._support.rightness import ASKS_FOR, RESTS_ON, begins_above, proven
from bot.history.case import Case
from bot.history.other_jobs import commits_of_job, highest_position
from bot.history.restore import Restores
from bot.history.unread_points import beside, rows_of, unread_points
from bot.history.without_ids import without_ids
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, LastGoodRows, Matches, Mode, Remedy
from bot.observation.findings import LeakStanding
from bot.observation.flink import JobRun, StoredCheckpoint, cause_of, owed_checkpoints
from bot.observation.ids import DRAINED, JobId, SnapshotId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import clock_time, counted

_TAKES_ROWS = frozenset({"delete", "replace"})
"""Operations with which no table begins: they need rows that were there before."""
_BY_HAND = "fix what keeps the job from committing, then start it by hand"


def never_committed(case: Case, why: str) -> Matches | CannotTell | None:
    """The match; None where a run of Flink has committed to the table, or may have, or Flink lists no run that failed.
    `why`: what shows that it stands still."""
    runs, table = case.runs, case.observation.table
    has_expired = bool(table.chain) and table.chain[-1].has_commit_below
    if not runs or runs[-1].state == "FINISHED" or has_expired or any(s.job_id for s in table.snapshots):
        return None
    if without_ids(case):
        return None
    if table.chain and table.chain[-1].operation in _TAKES_ROWS:
        root = table.chain[-1]
        gone = f"main begins with {short(root.snapshot_id)}, a {root.operation}, and so something lay below it"
        return CannotTell(missing=(f"whether the job had committed to this table before: {gone}",))
    if not any(run.completed_count or run.checkpoints or run.restored is not None for run in runs):
        return _match(case, runs, why, _before_any(runs), f"{_BY_HAND} as it is deployed: it has no state yet")
    if isinstance(case.observation.checkpoints, NotSeen):
        return CannotTell(missing=(unseen(case.observation.checkpoints),))
    point = _newest(case.observation.checkpoints.values, {run.job_id for run in runs})
    if point is None:
        left = "Its checkpoints were completed, and storage shows none that can be read: what they held is read again."
        return _match(case, runs, why, left, f"{_BY_HAND} from nothing, its source set to where it began")
    owes = owed_checkpoints(point, table)
    waits = f"still owes {counted(len(owes), 'checkpoint')}" if owes else "holds what was not committed"
    left = (
        f"Checkpoint {point.checkpoint_id} at {point.path} is its newest, and {waits}: a restore from it commits that "
        "first, if its Flink manifests are on storage. A start from nothing would lose its state, and leave these "
        "files behind."
    )
    return _match(case, runs, why, left, f"{_BY_HAND} from {point.path}")


def _before_any(runs: tuple[JobRun, ...]) -> str:
    if len(runs) == 1:
        return "It has completed no checkpoint and was restored from none: it owes the table nothing."
    return (
        f"None of its {len(runs)} runs that Flink lists has completed a checkpoint or was restored from one: they owe "
        "the table nothing."
    )


def _match(case: Case, runs: tuple[JobRun, ...], why: str, left: str, how: str) -> Matches:
    newest = max(runs[-1].failures, key=lambda each: each.at, default=None)
    said = cause_of(newest).in_words if newest is not None and cause_now(case) is None else None
    return Matches(
        headline=f"The job has never committed to this table, and run {short_job(runs[-1].job_id)} is "
        f"{runs[-1].state}: recover the job, not the table.",
        reasons=(why, "No commit by Flink is listed.", left, *((said,) if said is not None else ())),
        last_good=case.observation.table.head,
        remedy=Remedy.RESTORE_JOB_ONLY,
        how=how,
    )


def _newest(stored: tuple[StoredCheckpoint, ...], runs: set[JobId]) -> StoredCheckpoint | None:
    fit = [each for each in stored if each.job_id in runs and each.problem is None and each.checkpoint_id is not None]
    return max(fit, key=lambda each: (each.written_at, each.checkpoint_id or 0), default=None)


MODE = Mode(
    code="no-advance",
    name="no_snapshot_advanced",
    title="the job is down, and the table is as it should be",
    needs=(*RESTS_ON, "leaked_manifests", "checkpoint_pairing"),
    asks_for=tuple(task for task in ASKS_FOR if task != "leaked_manifests"),
    false_positives=(
        "A job that was stopped on purpose, before an upgrade for example.",
        "A bounded job that has finished.",
        "A cluster that has forgotten its jobs, while the job goes on without commits on another one.",
    ),
    neighbours={
        "wait": "There Flink is bringing a run back. Here none is alive, or it failed three times since its "
        "last completed checkpoint. Or it has not come up for longer than a recovery takes.",
        "healthy": "The table is right in both. Here nobody writes it any more, there a run goes on.",
        "F5": "There what came after a drained commit takes its checkpoints for committed. Here nothing "
        "that is on the table stands against a restart.",
        "F8": "There a restart fails, or would, because the job's last snapshot was expired. Here nothing "
        "that is on the table stands against one.",
        "F24": "There commits come, and the events in them get no newer. Here no commit comes.",
    },
    act=Act.RECOVER,
    remedies=(Remedy.RESTORE_JOB_ONLY, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB),
)


def examine(case: Case) -> Examined:
    """Matches when no run commits any more, or one only fails or does not come up, who made the newest commit is known
    to write no longer, and all that was looked at says that the table is right."""
    if isinstance(case.observation.jobs, NotSeen):
        return CannotTell(missing=(unseen(case.observation.jobs),))
    why = standstill(case)
    if why is None:
        return Excluded(reason=_who_runs(case))
    if (never := never_committed(case, why)) is not None:
        return never
    wrong, right = _wrong(case), proven(case, is_down=True)
    if wrong is None and isinstance(right, Excluded):
        wrong = right.reason
    if wrong is not None:
        return Excluded(reason=f"{why} But it is not the job alone: {wrong[0].lower()}{wrong[1:]}")
    writes_on = may_commit_on(case)
    missing = (*_came_after(case, checked_until(case, *RESTS_ON)), *((writes_on,) if writes_on is not None else ()))
    left = lacking(case, "leaked_manifests", whole=True)
    asks = unasked(case, "leaked_manifests") if left else ()
    if isinstance(right, CannotTell):
        return CannotTell(missing=(*right.missing, *missing, *left), asks=(*right.asks, *asks))
    return CannotTell(missing=(*left, *missing), asks=asks) if left or missing else _matches(case, why)


def _came_after(case: Case, until: SnapshotId | None) -> tuple[str, ...]:
    """What is to be collected once more, because the newest commits came after it, or lie above its window: here the
    head itself is called right."""
    table = case.observation.table
    if not reaches_head(case):
        end, head = short(case.window.until), short(table.head)
        return (f"{', '.join(RESTS_ON)}, once more: the window ends at {end}, below the head {head}",)
    covered = {s.snapshot_id for s in table.ancestors(until)}
    came = [s for s in table.chain if s.snapshot_id not in covered]
    newer = [s for s in came if s.operation == "append" or not is_known_to_keep_rows(case, s)]
    if not newer:
        return ()
    return (f"{', '.join(RESTS_ON)}, once more: {counted(len(newer), 'commit')} came after the evidence",)


def _who_runs(case: Case) -> str:
    run = living(case)[-1]
    return f"Run {short_job(run.job_id)} is {run.state} and may come back by itself."


def _wrong(case: Case) -> str | None:
    """The first thing that is wrong with the table, or that keeps the job from being restored as it is."""
    newest = next(reversed(commits_of_job(case)), None)
    missing = missing_manifest(case)
    if missing is not None:
        return f"A restart looks for {missing.name}, which is not there (F7, F8, F9)."
    if newest is None:
        return "The table lists no commit of the job."
    if newest.checkpoint_id == DRAINED:
        return f"{short(newest.snapshot_id)} is the last commit of a drained or finished job (F5)."
    dropped = case.leaked.of(LeakStanding.DROPPED, LeakStanding.LOST_STATE) if case.leaked is not None else ()
    if lost := tuple(leak for leak in dropped if came_again(leak, case) is not True):
        were = "was never committed and never will be" if len(lost) == 1 else "were never committed and never will be"
        return f"{counted(len(lost), 'Flink manifest')} with {rows_of(lost)} {were}."
    return None


def _matches(case: Case, why: str) -> Matches:
    table = case.observation.table
    newest = commits_of_job(case)[-1]
    reasons = [
        why,
        f"The job's newest commit is {short(newest.snapshot_id)}, checkpoint {newest.checkpoint_id} of run "
        f"{short_job(newest.job_id)}, at {time_in(case, newest.committed_at)}; main is an unbroken chain up to it.",
        "No key lives twice, no source position is missing, no file is missing, and no Flink manifest was dropped.",
    ]
    if is_forgotten(case):
        reasons.append(
            f"Flink has forgotten run {short_job(newest.job_id)}: see that no other cluster runs it, then start it."
        )
    reasons.append(_whence(case))
    if (unread := beside(case.observation.checkpoints)) is not None:
        reasons.append(unread)
    together = _needs_both(case)
    if together:
        cure = "but only an older restore point is left, so both go back"
    elif _is_nothing_left(case):
        cure = "but no restore point is left from which the job could go on"
    else:
        cure = "recover the job, not the table"
    cause, how = cause_now(case), None if together else restore_in_words(case)
    if cause is not None and cause.first is not None:
        cure = f"{cause.meaning}. {cause.first[0].upper()}{cause.first[1:]} first"
        how = f"{cause.first}; then {how or Remedy.RESTORE_JOB_ONLY.words}" if not together else None
    since, begins = clock_time(newest.committed_at, table.read_at), begins_above(case)
    is_right = "the table is right" if begins is None else f"the table is right from {short(begins)} on"
    return Matches(
        headline=f"No snapshot advanced since {since}, and {is_right}: {cure}.",
        reasons=tuple(reasons),
        rows=(newest.snapshot_id,),
        last_good=table.head,
        wrong_run=newest.job_id if together else None,
        remedy=Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB if together else Remedy.RESTORE_JOB_ONLY,
        last_good_rows=LastGoodRows.CLEAN,
        how=how,
    )


def _needs_both(case: Case) -> bool:
    """Whether only restore points below the head are left, so that the job alone would write rows twice."""
    if pair_with_head(case) is not None or newer_than_head(case):
        return False
    return can_rewind_to(case, case.observation.table.head) is True


def _is_nothing_left(case: Case) -> bool:
    """Whether storage was looked at, and no restore point fits the table, by itself or together with it."""
    fits = pair_with_head(case) is not None or bool(newer_than_head(case)) or _needs_both(case)
    return answers(case, "checkpoint_pairing") and not fits and not unread_points(case.observation.checkpoints)


def _whence(case: Case) -> str:
    """From where the job is to go on."""
    pair, ahead = pair_with_head(case), newer_than_head(case)
    if pair is not None:
        return f"{pair.path} (checkpoint {pair.checkpoint_id}) pairs with it: restore the job from there."
    if ahead:
        return (
            f"{ahead[0].path} (checkpoint {ahead[0].checkpoint_id}) is newer than the head: a restore from it commits "
            "what it still owes, if its Flink manifests are on storage."
        )
    if _needs_both(case):
        return (
            "No restore point pairs with it: a restore from an older one repeats rows, so table and job must go "
            "together."
        )
    if not _is_nothing_left(case):
        return "Nobody has looked yet which restore point pairs with it: look before the job is started."
    held = Restores(case).in_evidence
    seen = (
        f"None of {counted(len(held), 'restore point')} on storage" if held else "Storage holds no restore point that"
    )
    return (
        f"{seen} pairs with the table or one of its older states. Look for one elsewhere, such as a backup or the "
        f"storage's own versions. Else start the job without state, its source set to go on after {_reached(case)}: "
        "windows and aggregates then begin at nothing."
    )


def _reached(case: Case) -> str:
    """How far the table has come in the source."""
    highest = highest_position(case)
    return "what the table holds" if highest is None else f"position {highest}, the highest on the table"
