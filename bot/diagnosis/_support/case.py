"""What every failure mode asks of a case: its runs, its window, and what nobody has looked at yet."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from bot.history import empty_starts as on_main
from bot.history.base import in_window as in_window
from bot.history.case import Case, once_a_case
from bot.history.checkpoint_pace import empty_commits_allowed
from bot.history.empty_starts import EmptyStart, Switch, switches
from bot.history.other_jobs import OtherJobs
from bot.history.rewinds import rewinds_of
from bot.history.rollbacks import Sinks
from bot.history.starts import Rewind
from bot.history.unread_points import all_are_live
from bot.observation.evidence import Verdict
from bot.observation.findings import LeakedManifest, LeakStanding, RepeatedCommit
from bot.observation.flink import V1_COMMITTER, JobRun
from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.ledger import Sink
from bot.observation.looked import NotSeen
from bot.observation.sentences import clock_time
from bot.observation.table import Snapshot, TableState

LOST_FIRST_RESTORE = "the point from which run {run} was first restored, which Flink no longer lists"


def time_in(case: Case, at: datetime) -> str:
    """A moment as it is said in this case: with its day where that is another than the one of the look."""
    return clock_time(at, case.observation.table.read_at, seconds=True)


def at_position(case: Case, position: int | None) -> str:
    """A source position as people may read it."""
    return case.contract.shown(case.contract.position, position)


def run_of(case: Case, job_id: JobId | None) -> JobRun | None:
    return next((run for run in case.runs if run.job_id == job_id), None)


def living(case: Case) -> tuple[JobRun, ...]:
    """The runs that are not at their end, oldest first."""
    return tuple(run for run in case.runs if not run.is_terminal)


def rewinds_in(case: Case) -> tuple[Rewind, ...]:
    """The rewinds whose first commit lies in the window, oldest first, and those that are silent so far."""
    return tuple(r for r in _all_rewinds_in(case) if r.only_if_of_job is None)


def untold_rewinds_in(case: Case) -> tuple[Rewind, ...]:
    """The same of those that depend on whether a run that Flink does not list is the job's."""
    return tuple(r for r in _all_rewinds_in(case) if r.only_if_of_job is not None)


@once_a_case
def _all_rewinds_in(case: Case) -> tuple[Rewind, ...]:
    ids = {s.snapshot_id for s in in_window(case)}
    return tuple(r for r in rewinds_of(case) if r.first is None or r.first in ids)


def unlisted_switches(case: Case) -> tuple[Switch, ...]:
    """New runs in the window whose ids begin above the old maximum, and whose first restore Flink no longer lists: a V1
    sink may have held replayed rows back until then. See `leaves_gap`: without one it looks like a hand-over."""
    ids = {s.snapshot_id for s in in_window(case)}
    rewound = {r.run for r in rewinds_in(case)}
    return tuple(
        s
        for s in switches(case.observation.table)
        if s.first in ids and s.run not in rewound and s.first_checkpoint > s.reached and not _is_listed(case, s)
    )


def leaves_gap(switch: Switch) -> bool:
    """Whether the new run's first id is not the next one: something kept it from committing until then."""
    return switch.first_checkpoint > switch.reached + 1


def _is_listed(case: Case, switch: Switch) -> bool:
    run = run_of(case, switch.run)
    first_at = case.observation.table.by_id[switch.first].committed_at
    return run is not None and (run.restored is None or run.restored.at <= first_at)


def not_asked(case: Case, task: str) -> str:
    """The evidence task as something that is missing, with the reason if it ran and could not answer."""
    last = next((e for e in reversed(case.evidence) if e.task == task), None)
    if last is not None and last.verdict is Verdict.INCONCLUSIVE:
        return f"{task} (it ran and could not answer: {last.headline})"
    return task


def unseen(jobs: NotSeen) -> str:
    """A source that could not be asked, with what to do about it."""
    return f"{jobs.source}: {jobs.reason} {jobs.remedy}"


def rows_by(case: Case, jobs: Iterable[JobId], above: CheckpointId | None) -> tuple[SnapshotId, ...]:
    """The ledger's rows on main by these runs, from above a checkpoint id (exclusive) where one is given."""
    wanted = set(jobs)
    rows = case.ledger.main if case.ledger else ()
    return tuple(
        row.snapshot_id
        for row in rows
        if row.job_id in wanted and (above is None or row.checkpoint_id is None or row.checkpoint_id > above)
    )


def writes_as_v1(run: JobRun | None, operator_id: OperatorId | None) -> bool | None:
    """Whether the run's sink is `FlinkSink`. Where no operator has a name that a sink is known by: its committer is an
    operator of the graph under the very id that its snapshots carry. None when Flink lists no operators."""
    if run is None or not run.vertices:
        return None
    sink = Sinks([run]).of_run(run.job_id, operator_id)
    is_named = sink is not Sink.FLINK_UNKNOWN
    return sink is Sink.FLINK_V1 if is_named else any(vertex.vertex_id == operator_id for vertex in run.vertices)


