"""Whether a run began without state over commits of the job that have expired since: then main lists none of them, and
only Flink's lists and the rows that it brings may tell."""

from collections.abc import Iterator

from bot.diagnosis._case import in_window
from bot.diagnosis._read_again_once import lives_once, uncounted
from bot.diagnosis._wrong_rows import wrong_rows
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import JobRun
from bot.domain.guests import Guests
from bot.domain.ids import short, short_job
from bot.domain.rewinds import began_without_state, flink_commits, origin_of
from bot.domain.table import Snapshot


def may_have_begun_empty(case: Case) -> CannotTell | None:
    """What is missing to know that no commit of the job is older than the start of a run that had no state; None:
    nothing is. Where Flink lists no earlier run, the rows that it brought settle it once they were counted, as over a
    table that another engine had filled."""
    for run, first, root in over_expired(case):
        is_first = all(each.started_at >= run.started_at for each in case.runs)
        if not lies_in_doubt(case, run, root) and (is_first or _brought_right_rows(case, run, first)):
            continue
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


def over_expired(case: Case) -> Iterator[tuple[JobRun, Snapshot | None, Snapshot]]:
    """(run, its first commit where it has one, the oldest snapshot that main lists) of the runs that are alive, or have
    committed in the window, where main lists no commit from before their start that may be of their sink, and what it
    had before has expired."""
    root = next(reversed(case.observation.table.chain), None)
    if root is None or not root.has_commit_below:
        return
    inside, alive = {s.snapshot_id for s in in_window(case)}, Guests(case).alive
    commits = [s for s in flink_commits(case.observation.table) if s.job_id not in alive]
    for run in case.runs:
        began = run.started_at
        first = next((s for s in commits if s.job_id == run.job_id and s.committed_at >= began), None)
        is_meant = first.snapshot_id in inside if first is not None else not run.is_terminal
        before = [s for s in commits if s.committed_at < began and _may_be_one_sink(s, first)]
        if is_meant and not before:
            yield run, first, root


def lies_in_doubt(case: Case, run: JobRun, root: Snapshot) -> bool:
    """Whether the run began above something that main lists. A start below all of it, as night by night when what a run
    had committed expires, is heeded only while rows are wrong that it may explain."""
    return root.committed_at < run.started_at or wrong_rows(case) is not None


def _brought_right_rows(case: Case, run: JobRun, first: Snapshot | None) -> bool:
    return first is not None and uncounted(case, run.job_id, first.snapshot_id) is None and lives_once(case)


def _may_be_one_sink(one: Snapshot, other: Snapshot | None) -> bool:
    return other is None or None in (one.operator_id, other.operator_id) or one.operator_id == other.operator_id


def _newest_that_completed(case: Case, run: JobRun) -> JobRun | None:
    """The newest run from before this one that has completed a checkpoint."""
    earlier = [each for each in case.runs if each.started_at < run.started_at]
    return next((each for each in reversed(earlier) if each.completed_count or each.checkpoints), None)
