"""Whether a run began without state, or from an older point, over commits of the job that have expired since: then main
lists none of them, and only Flink's lists and the rows that it brings may tell."""

from collections.abc import Iterator

from bot.diagnosis._case import in_window
from bot.diagnosis._read_again_once import lives_once, uncounted
from bot.diagnosis._wrong_rows import wrong_rows
from bot.domain.beginnings import began_without_state, origin_of
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import CheckpointKind, JobRun, names_run
from bot.domain.ids import short, short_job
from bot.domain.rewinds import flink_commits
from bot.domain.table import Snapshot


def may_have_begun_empty(case: Case) -> CannotTell | None:
    """What is missing to know that no commit of the job is older than the start of a run that had no state; None:
    nothing is. Where Flink lists no earlier run, the rows that it brought settle it once they were counted, as over a
    table that another engine had filled."""
    for run, first, root in _over_expired(case):
        is_told = run.restored is not None or origin_of(run) is not None
        if not is_told or not began_without_state(run, first.committed_at if first is not None else None):
            continue
        said = (
            f"whether the job had committed before run {short_job(run.job_id)} was started without state: what main "
            f"had below {short(root.snapshot_id)} has expired"
        )
        if (earlier := _newest_that_completed(case, run)) is not None:
            its = f"checkpoints that run {short_job(earlier.job_id)} completed before"
            return CannotTell(missing=(f"{said}, and Flink lists {its}",))
        if first is None:
            return CannotTell(missing=(f"{said}; its first rows tell where its source began",))
        if (left := uncounted(case, run.job_id, first.snapshot_id)) is not None:
            return CannotTell(
                missing=(f"{said}, and what its source brought: {'; '.join(left.missing)}",), asks=left.asks
            )
        if not lives_once(case):
            return CannotTell(missing=(f"{said}, and whether each row that its source brought is there once",))
    return None


def may_have_begun_below(case: Case) -> CannotTell | None:
    """What is missing to know that a run was not restored from an older point than the job had committed: Flink lists
    later checkpoints of the run that it was restored from. None: nothing is."""
    for run, _first, root in _over_expired(case):
        point = run.restored
        if point is None or (before := _restored_from(case, run)) is None:
            continue
        later = [
            c.checkpoint_id
            for c in before.checkpoints
            if c.status == "COMPLETED" and c.kind is not CheckpointKind.SAVEPOINT
            if c.checkpoint_id > point.checkpoint_id and c.triggered_at < point.at
        ]
        if later:
            return CannotTell(
                missing=(
                    f"whether run {short_job(before.job_id)} had committed checkpoint {max(later)}, which it completed "
                    f"before run {short_job(run.job_id)} was restored from its checkpoint {point.checkpoint_id}: what "
                    f"main had below {short(root.snapshot_id)} has expired",
                )
            )
    return None


def _over_expired(case: Case) -> Iterator[tuple[JobRun, Snapshot | None, Snapshot]]:
    """(run, its first commit where it has one, the oldest snapshot that main lists) of the runs that are alive, or have
    committed in the window, where main lists no commit from before their start that may be of their sink, and what it
    had before has expired. Where all that it lists is younger than such a start, this lies below the window, and is
    heeded only while rows are wrong that it may explain."""
    root = next(reversed(case.observation.table.chain), None)
    if root is None or not root.has_commit_below:
        return
    inside, commits = {s.snapshot_id for s in in_window(case)}, flink_commits(case.observation.table)
    for run in case.runs:
        began = run.started_at
        first = next((s for s in commits if s.job_id == run.job_id and s.committed_at >= began), None)
        is_meant = first.snapshot_id in inside if first is not None else not run.is_terminal
        before = [s for s in commits if s.committed_at < began and _may_be_one_sink(s, first)]
        if is_meant and not before and (root.committed_at < began or wrong_rows(case) is not None):
            yield run, first, root


def _may_be_one_sink(one: Snapshot, other: Snapshot | None) -> bool:
    return other is None or None in (one.operator_id, other.operator_id) or one.operator_id == other.operator_id


def _newest_that_completed(case: Case, run: JobRun) -> JobRun | None:
    """The newest run from before this one that has completed a checkpoint."""
    earlier = [each for each in case.runs if each.started_at < run.started_at]
    return next((each for each in reversed(earlier) if each.completed_count or each.checkpoints), None)


def _restored_from(case: Case, run: JobRun) -> JobRun | None:
    """The listed run from whose point it was restored; the newest one before it where Flink does not tell the path."""
    path = run.restored.path if run.restored is not None else None
    earlier = [each for each in case.runs if each.started_at < run.started_at]
    return next((each for each in reversed(earlier) if path is None or names_run(path, each.job_id)), None)
