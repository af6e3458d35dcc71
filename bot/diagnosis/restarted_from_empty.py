"""F15: the job came back without any state: a wiped high-availability store, a deleted deployment, no savepoint given.

The source then starts where its offsets say: at the earliest (rows twice), at the latest (rows missing), or where its
consumer group stood. Windows and aggregates begin at nothing in any case. The same happens to a source that was
restored under another operator id, which finds no state.
"""

from collections.abc import Iterator

from bot.diagnosis._support.asked import checked_until, lacking, reaches_head
from bot.diagnosis._support.case import (
    empty_starts,
    in_window,
    living,
    not_asked,
    rows_by,
    run_of,
    unseen,
    writes_as_v1,
)
from bot.diagnosis._support.may_commit_on import may_commit_on
from bot.diagnosis._support.missing_manifest import missing_manifest
from bot.diagnosis._support.restoring import can_rewind_to
from bot.diagnosis._support.rightness import ASKS_FOR, did_no_harm, not_known_yet, proven, root_in_doubt
from bot.history.case import Case
from bot.history.empty_starts import EmptyStart
from bot.history.other_jobs import related_runs
from bot.history.source_starts import source_in_doubt, source_starts, went_back_in_words
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.ids import CheckpointId, JobId, short, short_job
from bot.observation.looked import NotSeen

MODE = Mode(
    code="F15",
    name="restarted_from_empty",
    title="the job was started without its state",
    needs=("ledger",),
    asks_for=ASKS_FOR,
    false_positives=(
        "A first deployment over a table that another job had filled.",
        "A start without state, or a source with a new uid, that somebody decided, with its source positions given "
        "by hand.",
    ),
    planned_as=("Planned start without state", "First deployment on a table that another job filled"),
    neighbours={
        "F1": "There no start without state lies between the two commits. Here the ids begin at 1 again, "
        "over other files.",
        "F4": "There the V2 sink drops what the run commits under its old job id. Here its commits arrive.",
        "F12": "There the job was restored and only its sink began anew. Here the source began anew too.",
        "F18": "There the source left positions out, for whatever reason. Here a start without state is "
        "what can cause it, or the opposite: rows twice.",
    },
    act=Act.RECOVER,
    remedies=(
        Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB,
        Remedy.DEDUPLICATE_ROWS,
        Remedy.REPLAY_SOURCE_RANGE,
        Remedy.RESTORE_JOB_ONLY,
        Remedy.TELL_CONSUMERS,
    ),
)
_ROWS = ("duplicate_rows", "missing_positions")
"""Evidence that shows what the start did to the rows."""
_SAME_UID = (
    "Give the source its former uid back, or its former SQL plan (`scan.parallelism` changes it), before the job is "
    "restored. Else its source begins anew again."
)


def examine(case: Case) -> Examined:
    """Matches on a run that Flink never restored over commits of the job, or on ids that begin at 1 again."""
    if case.ledger is None:
        return CannotTell(missing=(not_asked(case, "ledger"),))
    jobs = case.observation.jobs
    held = [(start, _drops_commits(case, start)) for start in empty_starts(case)]
    found = [start for start, drops in held if drops is False] + list(_of_source(case))
    if found:
        return _matches(case, next((each for each in found if not did_no_harm(case, each.run)), found[0]))
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    unknown = next((start for start, drops in held if drops is None), None)
    if unknown is not None:
        return CannotTell(missing=(f"the operators of run {short_job(unknown.run)} ({jobs.source} lists none)",))
    if held:
        start = held[0][0]
        return Excluded(
            reason=f"Run {short_job(start.run)} started without state under the job id that it had before, with a V2 "
            f"sink: it commits nothing up to checkpoint {start.reached}, which is F4."
        )
    if (doubt := source_in_doubt(case)) is not None:
        return CannotTell(missing=(doubt,))
    return root_in_doubt(case) or Excluded(reason=_why_not(case))


def _of_source(case: Case) -> Iterator[EmptyStart]:
    """Restored runs whose source alone began anew. One that kept its state may read other records at the same offsets:
    it counts where keys live twice."""
    is_twice = case.duplicates is not None and case.duplicates.keys
    inside = {commit.snapshot_id for commit in in_window(case)}
    for start in source_starts(case):
        old, first = start.left[0], start.first
        if (first is not None and first.snapshot_id not in inside) or (start.went_back and not is_twice):
            continue
        said = went_back_in_words(start.run, start.restored, old, start.reached, case.contract)
        if not start.went_back:
            run, point = short_job(start.run.job_id), start.restored.checkpoint_id
            said = (
                f"Flink restored run {run} from checkpoint {point}, but its source began without state. Operator "
                f"{old.operator_id[:6]} held the offsets of {old.topic}, and another operator reads this topic now. "
                f"{_SAME_UID}"
            )
        yield EmptyStart(
            run=start.run.job_id,
            earlier=JobId(start.last_before.job_id or ""),
            reached=CheckpointId(start.last_before.checkpoint_id or 0),
            last_before=start.last_before.snapshot_id,
            first=first.snapshot_id if first is not None else None,
            is_told_by_flink=True,
            how="below where its source had come" if start.went_back else "without the state of its source",
            source=said,
        )


def _drops_commits(case: Case, start: EmptyStart) -> bool | None:
    """Whether the sink drops what the start commits (F4); None while only the unknown sink could tell."""
    if not start.keeps_job_id or start.first is not None:
        return False
    head = case.observation.table.by_id[start.last_before]
    v1 = writes_as_v1(run_of(case, start.run), head.operator_id)
    return None if v1 is None else not v1


