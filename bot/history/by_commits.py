"""P1 of a table whose rows do not carry their source position: main has each checkpoint of the job once.

Nothing counts rows then, so each start of the job in the window has to be known: it began from a state that has what
main had by then (P2, `lineage`). Between two starts the sink commits each completed checkpoint once. What the source
itself skipped, or gave twice under other keys, does not show.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bot.history.base import window_of
from bot.history.case import Case, once_a_case
from bot.history.lineage import Lineage
from bot.history.rollbacks import gone_between, gone_since, way_back_since
from bot.history.starts import came_up_at
from bot.observation.evidence import Verdict
from bot.observation.flink import CLOCKS_DIFFER, JobRun
from bot.observation.ids import CheckpointId, JobId, OperatorId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot

ASKS = ("leaked_manifests",)
"""What it rests on beside keys and repeated commits."""


@once_a_case
def why_not_once(case: Case) -> tuple[str, tuple[str, ...]] | None:
    """What has to be known, a clause, and the evidence tasks that may tell; None: main has each checkpoint once."""
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return f"{jobs.source}: {jobs.reason} {jobs.remedy}", ()
    if (waits := _left_out(case)) is not None:
        return waits
    commits = [s for s in window_of(case) if s.job_id is not None and s.checkpoint_id is not None]
    table, since = case.observation.table, case.window.since
    begins = table.by_id.get(since) if since is not None else next(iter(commits), None)
    if since is not None and begins is None:
        return f"what main had since {short(since)}, where the window begins: that commit has expired", ()
    if begins is not None and (gone := gone_since(begins, table)):
        return f"what {counted(gone, 'snapshot')} newer than {short(begins.snapshot_id)} had: all that has expired", ()
    if begins is not None and (back := way_back_since(begins, table)) is not None:
        return f"what main lost when it came back to {short(back.snapshot_id)}: it has expired", ()
    for run in (each for each in case.runs if not each.is_terminal and each.restored is not None):
        if not Lineage(case, run).since:
            return f"whether the sink of run {short_job(run.job_id)} commits: it has not since it was restored", ()
    for run_id in dict.fromkeys(s.job_id for s in commits if s.job_id is not None):
        mine = [s for s in commits if s.job_id == run_id]
        if (told := _of_run(case, run_id, mine)) is not None:
            return told, ()
    return None


def _left_out(case: Case) -> tuple[str, tuple[str, ...]] | None:
    """Rows that were written, and that main has not, or has lost."""
    latest = next((each for each in reversed(case.evidence) if each.task == ASKS[0]), None)
    is_open = latest is not None and latest.verdict is Verdict.INCONCLUSIVE
    if case.leaked is None or is_open:
        return "which Flink manifests were left without a commit", ASKS
    if leak := next((each for each in case.leaked.left_out if not each.is_empty), None):
        return f"whether the rows of Flink manifest {leak.name} were read again", ()
    inside = {s.snapshot_id for s in case.window.of(case.observation.table)}
    for lost in case.observation.table.rolled_back:
        if lost.adds_rows and lost.snapshot_id in inside:
            return f"whether the rows of {short(lost.snapshot_id)}, which main has lost, were read again", ()
    return None


def _of_run(case: Case, run_id: JobId, mine: Sequence[Snapshot]) -> str | None:
    """Whether the run's commits of the window are of starts that are known, and follow each other."""
    who, run = f"run {short_job(run_id)}", next((each for each in case.runs if each.job_id == run_id), None)
    if run is None:
        return f"where {who} began: Flink does not list it"
    if run.may_lose_in_flight:
        return f"whether {who} lost rows in flight: it writes with the V1 sink under unaligned checkpoints"
    if run.restored_count > 1 or run.started_at > mine[0].committed_at:
        return f"how often {who} was restored: Flink shows the newest restore only"
    for earlier, later in (pair for of_sink in _by_sink(mine) for pair in pairwise(of_sink)):
        above = later.checkpoint_id or CheckpointId(0)
        if gone := gone_between(earlier, above, case.observation.table, case.observation.jobs):
            return f"whether commits are gone: {gone.rstrip('.')}"
    return _began_at_end(case, run, mine)


def _began_at_end(case: Case, run: JobRun, mine: Sequence[Snapshot]) -> str | None:
    """Whether the state that the run came up with has what main had by then; of main as it was at the run's end."""
    table, newest = case.observation.table, mine[-1]
    base = table.by_id.get(case.window.since) if case.window.since is not None else None
    if base is not None and came_up_at(run) < base.committed_at - CLOCKS_DIFFER:
        return None  # it was at work below the window, which is taken for right
    moves = [move for move in table.head_moves if move.at <= newest.committed_at]
    then = case.observation.model_copy(update={"table": table.as_of(newest.snapshot_id, moves)})
    line = Lineage(case.model_copy(update={"observation": then}), run)
    if line.is_untold:
        return f"which commits of run {short_job(run.job_id)} came before it was restored: the clocks differ"
    return line.not_at_its_end(has_brought=any(s.adds_rows for s in line.since))


def _by_sink(commits: Sequence[Snapshot]) -> Iterator[list[Snapshot]]:
    sinks: dict[OperatorId | None, list[Snapshot]] = {}
    for commit in commits:
        sinks.setdefault(commit.operator_id, []).append(commit)
    yield from sinks.values()
