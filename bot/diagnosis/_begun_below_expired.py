"""Whether a run was restored from an older point than the job had committed, where main lists no commit of the job from
before its start any more: Flink's lists may tell, else the rows that it brings, counted over what is left."""

from collections.abc import Iterator

from bot.diagnosis._asked import answers, checked_until
from bot.diagnosis._began_over_expired import lies_in_doubt, over_expired
from bot.diagnosis._case import writes_as_v1
from bot.diagnosis._read_again_once import begins_below, lives_once, uncounted
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import CheckpointKind, JobRun, names_run
from bot.domain.ids import CheckpointId, short, short_job
from bot.domain.rewinds import FROM_NOTHING, began_from, came_up_at, start_shown
from bot.domain.table import Snapshot


def may_have_begun_below_as_new(case: Case) -> CannotTell | None:
    """The same of runs that took over from another (F2)."""
    return next((said for run, said in _untold(case) if not _keeps_job_id(run)), None)


def may_be_withheld(case: Case) -> CannotTell | None:
    """The same of runs whose sink would skip what they commit (F3): under the same job id, or with the V1 sink."""
    held = (said for run, said in _untold(case) if _keeps_job_id(run) or writes_as_v1(run, None) is not False)
    return next(held, None)


def _keeps_job_id(run: JobRun) -> bool:
    return run.restored is not None and names_run(run.restored.path, run.job_id)


def _untold(case: Case) -> Iterator[tuple[JobRun, CannotTell]]:
    """(run, what is missing). An earlier run of which Flink lists its newest checkpoints, none of them later than the
    one that was restored, leaves nothing open."""
    for run, first, root in over_expired(case):
        moment = first.committed_at if first is not None else None
        began = began_from(run, moment)
        if began in (None, FROM_NOTHING):
            continue
        shown = start_shown(run, moment)
        line = _since(case, run, shown.path if shown is not None else None)
        if (later := _later_than(began, line, run)) is not None:
            if not _each_row_has_its_position(case, run, first):
                yield run, _had_completed(later, run, began, root)
        elif not (line and line[0].checkpoints) and (_is_silent(run, first) or lies_in_doubt(case, run, root)):
            said = _unlisted(run, began, root)
            if (left := _not_counted(case, run, first, root, said)) is not None:
                yield run, left


def _is_silent(run: JobRun, first: Snapshot | None) -> bool:
    """Whether it has done nothing since its restore, so that nothing of it can have expired either."""
    return first is None and not run.completed_count and not run.checkpoints


def _since(case: Case, run: JobRun, path: str | None) -> tuple[JobRun, ...]:
    """The listed runs from the one from whose point it was restored on up to itself, oldest first; where Flink does not
    tell the path, the newest one before it; none where that one is not listed, or it is its own."""
    earlier = [each for each in case.runs if each.started_at < run.started_at]
    named = [place for place, each in enumerate(earlier) if path is None or names_run(path, each.job_id)]
    return tuple(earlier[named[-1] :]) if named else ()


def _later_than(
    began: CheckpointId | None, line: tuple[JobRun, ...], run: JobRun
) -> tuple[JobRun, CheckpointId] | None:
    """The newest checkpoint that the restored run's predecessor completed above it, or a run in between completed."""
    until = came_up_at(run)
    found = [
        (each, c.checkpoint_id)
        for place, each in enumerate(line)
        for c in each.checkpoints
        if c.status == "COMPLETED" and c.kind is not CheckpointKind.SAVEPOINT and c.triggered_at < until
        if place or c.checkpoint_id > (began or FROM_NOTHING)
    ]
    return max(found, key=lambda each: (each[0].started_at, each[1]), default=None)


def _had_completed(
    later: tuple[JobRun, CheckpointId], run: JobRun, began: CheckpointId | None, root: Snapshot
) -> CannotTell:
    before, checkpoint = later
    return CannotTell(
        missing=(
            f"whether run {short_job(before.job_id)} had committed checkpoint {checkpoint}, which it completed "
            f"before run {short_job(run.job_id)} was restored from checkpoint {began}: what "
            f"main had below {short(root.snapshot_id)} has expired",
        )
    )


def _unlisted(run: JobRun, began: CheckpointId | None, root: Snapshot) -> str:
    return (
        f"whether the job had committed more than checkpoint {began} before run {short_job(run.job_id)} was restored "
        f"from that: what main had below {short(root.snapshot_id)} has expired, and Flink lists no later checkpoint, "
        "nor that there was none"
    )


def _not_counted(case: Case, run: JobRun, first: Snapshot | None, root: Snapshot, said: str) -> CannotTell | None:
    """What is missing to know from its rows that it read nothing again; None: they show it."""
    if first is None:
        return CannotTell(missing=(f"{said}; its first rows tell where its source began",))
    if (left := uncounted(case, run.job_id, first.snapshot_id)) is not None:
        return CannotTell(missing=(f"{said}, and what its source brought: {'; '.join(left.missing)}",), asks=left.asks)
    if not lives_once(case):
        return CannotTell(missing=(f"{said}, and whether each row that its source brought is there once",))
    if _each_row_has_its_position(case, run, first):
        return None
    left = begins_below(case, root.snapshot_id, first.snapshot_id)
    return CannotTell(missing=(f"{said}; {left.missing[0]}",), asks=left.asks) if left is not None else None


def _each_row_has_its_position(case: Case, run: JobRun, first: Snapshot | None) -> bool:
    """Whether as many distinct positions were counted, since it brought its first rows, as main had rows then, of which
    none was deleted: whatever their keys, no two rows are of one position, and none is missing."""
    if first is None or case.gaps is None or case.contract.position_partition is not None:
        return False
    if not answers(case, "missing_positions") or uncounted(case, run.job_id, first.snapshot_id) is not None:
        return False
    counted = case.observation.table.by_id.get(checked_until(case, "missing_positions") or first.snapshot_id)
    if counted is None or "total-records" not in counted.summary or counted.counted("total-delete-files"):
        return False
    return lives_once(case) and case.gaps.positions == counted.counted("total-records")
