"""F18: the source went on further than the table had come: nobody ever wrote the positions in between.

Happens when a job starts without state at the newest or the group's offsets, or when the source dropped records
before they were read. Nothing that Flink wrote holds these rows: they must be read from the source again.
"""

from collections.abc import Sequence
from itertools import pairwise

from bot.diagnosis._support.asked import lacking
from bot.diagnosis._support.case import at_position, empty_starts, in_window, may_be_missing, unseen
from bot.diagnosis._support.other_writers import (
    COMPARES,
    changes_without_job,
    is_overwrite,
    lost_by,
    unsettled_compactions,
)
from bot.diagnosis._support.unbroken import is_found_missing, lies_beside_gaps, rows_were_put_back, untold
from bot.diagnosis._support.upsert import may_be_replaced, skipped_between_commits, why_upsert
from bot.diagnosis.commit_overwritten import overwritten
from bot.history.case import Case
from bot.history.counted import Counted
from bot.history.other_writers import name_of
from bot.history.proof import why_no_hole
from bot.history.rollbacks import Rollback
from bot.history.rolled_back import Outcome, rollbacks_of
from bot.history.source_records import on_broker, on_broker_in_words
from bot.history.unread_points import rows_told
from bot.history.without_ids import why_untold, without_ids
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import GapsFinding, LeakStanding, PositionGap
from bot.observation.flink import SourcePosition, StoredCheckpoint
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.ledger import LedgerRow
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot


def taken_off(case: Case, found: GapsFinding) -> Excluded | None:
    """That is another mode's fault, where they have taken as many, or nobody knows how many."""
    removing, most = _removing(case), _most_taken(case)
    if not removing or (most is not None and most - _brought_back(case) < found.missing):
        return None
    first = removing[0]
    return Excluded(
        reason=f"{short(first.snapshot_id)} ({first.operation} by {name_of(first)}) took rows off the table: they "
        f"were written once{' (F21)' if first in changes_without_job(case) else ''}."
    )


def taken_in_part(case: Case, found: GapsFinding) -> CannotTell | None:
    """What is missing to know of all of them, where these changes may have taken fewer rows than are missing; None:
    they took none."""
    removing, most = _removing(case), _most_taken(case)
    if not removing or not most:
        return None
    took = f"they took {counted(most, 'row')} at the most, and nothing holds the others"
    if most >= found.missing:
        took = f"they took {counted(most, 'row')}, and wrote {_brought_back(case)} anew, which may be the same ones"
    which = f"which of the {found.missing} missing positions {short(removing[0].snapshot_id)} and its like took off"
    return CannotTell(missing=(f"{which}: {took}",))


def _removing(case: Case) -> tuple[Snapshot, ...]:
    foreign = [s for s in changes_without_job(case) if s.operation != "append"]
    return tuple(s for s in in_window(case) if s in foreign or is_overwrite(s))


def _most_taken(case: Case) -> int | None:
    """How many rows they have taken off at the most; None: one of them does not count them."""
    taken = [_counted(case, each) for each in _removing(case)]
    told = [each for each in taken if each is not None]
    return sum(told) if len(told) == len(taken) else None


def _brought_back(case: Case) -> int:
    """How many rows they have written that may be rows that they took: an engine without a job of its own writes anew
    what it leaves of a file. Not where no file of theirs bears a position."""
    rows = case.ledger.rows if case.ledger is not None else ()
    bare = {row.snapshot_id for row in rows if row.added_rows and row.position_from is None}
    own = (each for each in _removing(case) if each.operation == "overwrite" and each.job_id is None)
    return sum(each.counted("added-records") for each in own if each.snapshot_id not in bare)


def _counted(case: Case, change: Snapshot) -> int | None:
    if change.operation == "replace":
        return lost_by(case, change)
    by_files = change.counted("added-delete-files") and not change.counted("added-position-deletes")
    is_told = "deleted-records" in change.summary or change.counted("added-position-deletes")
    if not is_told or by_files or change.counted("added-equality-deletes"):
        return None
    return change.counted("deleted-records") + change.counted("added-position-deletes")


def brought_once(case: Case, found: GapsFinding) -> Excluded | CannotTell | None:
    """By which commits, as far as is known; None: by none."""
    if (rolled_back := _rolled_back(case)) is not None:
        return rolled_back
    if (elsewhere := taken_off(case, found)) is not None:
        return elsewhere
    if (row := _held_by_rolled_back(case, found)) is None:
        return None
    if case.contract.position_partition is not None:
        return CannotTell(missing=(_of_which_partition(row),))
    return Excluded(
        reason=f"{short(row.snapshot_id)} had brought positions {at_position(case, row.position_from)} to "
        f"{at_position(case, row.position_until)}, and was rolled back: it was not the source that skipped them."
    )


