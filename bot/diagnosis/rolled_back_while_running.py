"""F6: main was rolled back under a running job, which then went on on top: a silent, lasting hole (facts 0.2)."""

from collections.abc import Sequence

from bot.diagnosis._support.asked import answers, checked_until, lacking
from bot.diagnosis._support.case import living, not_asked, rows_by, run_of, unseen
from bot.diagnosis._support.lost_and_expired import may_be_lost_and_expired
from bot.diagnosis._support.missing_manifest import bars_restart
from bot.diagnosis._support.restoring import rewind_or
from bot.diagnosis._support.unbroken import is_filled, is_found_missing, looked_since, untold
from bot.history.case import Case
from bot.history.rollbacks import Rollback
from bot.history.rolled_back import KnownOutcome, Outcome, rollbacks_of
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.ids import JobId, SnapshotId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted

MODE = Mode(
    code="F6",
    name="rolled_back_while_running",
    title="the table was rolled back while the job was running",
    needs=("ledger",),
    false_positives=(
        "A rollback of table and job together: a run that was restored at the target goes on from there.",
        "Write-audit-publish or a moved branch: such snapshots never were head of main.",
        "A rollback whose rows were restored by hand (cherry-pick keeps no Flink ids).",
    ),
    planned_as=("Planned rollback",),
    neighbours={
        "F3": "There commits never came. Here they were on main and a rollback took them off.",
        "F7": "There the job fails at every restart. Here it goes on above the hole.",
        "F10": "There the newest metadata is lost, so an older file only looks like a table that went back. "
        "Here it is readable and its history has the rollback.",
        "F18": "There nobody ever wrote the missing rows. Here commits had brought them, and a rollback "
        "removed them from main.",
        "healthy": "There the run above the target was restored to it, as after a rollback of table and job. Here "
        "the old run went on without a restore.",
    },
    act=Act.CONTAIN,
    remedies=(Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, Remedy.RESTORE_LOST_COMMITS),
)


def examine(case: Case) -> Examined:
    """Matches when a run whose state holds what was rolled back goes on above it, or still may, or positions are
    missing that main lost there. Not while nothing is above and each restart fails for what main lost: see F7."""
    if case.ledger is None:
        return CannotTell(missing=(not_asked(case, "ledger"),))
    jobs, found = case.observation.jobs, rollbacks_of(case)
    open_still = [each for each in found if not is_filled(case, each[0]) and not _is_barred(case, *each)]
    standing = [each for each in open_still if _leaves_a_hole(case, *each)]
    if standing:
        return _matches(case, *standing[0], standing[1:])
    missing = [_open(case, *each) for each in open_still]
    if told := tuple(filter(None, missing)):
        unasked = lacking(case, "missing_positions") if isinstance(jobs, NotSeen) or case.gaps is None else ()
        return CannotTell(missing=(*((unseen(jobs),) if isinstance(jobs, NotSeen) else told), *unasked))
    if (expired := _may_have_expired(case)) is not None:
        return CannotTell(missing=(expired,))
    return Excluded(reason=_why_not(case, found))


def _is_barred(case: Case, lost: Rollback, told: KnownOutcome) -> bool:
    return told.commit is None and bars_restart(case, lost)


def _leaves_a_hole(case: Case, lost: Rollback, told: KnownOutcome) -> bool:
    if told.outcome is Outcome.HELD:
        return told.commit is None or told.run in lost.runs or not _was_whole(case, told)
    return told.outcome is not Outcome.NOBODY and is_found_missing(case, lost)


def _open(case: Case, lost: Rollback, told: KnownOutcome) -> str | None:
    """What has to be known of it; None: nothing."""
    if told.outcome is Outcome.UNTOLD:
        return untold(case, lost, told)
    if told.outcome is Outcome.NO_ROWS and case.gaps is not None and case.gaps.to_come:
        rows = (row for row in (case.ledger.rows if case.ledger else ()) if row.snapshot_id in lost.left)
        if (of_other := next((row for row in rows if row.ranges or row.bounds), None)) is not None:
            return f"who brings the rows of {short(of_other.snapshot_id)} again, which another job made and main lost"
    if told.outcome is Outcome.NOBODY and is_found_missing(case, lost):
        return (
            f"who brought rows above positions that main lost by its rollback to {short(lost.target)} and does not "
            "have again: no run of the job goes on from there; `missing_positions` names what is to be brought"
        )
    if isinstance(case.observation.jobs, NotSeen) and told.outcome is not Outcome.HELD and lost.runs:
        return unseen(case.observation.jobs)
    return None