def committer_ids(case: Case, run: JobRun) -> frozenset[OperatorId]:
    """The ids under which the run's sink commits, as far as they are known: of the V1 committer where it heads its
    chain, because a chain bears the id of its first operator, and of the Flink manifests that the run has left."""
    heads = {v.vertex_id for v in run.vertices if V1_COMMITTER in v.name.split(" -> ")[0]}
    return frozenset(heads | {m.operator_id for m in case.observation.flink_manifests.values if m.job_id == run.job_id})


def longest_silence(table: TableState) -> int:
    """Checkpoints that may pass without a commit; one more, because the newest may be on its way."""
    return empty_commits_allowed(table.properties) + 1


def checkpoints(ids: Sequence[int]) -> str:
    """`checkpoint 8`, `checkpoints 8 and 9`: a number alone is read as how many."""
    return f"checkpoint{'s' if len(ids) > 1 else ''} {listed(ids)}"


def listed(ids: Iterable[int]) -> str:
    """Checkpoint ids in a sentence: `8`, `8 and 9`, `8, 9 and 2 more`."""
    words = [str(i) for i in ids]
    if len(words) > 4:
        words = [*words[:3], f"{len(words) - 3} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


@once_a_case
def empty_starts(case: Case) -> tuple[EmptyStart, ...]:
    """Those whose first commit lies in the window, oldest first, the silent ones last."""
    inside = {s.snapshot_id for s in in_window(case)}
    found = on_main.empty_starts(case.observation.table, case.runs, OtherJobs(case).alive)
    return tuple(s for s in found if s.first is None or s.first in inside)


def counted_anew(case: Case, repeated: RepeatedCommit) -> bool:
    """Whether the job started without state under this job id between the two commits, and wrote other files: the
    second carries the same checkpoint because the ids began at 1 again, and its source may have begun anew too."""
    table = case.observation.table
    first, again = table.by_id.get(repeated.first), table.by_id.get(repeated.again)
    if repeated.how != "same-checkpoint" or first is None or again is None:
        return False
    own = (s.first for s in empty_starts(case) if s.keeps_job_id and s.run == again.job_id and s.first)
    between = range(table.place_of(repeated.first) + 1, table.place_of(repeated.again) + 1)
    return any(table.place_of(start) in between for start in own)


def sinks_of(case: Case, run: JobRun) -> tuple[OperatorId | None, ...]:
    """The operators by which the run has committed, to whatever branch, or left manifests. (None,): any, because
    nothing tells one from another."""
    world = case.observation
    told = {s.operator_id for s in world.table.snapshots if s.job_id == run.job_id}
    told |= {m.operator_id for m in world.flink_manifests.values if m.job_id == run.job_id}
    return tuple(sorted(each for each in told if each is not None)) or (None,)


def by_sink(commits: Iterable[Snapshot], operator: OperatorId | None) -> tuple[Snapshot, ...]:
    """Those that the sink may have made: a commit that names no operator may be any's."""
    return tuple(s for s in commits if operator is None or s.operator_id in (None, operator))


def leaves_out_empty_ones(case: Case, run: JobRun, operator: OperatorId | None) -> bool:
    """Whether it is DynamicIcebergSink, which never commits without rows (facts 1.3): no silence of it is too long."""
    return Sinks(case.observation.jobs.values).of_run(run.job_id, operator) is Sink.FLINK_DYNAMIC


def has_all_that_is_untold(case: Case) -> bool:
    """Whether main has every position of each untold manifest, of which there is one at least."""
    untold = case.leaked.of(LeakStanding.UNTOLD) if case.leaked is not None else ()
    return bool(untold) and all(all_are_live(leak, case.gaps, case.contract) for leak in untold)


def may_be_missing(case: Case) -> tuple[LeakedManifest, ...]:
    """The manifests that may hold what is missing: of those that are untold, or wait although their run is over, all
    but those that list nothing, and those whose positions lie beside every gap. A position may be missing because a
    delete came there, which leaves none."""
    alive = {run.job_id for run in living(case)}
    found = case.leaked.of(LeakStanding.UNTOLD, LeakStanding.PENDING) if case.leaked is not None else ()
    open_still = (leak for leak in found if leak.standing is LeakStanding.UNTOLD or leak.job_id not in alive)
    return tuple(leak for leak in open_still if not leak.is_empty and not _lies_beside(leak, case))


def _lies_beside(leak: LeakedManifest, case: Case) -> bool:
    low, high = leak.position_from, leak.position_until
    if case.gaps is None or case.contract.position_partition is not None or low is None or high is None:
        return False
    is_whole = sum(gap.size for gap in case.gaps.gaps) == case.gaps.missing
    return is_whole and all(gap.last < low or high < gap.first for gap in case.gaps.gaps)


def takes_for_its_own(case: Case, run: JobRun, drained: Snapshot) -> bool | None:
    """None while only an unknown sink could tell.

    V1 looks for the job whose state it restored; V2 for its own job id, restored or not.
    """
    v1 = writes_as_v1(run, drained.operator_id)
    ids = committer_ids(case, run)
    if v1 and drained.operator_id is not None and ids and drained.operator_id not in ids:
        return False
    if run.job_id == drained.job_id:
        return run.restored is not None if v1 else True if v1 is False else None
    if run.restored is None:
        return False if run.vertices or v1 is False else None
    return v1