def _rolled_back(case: Case) -> Excluded | CannotTell | None:
    """Whether a rollback took the rows off main, which is F6's fault. Only Flink knows of a run that went on whether it
    was restored in between, and read them again."""
    settled = {Outcome.READ_AGAIN, Outcome.NO_ROWS}
    still = [
        each for each in rollbacks_of(case) if each[1].outcome not in settled and not _is_another_hole(case, each[0])
    ]
    bare = without_ids(case)
    if bare and any(each.adds_rows for each in case.observation.table.rolled_back):
        return CannotTell(missing=(f"whether main had the missing rows before it was rolled back: {why_untold(bare)}",))
    if not still:
        return None
    if isinstance(case.observation.jobs, NotSeen):
        return CannotTell(missing=(unseen(case.observation.jobs),))
    sure = (each for each, told in still if told.outcome is not Outcome.UNTOLD or is_found_missing(case, each))
    if (lost := next(sure, None)) is None:
        return CannotTell(missing=(untold(case, *still[0]),))
    return Excluded(
        reason=f"Main was rolled back to {short(lost.target)} and lost {counted(len(lost.left), 'commit')}, which "
        "held rows that are missing now (F6)."
    )


def _is_another_hole(case: Case, lost: Rollback) -> bool:
    return rows_were_put_back(case, lost) or lies_beside_gaps(case, lost)


def _held_by_rolled_back(case: Case, found: GapsFinding) -> LedgerRow | None:
    """A commit that was rolled back and had brought missing positions, by the bounds of its files."""
    for row in (each for each in (case.ledger.rolled_back if case.ledger else ()) if each.operation != "replace"):
        low, high = row.position_from, row.position_until
        if low is not None and high is not None and any(g.first <= high and low <= g.last for g in found.gaps):
            return row
    return None


def _of_which_partition(row: LedgerRow) -> str:
    return (
        f"whether {short(row.snapshot_id)}, which was rolled back, had brought the missing positions: the bounds of "
        "its files are of all source partitions together"
    )


MODE = Mode(
    code="F18",
    name="source_positions_skipped",
    title="the source skipped positions that nobody wrote",
    needs=("ledger", "missing_positions", "leaked_manifests"),
    asks_for=(COMPARES,),
    false_positives=(
        "A compacted topic, tombstones and transaction markers: positions without a record. "
        "`position_is_dense: false` in the contract says so.",
        "A job that filters records on purpose.",
        "An upsert table: a row that was replaced takes its position along.",
    ),
    neighbours={
        "F4": "There the sink had the rows and dropped them, as Flink manifests show. Here no manifest holds them.",
        "F6": "There commits had brought the rows and a rollback removed them from main. Here nobody ever wrote them.",
        "F15": "There a start had no state; that can be the cause, but here positions are missing, which "
        "can happen to a restored run as well.",
        "F26": "There a commit had brought the rows, and was overwritten in the catalog. Here nobody ever wrote them.",
        "F21": "There a delete or overwrite by another writer took rows off. Here nobody ever wrote them.",
    },
    act=Act.REPAIR,
    remedies=(Remedy.REPLAY_SOURCE_RANGE, Remedy.FIND_ARCHIVE),
)


def examine(case: Case) -> Examined:
    """Matches on missing positions that no rolled-back commit, leaked manifest or other writer explains."""
    if missing := lacking(case, "ledger", "missing_positions"):
        return CannotTell(missing=missing)
    found = case.gaps
    assert found is not None
    if not found.missing:
        return Excluded(
            reason="The window has no source positions at all."
            if not found.has_positions
            else f"No source position is missing between {at_position(case, found.lowest)} and "
            f"{at_position(case, found.highest)}."
        )
    between = Counted(case).between_jobs
    found = _but_for(case, found, between)
    if not found.missing:
        gap = between[0]
        return Excluded(
            reason=f"Positions {at_position(case, gap.first)} to {at_position(case, gap.last)} lie between rows of the "
            "job and those of another job on the table: the job has not passed them."
        )
    if found.is_untold and why_upsert(case) is None:
        return _without_record(case, found)
    if (elsewhere := _was_overwritten(case, found) or brought_once(case, found)) is not None:
        return elsewhere
    if missing := lacking(case, "leaked_manifests"):
        return CannotTell(missing=missing)
    assert case.leaked is not None
    dropped = case.leaked.of(LeakStanding.DROPPED, LeakStanding.LOST_STATE)
    if dropped:
        rows = rows_told(case.leaked.lost_rows, sum(leak.rows is None for leak in dropped), case.leaked.lost_deletes)
        return Excluded(
            reason=f"{counted(len(dropped), 'Flink manifest')} with {rows} {'was' if len(dropped) == 1 else 'were'} "
            "written and never committed: the source did give these rows, and the sink lost them (F3, F4, F5, F9, F12, "
            "F27)."
        )
    if (open_still := _may_have_been_written(case) or taken_in_part(case, found)) is not None:
        return open_still
    if found.replaced is None and why_upsert(case) is not None:
        skipped = skipped_between_commits(case)
        missing_rows = sum(gap.last - gap.first + 1 for gap in skipped)
        kept = on_broker(case.observation.kafka, skipped)
        found = found.model_copy(update={"gaps": skipped, "missing": missing_rows, "on_broker": kept})
    return _matches(case, found)