def _may_have_expired(case: Case) -> str | None:
    """What is missing to know that main was not rolled back over commits that have expired since; None: nothing is.
    Positions that were looked for and are all there settle it up to there."""
    is_whole = case.gaps is not None and not case.gaps.missing and answers(case, "missing_positions")
    return may_be_lost_and_expired(case, checked_until(case, "missing_positions") if is_whole else None)


def _was_whole(case: Case, told: KnownOutcome) -> bool:
    """Whether only checkpoint ids speak for a hole, of a run that lost none itself, and somebody found every position
    there since it went on. That may have grown old: then it acquits nobody, and ids alone accuse nobody."""
    following = told.commit
    if following is None or not isinstance(case.observation.jobs, NotSeen):
        return False
    found, table = case.gaps, case.observation.table
    if found is None or not found.has_positions or found.missing or found.to_come:
        return False
    until = next((e.window.until for e in reversed(case.evidence) if e.task == "missing_positions"), None)
    return until in table.chain_ids and table.place_of(until) >= table.place_of(following.snapshot_id)


def _matches(
    case: Case, found: Rollback, told: KnownOutcome, later: Sequence[tuple[Rollback, KnownOutcome]]
) -> Matches:
    """`found` is the one below all others: what main lost later lies above its target, too."""
    table = case.observation.table
    lost = [table.by_id[s] for s in found.left]
    ids = [s.checkpoint_id for s in lost if s.checkpoint_id is not None]
    following, writer = told.commit, told.run
    target = table.by_id[found.target] if found.target else None
    undone = short(found.left[-1])
    held = f" (checkpoint {target.checkpoint_id})" if target and target.checkpoint_id is not None else ""
    reasons = [
        f"Main was rolled back to {short(found.target)}{held}: the commits {short(found.left[0])} to "
        f"{undone}, checkpoints {min(ids)} to {max(ids)}, are no longer part of it."
        if ids
        else f"Main was rolled back to {short(found.target)}{held} and lost {len(lost)} commits."
    ]
    if is_forward := found.fork != found.target:
        reasons.append(
            f"It had been set to {short(found.fork)} before, where these were committed, and then forward again to "
            f"{short(found.target)}, which does not stand on them."
        )
    reasons += _told_by_positions(told)
    is_held = told.outcome is Outcome.HELD
    if following is not None:
        between = ", and nothing on main carries what lies between" if is_held else ""
        reasons.append(
            f"Run {short_job(writer)} went on: its next commit is {short(following.snapshot_id)}"
            + (f", checkpoint {following.checkpoint_id}{between}." if ids else ".")
            + _restored_at(case, writer)
        )
    else:
        takes_nothing = not is_forward and table.head == found.target
        reasons.append(
            f"Run {short_job(writer)} {_what_leaves_the_hole(case, writer)}."
            + _restored_at(case, writer)
            + (f" Until then, setting main back to {undone} would undo the rollback." if takes_nothing else "")
        )
    reasons += [
        f"Main was rolled back once more, to {short(each.target)}, and lost {counted(len(each.left), 'commit')} there "
        f"({short(each.left[0])} to {short(each.left[-1])}); "
        + ("its next commit leaves that hole, too." if then.commit is None else "the job went on above it, too.")
        for each, then in later
    ]
    rows = sum(s.counted("added-records") for s in lost)
    reasons.append(f"The lost commits had added {rows} rows; their files stay readable until maintenance expires them.")
    reasons.append(_rows_said(case, found, told))
    if (remedy := rewind_or(case, found.target, Remedy.RESTORE_LOST_COMMITS)) is Remedy.RESTORE_LOST_COMMITS:
        reasons.append(
            f"No restore point pairs with {short(found.target)} or an earlier snapshot: "
            "table and job cannot be rolled back."
        )
    lost_rows = tuple(row.snapshot_id for row in case.ledger.rolled_back) if case.ledger else ()
    how = ", and rows that it lost are still missing"
    if writer in found.runs:
        how = f" while run {short_job(writer)} was running"
    elif is_held:
        how = f", and run {short_job(writer)} went on from beyond it"
    return Matches(
        headline=f"Main was rolled back to {short(found.target)}{how}.",
        reasons=tuple(reasons),
        rows=tuple(s for each in (*reversed([each for each, _ in later]), found) for s in lost_rows if s in each.left)
        + _after(case, found, writer),
        last_good=found.target,
        newest_wrong=max((s for each in (found, *(each for each, _ in later)) for s in each.left), key=table.place_of),
        wrong_run=writer
        if isinstance(case.observation.jobs, NotSeen) or writer in {run.job_id for run in living(case)}
        else None,
        remedy=remedy,
    )


