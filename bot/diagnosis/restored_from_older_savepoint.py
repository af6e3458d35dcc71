"""F2: a new run was restored from an older point than its predecessor had committed.

The source re-reads what the table holds already. The V2 sink commits it again at once; the V1 sink is silent until
its checkpoint ids pass the old maximum and then commits everything under one id (facts F2, F3).
"""

from bot.diagnosis._support.case import (
    LOST_FIRST_RESTORE,
    in_window,
    leaves_gap,
    not_asked,
    rewinds_in,
    rows_by,
    run_of,
    unlisted_switches,
    unseen,
    untold_rewinds_in,
    writes_as_v1,
)
from bot.diagnosis._support.restoring import rewind_or
from bot.diagnosis._support.rightness import did_no_harm, not_known_yet, proven, root_in_doubt
from bot.diagnosis._support.upsert import why_upsert
from bot.diagnosis._support.wrong_rows import is_replayed, open_rewinds, whose_run
from bot.history.case import Case
from bot.history.empty_starts import Switch, switches
from bot.history.proof import Right
from bot.history.starts import Rewind, flink_commits
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.looked import NotSeen

MODE = Mode(
    code="F2",
    name="restored_from_older_savepoint",
    title="the job was restored from an older savepoint",
    needs=("ledger", "duplicate_rows", "checkpoint_pairing"),
    asks_for=("replayed_rows",),
    false_positives=(
        "A planned backfill or replay that somebody announced.",
        "An upsert table: the same rows again change nothing.",
        "Commits after the savepoint that carried no rows: nothing is read twice.",
    ),
    planned_as=("Announced replay", "Planned backfill by the job"),
    neighbours={
        "F1": "There one checkpoint, or the very same files, are on main twice. Here a new run wrote the "
        "same source range again, into new files.",
        "F3": "There commits stay out, under the same job id or with the V1 sink. Here a run under another "
        "job id began below what is committed. With the V1 sink both hold.",
        "F6": "There main went back and the run went on. Here main stayed and a new run began further back.",
        "F12": "There the sink's operator id changed and rows of the old one were never committed. Here the "
        "restore point is older than what is on the table.",
        "F13": "There the older run commits on or is alive beside the new one. Here it had ended when the "
        "new one took over.",
        "F15": "There Flink restored nothing and the ids begin at 1. Here a run was restored, from an older point.",
        "F16": "There both copies of a key are of one commit. Here they are of two runs.",
        "healthy": "A run that was restored from the newest committed checkpoint repeats nothing. Here it was "
        "restored from below it.",
    },
    act=Act.RECOVER,
    remedies=(Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, Remedy.DEDUPLICATE_ROWS, Remedy.TELL_CONSUMERS),
)
_NO_POINT = (
    "No durable restore point pairs with main before that run, so table and job cannot be rolled back. Remove its "
    "duplicate rows by key while the run continues."
)


def examine(case: Case) -> Examined:
    """Matches on falling checkpoint ids between two runs, or on Flink's own word for where the run came from; of
    several on the first that is not known to have done no harm."""
    if case.ledger is None:
        return CannotTell(missing=(not_asked(case, "ledger"),))
    found = [r for r in rewinds_in(case) if not r.keeps_job_id]
    apart = [r for r in found if not r.is_interleaved]
    if apart:
        return _matches(case, next((r for r in apart if not did_no_harm(case, r.run)), apart[0]))
    untold = open_rewinds(case)
    shown = next((r for r in untold if r.first is not None and is_replayed(case, r.first, r.earlier)), None)
    if shown is not None:
        return _matches(case, shown)
    for switch in unlisted_switches(case):
        if is_replayed(case, switch.first, switch.earlier):
            return _late_duplicates(case, switch)
    if isinstance(case.observation.jobs, NotSeen):
        return CannotTell(missing=(unseen(case.observation.jobs),))
    if untold:
        return CannotTell(missing=tuple(map(whose_run, untold)))
    if found:
        return Excluded(reason=_interleaved(found[0]))
    doubtful = next((s for s in unlisted_switches(case) if leaves_gap(s)), None)
    if doubtful is not None and case.duplicates is None:
        lost = LOST_FIRST_RESTORE.format(run=short_job(doubtful.run))
        return CannotTell(missing=(lost, not_asked(case, "duplicate_rows")))
    return root_in_doubt(case) or Excluded(reason=_why_not(case))


def _matches(case: Case, rewind: Rewind) -> Matches:
    whence = f"checkpoint {rewind.restored}" if rewind.restored is not None else "an older point of its state"
    table = case.observation.table
    reasons = []
    if rewind.restored is not None:
        reasons.append(
            f"Flink says that run {short_job(rewind.run)} was restored from checkpoint {rewind.restored}, "
            f"which is below {rewind.reached}: its source reads everything in between again."
        )
    else:
        reasons.append(
            f"The ids on main fall from {rewind.reached} to the first of run {short_job(rewind.run)}; where Flink "
            "restored it from is not known."
        )
    if rewind.first is None:
        reasons.append(_silence(case, rewind))
    else:
        first = table.by_id[rewind.first]
        late = first.checkpoint_id is not None and first.checkpoint_id > rewind.reached
        how = "late and in one commit, as the V1 sink does" if late else "on top of the old ones, as the V2 sink does"
        reasons.append(
            f"Its first commit {short(rewind.first)} carries checkpoint {first.checkpoint_id} and "
            f"{first.counted('added-records')} rows: {how}."
        )
    reasons.append(_rows_said(case, rewind))
    remedy = rewind_or(case, rewind.last_before, Remedy.DEDUPLICATE_ROWS)
    told = proven(case) if rewind.first is not None else None
    if rewind.first is not None and isinstance(told, Right):
        reasons.append(_came_out_whole(case, rewind.first))
        remedy = Remedy.TELL_CONSUMERS
    elif isinstance(told, CannotTell) and case.duplicates is not None and not case.duplicates.keys:
        reasons.append(not_known_yet(told))
    if remedy is Remedy.DEDUPLICATE_ROWS:
        reasons.append(_NO_POINT)
    return Matches(
        headline=f"Run {short_job(rewind.run)} was restored from {whence}, although run "
        f"{short_job(rewind.earlier)} had already committed checkpoint {rewind.reached}.",
        reasons=tuple(reasons),
        rows=rows_by(case, (rewind.earlier, rewind.run), rewind.restored),
        last_good=rewind.last_before,
        wrong_run=rewind.run,
        remedy=remedy,
        asks=told.asks if isinstance(told, CannotTell) else (),
    )


