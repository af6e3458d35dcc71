"""Copies of what a run had committed itself, in a later commit of the same run: it went back below its own commits,
also where a restore since then is all that Flink shows."""

from collections.abc import Iterator

from bot.diagnosis._case import LOST_FIRST_RESTORE, empty_starts, in_window, rewinds_in, rows_by, run_of
from bot.diagnosis._read_again_once import overlap
from bot.diagnosis._restoring import can_rewind_to
from bot.diagnosis._upsert import why_upsert
from bot.domain.diagnosis import CannotTell, Case, Matches, Remedy
from bot.domain.ids import SnapshotId, short, short_job
from bot.domain.sentences import counted
from bot.domain.table import Snapshot


def came_again_by_itself(case: Case) -> Matches | CannotTell | None:
    """A match where a source range of its own came again with them (`duplicate_commits`), else what is missing to know;
    None: no copies of that kind, or the source is known to have given them twice. Where the run was never restored,
    where a rewind is seen, or ids show a start without state or a commit that was made twice, these tell."""
    found = list(_pairs(case)) if why_upsert(case) is None else []
    if not found:
        return None
    ranges = _came_again(case, "same-source-range")
    proven = [each for each in found if each[1].snapshot_id in ranges]
    first, second = min(proven or found, key=lambda pair: case.observation.table.place_of(pair[1].snapshot_id))
    return _matches(case, first, second) if proven else CannotTell(missing=(_untold(first, second),))


def _pairs(case: Case) -> Iterator[tuple[Snapshot, Snapshot]]:
    """(earlier, later) commit of one run, which was or may have been restored, with copies in both."""
    table, inside = case.observation.table, {s.snapshot_id for s in in_window(case)}
    told = {each.run for each in rewinds_in(case) if each.keeps_job_id}
    told |= {each.run for each in empty_starts(case) if each.keeps_job_id}
    repeated = _came_again(case, "same-files") | _came_again(case, "same-checkpoint")
    for pair in case.duplicates.pairs if case.duplicates is not None else ():
        first, second = table.by_id.get(pair.first), table.by_id.get(pair.second)
        if first is None or second is None or first == second or second.snapshot_id not in inside - repeated:
            continue
        if second.job_id is None or first.job_id != second.job_id or second.job_id in told:
            continue
        run = run_of(case, second.job_id)
        if run is not None and run.restored is None and not run.restored_count:
            continue
        if overlap(case, first.snapshot_id, second.snapshot_id) is not False:
            yield first, second


def _came_again(case: Case, how: str) -> frozenset[SnapshotId]:
    """The commits that brought again, in this way, what another of their own run had."""
    by_id = case.observation.table.by_id
    repeated = case.duplicate_commits.repeated if case.duplicate_commits is not None else ()
    own = (r for r in repeated if r.how == how and r.first in by_id and r.again in by_id)
    return frozenset(r.again for r in own if by_id[r.first].job_id == by_id[r.again].job_id)


def _untold(first: Snapshot, second: Snapshot) -> str:
    lost = LOST_FIRST_RESTORE.format(run=short_job(second.job_id))
    return (
        f"{lost}: {short(second.snapshot_id)} brought keys of {short(first.snapshot_id)} again, and both are its own; "
        "either it read its source again from below, or the source gave them twice"
    )


def _matches(case: Case, first: Snapshot, second: Snapshot) -> Matches:
    run, extra = second.job_id, case.duplicates.extra_rows if case.duplicates is not None else 0
    possible = can_rewind_to(case, second.parent_id)
    return Matches(
        headline=f"Run {short_job(run)} committed again what it had committed itself.",
        reasons=(
            f"{short(second.snapshot_id)}, its checkpoint {second.checkpoint_id}, covers source positions of its own "
            f"checkpoints before it again, and keys of {short(first.snapshot_id)}, checkpoint {first.checkpoint_id}, "
            f"live twice: {counted(extra, 'row')} too many.",
            "Flink shows only the newest restore of a run. An earlier one, from below what was committed, reads like "
            "this, under the same job id.",
        ),
        rows=rows_by(case, (run,) if run is not None else (), first.checkpoint_id),
        last_good=second.parent_id,
        wrong_run=run,
        remedy=Remedy.DEDUPLICATE_ROWS if possible is False else Remedy.REWIND_TABLE_AND_JOB,
    )