def _but_for(case: Case, found: GapsFinding, between: Sequence[PositionGap]) -> GapsFinding:
    """The same without these gaps, which no replay is to fill."""
    if not between:
        return found
    rest = tuple(gap for gap in found.gaps if gap not in between)
    missing = found.missing - sum(gap.size for gap in between)
    kept = on_broker(case.observation.kafka, rest)
    return found.model_copy(update={"gaps": rest, "missing": missing, "on_broker": kept})


def _was_overwritten(case: Case, found: GapsFinding) -> Excluded | None:
    lost = overwritten(case)
    if not lost or sum(each.commit.counted("added-records") for each in lost) < found.missing:
        return None
    return Excluded(
        reason=f"{short(lost[0].commit.snapshot_id)} had brought rows, and was overwritten in the catalog (F26)."
    )


def _without_record(case: Case, found: GapsFinding) -> Excluded | CannotTell:
    """Of positions that may have had no record."""
    held = f"{counted(found.missing, 'position')} without a row"
    if (rows := Counted(case)).is_dense:
        left = f"whether {held} had a record: commits from before the window have such holes, too. If that is right, "
        return CannotTell(missing=(f"{left}set position_is_dense to false in the contract",))
    if (untold := why_no_hole(case)) is not None:
        return CannotTell(missing=(untold,))
    return Excluded(
        reason=f"{rows.why_not_dense} {held[0].upper()}{held[1:]} lie where one state went on without a break: they "
        "had no record, or the job left it out."
    )


def _may_have_been_written(case: Case) -> CannotTell | None:
    """What is missing to know that nothing ever held the rows; None: nothing is."""
    if untold := may_be_missing(case):
        return CannotTell(
            missing=(
                f"whether the missing rows are those of {counted(len(untold), 'Flink manifest')} that may still be "
                "committed, or may have been read again. The first is of checkpoint "
                f"{untold[0].checkpoint_id} of run {short_job(untold[0].job_id)}",
            )
        )
    if (unknown := may_be_replaced(case)) is not None:
        return CannotTell(missing=(unknown,))
    return unsettled_compactions(case)


def _matches(case: Case, found: GapsFinding) -> Matches:
    gap = found.gaps[0] if found.gaps else None
    below, above = _edges(case, gap)
    reasons = [
        f"{found.missing} source positions between {at_position(case, found.lowest)} and "
        f"{at_position(case, found.highest)} are in no live row"
        + (
            f"; the first gap is {at_position(case, gap.first)} to {at_position(case, gap.last)}{_of(gap)}."
            if gap
            else "."
        )
    ]
    if below is not None and above is not None:
        ends, begins = at_position(case, below.position_until), at_position(case, above.position_from)
        reasons.append(
            f"{short(below.snapshot_id)} ends at position {ends}, and the next commit "
            f"{short(above.snapshot_id)} (run {short_job(above.job_id)}, checkpoint {above.checkpoint_id}) begins at "
            f"{begins}."
        )
    reasons += _on_broker(case, found)
    start = next((s for s in empty_starts(case) if above is not None and s.first == above.snapshot_id), None)
    if start is not None:
        reasons.append(
            f"That is the first commit of run {short_job(start.run)}, which started without state (F15): its source "
            "began too late."
        )
    unsafe = next((run for run in case.runs if run.may_lose_in_flight and run.failed_count), None)
    if unsafe is not None:
        reasons.append(
            f"Run {short_job(unsafe.job_id)} writes with the V1 sink and unaligned checkpoints, and "
            f"{counted(unsafe.failed_count, 'checkpoint')} of it failed: it may have lost these rows so (F27), though "
            "no Flink manifest lists them any more. `orphan_files` lists files that nothing names."
        )
    gone = _expired_beside_main(case)
    files = case.orphans.orphans - case.orphans.young if case.orphans is not None else 0
    is_gone = _is_lost_for_good(case, found, may_be_written=bool(gone or files))
    if gone:
        reasons.append(
            f"No commit that is listed, no other writer and no leaked Flink manifest holds these rows. But "
            f"{counted(gone, 'commit')} between those on main {'is' if gone == 1 else 'are'} not listed any more: they "
            "may have been written, rolled back and expired."
        )
        headline = f"{found.missing} source positions are on the table no more, or never were, and nothing holds them."
    else:
        reasons.append("No rolled-back commit, no other writer and no leaked Flink manifest holds these rows.")
        if files and not is_gone:
            held = counted(files, "file")
            reasons.append(f"But {held} on storage that no commit names may: look into them before the source is read.")
        headline = (
            f"{found.missing} source positions were never written to the table, nor to any file that waits for it."
        )
    if is_gone:
        headline = f"Kafka no longer has the {found.missing} missing source positions: they are lost for good."
    return Matches(
        headline=headline,
        reasons=tuple(reasons),
        rows=tuple(row.snapshot_id for row in (below, above) if row is not None),
        last_good=_last_good(case, found),
        remedy=Remedy.FIND_ARCHIVE if is_gone else Remedy.REPLAY_SOURCE_RANGE,
    )