def _came_out_whole(case: Case, first: SnapshotId) -> str:
    """Why nothing is to be taken back, or may be: people look once more before they agree."""
    table = case.observation.table
    if any(s.is_repair for s in table.chain if s.committed_at > table.by_id[first].committed_at):
        return "An approved repair came after it: there is nothing to take back any more."
    if (upsert := why_upsert(case)) is not None:
        return (
            f"{upsert} Repeated rows replaced themselves; until the run has passed where the other stood, "
            "readers see older values."
        )
    return (
        "So nothing is to be taken back, unless the key is drawn anew at each reading: then look whether a source "
        "position lives twice."
    )


def _silence(case: Case, rewind: Rewind) -> str:
    commits = reversed(flink_commits(case.observation.table))
    newest = next((s for s in commits if s.job_id == rewind.earlier), None)
    v1 = writes_as_v1(run_of(case, rewind.run), newest.operator_id if newest else None)
    if v1 is False:
        return "It has committed nothing yet. It is a V2 sink: the repeated rows come with its next checkpoint."
    kind = "It is a V1 sink" if v1 else "If it is a V1 sink"
    return (
        f"It has committed nothing yet. {kind}: it holds everything back until its checkpoint ids pass "
        f"{rewind.reached}, and then the repeated rows come at once."
    )


def _rows_said(case: Case, rewind: Rewind) -> str:
    if case.duplicates is None:
        return "Duplicate rows of this window have not been counted yet. The restore is proven without that."
    if case.duplicates.keys:
        return f"{case.duplicates.keys} duplicate keys, {case.duplicates.extra_rows} extra rows."
    if rewind.first is None:
        return "There are no duplicate keys yet, because the run has committed nothing."
    return "There are no duplicate keys."


def _late_duplicates(case: Case, switch: Switch) -> Matches:
    by_id = case.observation.table.by_id
    extra = case.duplicates.extra_rows if case.duplicates else 0
    return Matches(
        headline=f"Run {short_job(switch.run)} committed again what run {short_job(switch.earlier)} had committed.",
        reasons=(
            f"Run {short_job(switch.earlier)} had reached checkpoint {switch.reached}; the first commit "
            f"{short(switch.first)} of run {short_job(switch.run)} carries {switch.first_checkpoint}.",
            f"Both runs wrote the same keys: {extra} extra rows. The newer copies are in that first commit.",
            "Flink no longer lists from where it first restored the run; the repeated rows show it.",
        ),
        rows=rows_by(case, (switch.earlier, switch.run), None),
        last_good=by_id[switch.first].parent_id,
        wrong_run=switch.run,
        remedy=rewind_or(case, by_id[switch.first].parent_id, Remedy.DEDUPLICATE_ROWS),
    )


def _interleaved(rewind: Rewind) -> str:
    return (
        f"Run {short_job(rewind.run)} started below checkpoint {rewind.reached}, but run {short_job(rewind.earlier)} "
        "went on committing beside it: two jobs write this table (F13), and rolling back one does not cure that."
    )


def _why_not(case: Case) -> str:
    if (settled := next(iter(untold_rewinds_in(case)), None)) is not None:
        return (
            f"Whether run {short_job(settled.only_if_of_job)} is this job's is not known, but no key lives "
            f"twice: run {short_job(settled.run)} brought nothing again."
        )
    ids = {s.snapshot_id for s in in_window(case)}
    inside = [s for s in switches(case.observation.table) if s.first in ids]
    if inside and inside[-1].first_checkpoint <= inside[-1].reached:
        return (
            f"Run {short_job(inside[-1].run)} began at checkpoint {inside[-1].first_checkpoint}, but nothing was "
            f"restored: it started without state, or run {short_job(inside[-1].earlier)} was drained (F4, F5, F15)."
        )
    if inside:
        last = inside[-1]
        return (
            f"Run {short_job(last.run)} went on at checkpoint {last.first_checkpoint}, above the {last.reached} that "
            f"run {short_job(last.earlier)} had reached, and nothing says that it was restored from below it."
        )
    same = next((r for r in rewinds_in(case) if r.keeps_job_id), None)
    if same is not None:
        return f"Run {short_job(same.run)} kept its job id when it was restored, so this is not a new run."
    if not case.runs:
        return "Flink knows no run of the job that was restored, and main shows no change of run in the window."
    return "No run took over within the window, and no living run was restored from below what is committed."