def _matches(case: Case, start: EmptyStart) -> Matches:
    whose = "it" if start.keeps_job_id else f"run {short_job(start.earlier)}"
    reasons = [
        f"Checkpoint {start.reached} of run {short_job(start.earlier)} was on the table already "
        f"({short(start.last_before)}).",
        start.source
        or f"Flink shows no restore at the start of run {short_job(start.run)}: its checkpoint ids began at 1, and its "
        "state was empty."
        if start.is_told_by_flink
        else f"The checkpoint ids of run {short_job(start.run)} begin at 1, as they do after no restore.",
    ]
    if start.first is None:
        reasons.append("It has committed nothing yet.")
    else:
        first = case.observation.table.by_id[start.first]
        reasons.append(
            f"Its first commit {short(start.first)} carries checkpoint {first.checkpoint_id} and "
            f"{first.counted('added-records')} rows."
        )
    is_right, said, asks = _rows_said(case, start)
    reasons.append(said)
    remedy, left = _without_a_rewind(case, start) or Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, None
    if is_right:
        is_down = _is_down(case)
        left = _open_before_a_start(case) if is_down else None
        remedy = Remedy.RESTORE_JOB_ONLY if is_down and left is None else Remedy.TELL_CONSUMERS
        reasons += [_must_be_known(left)] if left is not None else []
    elif remedy is not Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB:
        reasons.append(
            f"No restore point pairs with {short(start.last_before)} or an earlier snapshot: "
            "table and job cannot be rolled back."
        )
    return Matches(
        headline=f"Run {short_job(start.run)} was started {start.how}, although {whose} had committed checkpoint "
        f"{start.reached}.",
        reasons=tuple(reasons),
        rows=rows_by(case, (start.earlier, start.run), None),
        last_good=start.last_before,
        wrong_run=start.run,
        remedy=remedy,
        asks=left.asks if left is not None else asks,
    )


def _without_a_rewind(case: Case, start: EmptyStart) -> Remedy | None:
    """What puts the wrong rows right where no restore point is left to go back to; None: one may be, or no row is
    counted wrong so far."""
    if can_rewind_to(case, start.last_before) is not False:
        return None
    if case.duplicates is not None and case.duplicates.keys:
        return Remedy.DEDUPLICATE_ROWS
    is_missing = case.gaps is not None and case.gaps.missing and not case.gaps.is_untold
    return Remedy.REPLAY_SOURCE_RANGE if is_missing else None


def _is_down(case: Case) -> bool:
    """Whether no run of the job is alive, nor one of another job that has taken over."""
    seen = case.observation
    is_known = seen.jobs.state == "seen" and not isinstance(seen.others, NotSeen)
    heirs = related_runs(seen.jobs, seen.others)
    return is_known and bool(case.runs) and not living(case) and all(run.is_terminal for run in heirs)


def _open_before_a_start(case: Case) -> CannotTell | None:
    """What must be known before the job is brought back, as where it stands still without such a start; None: all is.
    The rows are right."""
    if (writes_on := may_commit_on(case)) is not None:
        return CannotTell(missing=(writes_on,))
    if (missing := missing_manifest(case)) is not None:
        lost = f"what became of {missing.name}, for which a restart looks and which is not there (F7, F8, F9)"
        return CannotTell(missing=(lost,))
    head = case.observation.table.head
    if not reaches_head(case):
        end = f"the window ends at {short(case.window.until)}, below the head {short(head)}"
        return CannotTell(missing=(f"{', '.join(_ROWS)}, once more: {end}",))
    if below := tuple(task for task in _ROWS if checked_until(case, task) != head):
        return CannotTell(missing=(f"{', '.join(below)}, once more, up to the head {short(head)}",), asks=below)
    left = proven(case, is_down=True)
    return left if isinstance(left, CannotTell) else None


def _must_be_known(left: CannotTell) -> str:
    """With what to ask for, where that may settle it."""
    known = f"No run of the job is alive; before one is started it must be known: {'; '.join(left.missing)}."
    return f"{known} Ask for {', '.join(left.asks)}." if left.asks else known


def _rows_said(case: Case, start: EmptyStart) -> tuple[bool, str, tuple[str, ...]]:
    """(whether the rows that it brought were counted and are right, the sentence, what would tell more)."""
    missing = lacking(case, *_ROWS)
    wrong = []
    if case.duplicates is not None and case.duplicates.keys:
        wrong.append(f"{case.duplicates.keys} keys live more than once, so its source began too early")
    if case.gaps is not None and case.gaps.missing and not case.gaps.is_untold:
        wrong.append(f"{case.gaps.missing} source positions are missing, so its source began too late")
    if case.gaps is not None and case.gaps.to_come:
        wrong.append(f"{case.gaps.to_come} positions of rolled-back commits are not written again yet")
    if wrong:
        sentence = "; ".join(wrong)
        return False, f"{sentence[0].upper()}{sentence[1:]}.", ()
    if missing:
        return False, f"Not known yet, for where its source began: {'; '.join(missing)}.", ()
    if start.first is None:
        return False, "Where its source began shows once it brings rows.", ()
    told = proven(case)
    if isinstance(told, CannotTell) and not (_is_down(case) and did_no_harm(case, start.run)):
        return False, not_known_yet(told), told.asks
    if isinstance(told, Excluded):
        return False, told.reason, ()
    return (
        True,
        "Its source began in the right place: no key lives twice and no position is missing. Windows and "
        "aggregates began at nothing all the same.",
        (),
    )


def _why_not(case: Case) -> str:
    runs = case.runs
    if not runs:
        return "Flink knows no run of the job, and no checkpoint id on main begins at 1 again in the window."
    run = runs[-1]
    if run.restored is not None:
        return f"Run {short_job(run.job_id)} was restored from checkpoint {run.restored.checkpoint_id}."
    return (
        f"Run {short_job(run.job_id)} was never restored, and main lists no commit of the job from before its start, "
        "except drained ones."
    )