def _told_by_positions(told: KnownOutcome) -> list[str]:
    """How a hole is known that the job's state does not tell."""
    missing = "Positions that the lost commits had brought are missing"
    if told.outcome is Outcome.HELD:
        return []
    if told.outcome is Outcome.READ_AGAIN:
        run = f"Run {short_job(told.run)} went on from the target or below, and should have read these rows again."
        return [f"{run} {missing} all the same."]
    if told.outcome is Outcome.UNTOLD:
        return [f"Where run {short_job(told.run)} was restored from is not shown. {missing}, so it passed them over."]
    return [f"{missing}."]


def _what_leaves_the_hole(case: Case, writer: JobId | None) -> str:
    ended = run_of(case, writer)
    if ended is None or not ended.is_terminal:
        return "still runs and has committed nothing since: its next commit leaves the hole"
    return f"is {ended.state} by now, and had committed nothing since: a restart from its newest state leaves the hole"


def _restored_at(case: Case, writer: JobId | None) -> str:
    run = run_of(case, writer)
    if run is None or run.restored is None:
        return ""
    return f" Flink restored it last from checkpoint {run.restored.checkpoint_id}."


def _rows_said(case: Case, found: Rollback, told: KnownOutcome) -> str:
    if missing := lacking(case, "missing_positions"):
        return f"Nobody knows yet which source positions are missing: {missing[0].rstrip('.')}."
    assert case.gaps is not None
    if case.gaps.missing:
        return f"{case.gaps.missing} source positions are missing at the head."
    if told.commit is not None and not looked_since(case, found):
        return "Nobody knows yet which source positions are missing: they were looked for before these were lost."
    if case.gaps.to_come:
        return f"{case.gaps.to_come} positions of the lost commits lie above every live one."
    return "No source position is missing below the head yet."


def _after(case: Case, found: Rollback, writer: JobId | None) -> tuple[SnapshotId, ...]:
    """The ledger's rows of the writer on main above the target."""
    kept = {s.snapshot_id for s in case.observation.table.ancestors(found.target)}
    return tuple(s for s in rows_by(case, (writer,), None) if s not in kept) if writer else ()


def _why_not(case: Case, found: Sequence[tuple[Rollback, KnownOutcome]]) -> str:
    if found:
        rollback, told = found[-1]
        if _is_barred(case, rollback, told):
            return f"Main was rolled back to {short(rollback.target)}, and the job cannot restart since (F7)."
        who = f"run {short_job(told.run)} began" if told.run is not None else ""
        how = {
            Outcome.READ_AGAIN: f"{who} from there or below since, so it reads again what main lost",
            Outcome.NOBODY: "no run of the job goes on from what it lost",
        }.get(told.outcome, "no source position that it lost is missing: the rows were restored")
        return f"Main was rolled back to {short(rollback.target)}, but {how}."
    table = case.observation.table
    aside = sum(1 for s in table.snapshots if s.snapshot_id not in table.chain_ids)
    if aside:
        return f"{aside} snapshots are not on main, but none in the window ever was its head: staged, or on a branch."
    return "Every snapshot that was head of main in the window is still an ancestor of the head."
