"""Which sinks of a table are surely another job's than the one that wrote a leaked manifest, and read other sources.

That a sink has another operator id does not make it another job's: the remedy of F4 is a new uid. That a job is another
does not make its source another: begun with nothing, at the earliest offset or at a time, it reads the same rows too.
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from bot.domain.beginnings import FROM_NOTHING, began_without_state, first_shown
from bot.domain.flink import FlinkManifest, JobRun, names_run
from bot.domain.guests import BESIDE
from bot.domain.ids import JobId, OperatorId
from bot.domain.rewinds import flink_commits
from bot.domain.table import Snapshot, TableState
from spark_tasks._source_names import read_apart


def sinks_beside(
    leak: FlinkManifest, wrote: JobRun | None, table: TableState, runs: Sequence[JobRun], its: Sequence[JobRun]
) -> frozenset[OperatorId | None]:
    """Those that committed before the manifest was written, and while one run by the manifest's sink was at work,
    whether Flink still lists that or not. A start without state may commit nothing itself, so any run's commits tell.
    None that may share state with the manifest's sink: a fork under a new uid commits beside it, too (F13); and none of
    which Flink does not show that it reads another source.

    `wrote`: the submission that wrote the manifest; one before it with the same job id was a run of its own. `runs`:
    those that Flink lists; `its`: of these, those of the manifest's job.
    """
    if leak.written_at is None:
        return frozenset()
    mine, others = defaultdict[tuple[JobId | None, bool], list[int]](list), defaultdict[OperatorId, list[int]](list)
    sinks_of = defaultdict[JobId | None, set[OperatorId | None]](set)
    for place, commit in enumerate(flink_commits(table)):
        sinks_of[commit.job_id].add(commit.operator_id)
        if commit.is_repair or commit.committed_at >= leak.written_at:
            continue
        if commit.operator_id == leak.operator_id:
            is_of_it = wrote is not None and commit.job_id == wrote.job_id and commit.committed_at >= wrote.started_at
            mine[commit.job_id, is_of_it].append(place)
        elif commit.operator_id is not None:
            others[commit.operator_id].append(place)
    of_its_runs = {sink for sinks in sinks_of.values() if leak.operator_id in sinks for sink in sinks}
    beside = (sink for sink, theirs in others.items() if any(_are_beside(theirs, each) for each in mine.values()))
    apart = (sink for sink in beside if not _may_share_state(sink, leak.operator_id, table, runs))
    return frozenset(s for s in apart if read_apart([r for r in runs if s in sinks_of[r.job_id]], its)) - of_its_runs


def _are_beside(theirs: Sequence[int], mine: Sequence[int]) -> bool:
    """Whether these places on main, rising, lie between those of one run as in no hand-over: also in one that went
    wrong, one or two commits of the run before still come beside the next run's, or the next run's beside them."""
    within = theirs[bisect(theirs, mine[0]) : bisect(theirs, mine[-1])]
    return len(within) >= BESIDE or any(BESIDE <= bisect(mine, place) <= len(mine) - BESIDE for place in within)


def is_of_another(
    run: JobRun,
    leak: FlinkManifest,
    wrote: JobRun | None,
    table: TableState,
    runs: Sequence[JobRun],
    beside: frozenset[OperatorId | None],
) -> bool:
    """Whether a run that Flink lists under another name than the manifest's job, and of which no kinship is told, is
    surely of another job, if it reads another source: it commits by a sink that was at work beside that job, or began
    from a point of one, or from a point of another sink that did not go on from that job's state, nor the job from its.
    `runs`: those that Flink lists; `beside`: the `sinks_beside` of the manifest."""
    shown = first_shown(run)
    theirs = [s for s in table.chain if s.job_id is not None and shown is not None and names_run(shown.path, s.job_id)]
    own = [s for s in table.chain if s.job_id == run.job_id and s.committed_at >= run.started_at]
    if any(told and {s.operator_id for s in told} <= beside for told in (theirs, own)):
        return True
    if not theirs or wrote is None or any(s.operator_id in {None, leak.operator_id} for s in theirs):
        return False
    if any(_may_go_on_from(leak.operator_id, sink, table, runs) for sink in {s.operator_id for s in theirs}):
        return False
    return not _may_be_its_past(theirs, leak, wrote, table)


def _may_be_its_past(theirs: list[Snapshot], leak: FlinkManifest, wrote: JobRun, table: TableState) -> bool:
    """Whether the job that wrote the manifest may have gone on from the runs of these commits: it began from a point of
    theirs or Flink does not show from where, or it had written the table before, and only after all of them."""
    by_its_sink = [s for s in table.chain if s.operator_id == leak.operator_id]
    its = (s.committed_at for s in by_its_sink if s.job_id == leak.job_id and s.committed_at >= wrote.started_at)
    shown = first_shown(wrote)
    is_shown_apart = shown is not None and not any(s.job_id and names_run(shown.path, s.job_id) for s in theirs)
    if not is_shown_apart and not began_without_state(wrote, min(its, default=None)):
        return True
    first = min((s.committed_at for s in by_its_sink), default=wrote.started_at)
    return first < wrote.started_at and all(s.committed_at < first for s in theirs)


def _may_share_state(sink: OperatorId, its: OperatorId, table: TableState, runs: Sequence[JobRun]) -> bool:
    """Whether one of the two may have gone on from the other: the later one, unless it is told to have begun with
    nothing. Where commits have expired, the manifest's sink (`its`) may have been there before its first one."""
    (at, _), (its_at, is_from_nothing) = _began(sink, table, runs), _began(its, table, runs)
    if at >= its_at:
        return _may_go_on_from(its, sink, table, runs)
    return not (is_from_nothing and _is_whole(table))


def _may_go_on_from(
    earlier: OperatorId | None, sink: OperatorId | None, table: TableState, runs: Sequence[JobRun]
) -> bool:
    """Whether the sink came after the earlier one, and nothing tells that it began without state."""
    at, is_from_nothing = _began(sink, table, runs)
    return at >= _began(earlier, table, runs)[0] and not is_from_nothing


def _began(sink: OperatorId | None, table: TableState, runs: Sequence[JobRun]) -> tuple[datetime, bool]:
    """When the sink began, as far as is seen, and whether with nothing: Flink tells that of its first run, or its first
    commit is of checkpoint 1. Ids rise from the restored one."""
    first = next((s for s in flink_commits(table) if s.operator_id == sink and not s.is_repair), None)
    if first is None:
        return table.read_at, False
    is_first_id = _is_whole(table) and first.checkpoint_id == FROM_NOTHING + 1
    run = next((r for r in runs if r.job_id == first.job_id and r.started_at <= first.committed_at), None)
    if run is None:
        return first.committed_at, is_first_id
    return run.started_at, is_first_id or began_without_state(run, first.committed_at)


def _is_whole(table: TableState) -> bool:
    """Whether no commit of main has expired."""
    return not table.chain or table.chain[-1].parent_id is None