def _on_broker(case: Case, found: GapsFinding) -> list[str]:
    """What Kafka still has of them, and what made it lose the others."""
    said = list(on_broker_in_words(found, case.observation.kafka))
    if found.on_broker is None or not found.on_broker.lost:
        return said
    state = _unread(case, found.on_broker.lost[0])
    if state is None:
        return [*said, "Retention deleted them, before the job read them or since."]
    point, each = state
    return [
        *said,
        f"Retention deleted them before the job read them: checkpoint {point.checkpoint_id} goes on at offset "
        f"{each.following:,} of {each.topic}, partition {each.partition}, which is the first that is missing.",
    ]


def _unread(case: Case, gap: PositionGap) -> tuple[StoredCheckpoint, SourcePosition] | None:
    """A restore point whose source goes on with the first that is missing: the job had not read it."""
    for point in case.observation.checkpoints.values:
        for each in point.source_positions:
            if each.following == gap.first and gap.partition in (None, str(each.partition)):
                return point, each
    return None


def _is_lost_for_good(case: Case, found: GapsFinding, *, may_be_written: bool) -> bool:
    """Whether Kafka has none of them, and no file of a job and no declared source any either."""
    told = found.on_broker
    if told is None or told.lost_positions != found.missing or (case.replayable and case.replayable.given):
        return False
    return not may_be_written or all(_unread(case, gap) is not None for gap in told.lost)


def _expired_beside_main(case: Case) -> int:
    """How many commits were made between two on main of which no metadata is left, by the sequence numbers that no
    listed one has. 0 in format v1, which counts none."""
    table = case.observation.table
    told = {s.sequence_number for s in table.snapshots}
    spans = [
        (below.sequence_number, above.sequence_number)
        for above in in_window(case)
        if above.parent_id is not None and (below := table.by_id.get(above.parent_id)) is not None
    ]
    return sum(high - low - 1 - sum(1 for each in told if low < each < high) for low, high in spans if low < high)


def _of(gap: PositionGap) -> str:
    return f" of source partition {gap.partition}" if gap.partition is not None else ""


def _edges(case: Case, gap: PositionGap | None) -> tuple[LedgerRow | None, LedgerRow | None]:
    """The neighbouring commits between which the gap lies, where their bounds of position tell: not where they are of
    several source partitions together."""
    if case.contract.position_partition is not None:
        return None, None
    rows = [r for r in (case.ledger.main if case.ledger else ()) if r.position_from is not None]
    for below, above in pairwise(rows):
        if gap and (below.position_until, above.position_from) == (gap.first - 1, gap.last + 1):
            return below, above
    return None, None


def _last_good(case: Case, found: GapsFinding) -> SnapshotId | None:
    """The parent of the first commit that may hold anything at or above the lowest gap: up to there no commit of the
    window has passed any gap, of whatever source partition. The window's edge where no bound tells, or where gaps that
    are not named may lie lower: of several source partitions, those of the last are named last."""
    is_whole = sum(gap.size for gap in found.gaps) == found.missing
    if not found.gaps or (case.contract.position_partition is not None and not is_whole):
        return case.window.since
    lowest = min(gap.first for gap in found.gaps)
    passed = next((row for row in (case.ledger.main if case.ledger else ()) if _may_reach(row, lowest)), None)
    return passed.parent_id if passed is not None else case.window.since


def _may_reach(row: LedgerRow, position: int) -> bool:
    """Whether it holds a row at or above the position, or rows of which no bound tells."""
    return bool(row.added_rows) if row.position_until is None else row.position_until >= position
