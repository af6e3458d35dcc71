"""What a Flink manifest that is still on storage means: its rows are lost, were read again, or will be committed
(facts 2.3). Told from the table, runs and restore points.

A checkpoint that is in progress when a job fails leaves its Flink manifest behind, and its rows are read again. Flink
shows only the newest restore of a run, so after a second failover such a manifest looks like one of a checkpoint that
was completed and passed over. Several submissions may have one job id, and each counts its checkpoints anew or goes on
from where it was restored: ids of two of them tell nothing of which came first.

That a sink has another operator id does not make it another job's: the remedy of F4 is a new uid. That a job is another
does not make its source another: begun with nothing, at the earliest offset or at a time, it reads the same rows too.
"""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from datetime import datetime

from bot.history.branches import committed_elsewhere
from bot.history.other_jobs import BESIDE, related_runs, went_on_from
from bot.history.starts import (
    FROM_NOTHING,
    began_from,
    began_without_state,
    first_shown,
    flink_commits,
    is_its_own,
    origin_of,
)
from bot.observation.evidence import Observation
from bot.observation.findings import LeakStanding
from bot.observation.flink import (
    STORAGE_CLOCK_DIFFERS,
    V1_COMMITTER,
    CheckpointKind,
    FlinkManifest,
    JobRun,
    Restored,
    StoredCheckpoint,
    names_run,
)
from bot.observation.ids import DRAINED, CheckpointId, JobId, OperatorId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.paths import may_be_same
from bot.observation.table import Snapshot, TableState

_BEGAN_ANYWHERE = "where its source began, and whether it has read these rows, or will, is not known."
"""Said of a run that began with nothing: its offsets may be the earliest, the latest, or a time."""


def _after_its_run(leak: FlinkManifest, world: Observation, behind: Set[JobId]) -> tuple[LeakStanding, str]:
    """Its standing, and a clause that says why. Lost only where Flink shows that the next run began behind its rows,
    and that none has begun with nothing since: ids that are low or high do not tell whether the rows were read again,
    and what begins with nothing may begin at the earliest of its source. `behind`: as `_of_untold_start` has it."""
    successor = _successor(leak, world)
    if successor is None:
        return LeakStanding.UNTOLD, "no run that came next tells whether its rows were read again."
    name = f"run {short_job(successor)}, which came next,"
    run = next((run for run in world.jobs.values if run.job_id == successor), None)
    shown = first_shown(run) if run is not None else None
    if shown is not None and names_run(shown.path, leak.job_id) and shown.checkpoint_id >= leak.checkpoint_id:
        why = f"{name} was restored from checkpoint {shown.checkpoint_id}, which knew nothing of it."
        return _unless_begun_anew(leak, world, behind, why)
    origin = origin_of(run) if run is not None and shown is None else None
    if origin == FROM_NOTHING and successor in behind:
        why = f"{name} was restored from nothing, and the first rows that it brought lie behind these in the source."
        return _unless_begun_anew(leak, world, behind, why)
    if origin == FROM_NOTHING:
        return LeakStanding.UNTOLD, f"{name} was restored from nothing: {_BEGAN_ANYWHERE}"
    if origin is not None and origin < leak.checkpoint_id:
        return LeakStanding.GIVEN_UP, f"{name} began at checkpoint {origin}, by its history, and read its rows again."
    return LeakStanding.UNTOLD, (
        f"what Flink still shows of {name} does not tell whether it read the rows of checkpoint {leak.checkpoint_id} "
        "again."
    )


def _unless_begun_anew(
    leak: FlinkManifest, world: Observation, behind: Set[JobId], why: str
) -> tuple[LeakStanding, str]:
    """Lost for this reason, a clause; untold where a run has begun with nothing since, or may have."""
    if (later := _of_start_without_state(leak, world, behind)) is None:
        return LeakStanding.LOST_STATE, why
    return LeakStanding.UNTOLD, (
        f"{why[:-1]}; but run {short_job(later)}, which was at work after that, began with nothing, or may have: "
        f"{_BEGAN_ANYWHERE}"
    )


def _successor(leak: FlinkManifest, world: Observation) -> JobId | None:
    """The first run to commit after the manifest was written, else one that is alive; another that was there before
    has not come after it. None also where storage does not tell when the manifest was written."""
    written_at, chain = leak.written_at, world.table.chain
    if written_at is None:
        return None
    before = {s.job_id for s in chain if s.committed_at < written_at} | {leak.job_id}
    before |= {run.job_id for run in world.jobs.values if run.started_at < written_at}
    committed = [s.job_id for s in reversed(chain) if s.committed_at >= written_at and s.job_id is not None]
    alive = [run.job_id for run in world.jobs.values if not run.is_terminal]
    return next((job for job in (*committed, *alive) if job not in before), None)


Standing = tuple[LeakStanding, str]
"""Where it stands, and the sentence that says why."""


def standing(leak: FlinkManifest, world: Observation, behind: Set[JobId] = frozenset()) -> Standing:
    """Of a manifest whose files are not all in the table.

    A run that is over can still be restored from a point that lists the manifest, and then commits it: as long as
    such a point is there, and no run has been started from it in vain, the manifest is pending. Where what was seen
    does not tell whether its rows were read again, it is untold: neither an accusation nor a release. So it is where
    its run commits to another branch (`toBranch`) and not to main: its rows are that branch's.

    `behind`: runs that are told to have begun behind the manifest's rows, by the positions of what they brought first.
    """
    run = next((run for run in world.jobs.values if run.job_id == leak.job_id), None)
    committed = committed_of(leak, world.table)
    owing = [point for point in world.checkpoints.values if _lists(point, leak)]
    if run is not None and (back := _went_back(leak, (run,), world)) is not None:
        return _read_again(back, leak)
    if committed is not None and leak.checkpoint_id <= committed:
        return _below(leak, committed, run, owing, world, behind)
    elsewhere = committed_elsewhere(leak, world.table)
    if elsewhere is None and committed is None and run is not None and _is_below_drained(leak, run, world.table):
        head = f"Run {short_job(leak.job_id)} goes on from a drained job, whose last commit carries Long.MAX_VALUE"
        skips = f"{head}: its V1 sink takes checkpoint {leak.checkpoint_id} for committed"
        return _passed_over(leak, (head, skips), run, owing, world, behind)
    reached = "nothing" if committed is None else f"checkpoint {committed}"
    head = f"Main has {reached} of run {short_job(leak.job_id)}"
    if run is not None and not run.is_terminal:
        return (
            LeakStanding.PENDING,
            f"{head}, which is {run.state}: it may still commit checkpoint {leak.checkpoint_id}.",
        )
    if elsewhere is not None:
        ref, commits = elsewhere
        return LeakStanding.UNTOLD, (
            f"{head}; that run, or its sink, commits to {ref}, up to checkpoint {commits[0].checkpoint_id} "
            f"({short(commits[0].snapshot_id)}): what it wrote belongs there, and not on main."
        )
    vain = next((r for r in world.jobs.values if _started_in_vain(r, leak, owing)), None)
    if vain is not None:
        why = "was restored from the point that listed this manifest and has not committed it: its committer came "
        found, said = _unless_begun_anew(leak, world, behind, f"run {short_job(vain.job_id)} {why}without state.")
        return found, f"{head}; {said}"
    if owing:
        where = owing[0].path.rstrip("/").rsplit("/", 1)[-1]
        return LeakStanding.PENDING, f"{head}, which is over; a restore from {where} would commit it."
    if (unseen := _unseen(world)) is not None:
        return LeakStanding.PENDING, f"{head}{unseen}"
    if (back := _went_back(leak, _of_its_job(leak, world), world)) is not None:
        return _read_again(back, leak)
    ended = f"ended as {run.state}" if run is not None else "is not known to Flink any more"
    is_unread = any(_may_owe(leak, point) for point in world.checkpoints.values)
    memory = "no restore point that could be read lists it" if is_unread else "no restore point lists it"
    where, why = _after_its_run(leak, world, behind)
    return where, f"{head}, which {ended}, and {memory}; {why}"


def _unseen(world: Observation) -> str | None:
    """What was not looked at that might remember a manifest, a clause; None: all was."""
    if isinstance(world.jobs, NotSeen):
        return "; whether that run is alive is not known, because Flink was not asked."
    if isinstance(world.checkpoints, NotSeen):
        return ", which is over; whether a restore point lists it could not be looked at."
    return None


def _read_again(run: JobRun, leak: FlinkManifest) -> Standing:
    point = run.restored.checkpoint_id if run.restored else FROM_NOTHING
    if point >= leak.checkpoint_id:
        return LeakStanding.GIVEN_UP, (
            f"Run {short_job(run.job_id)} was restored from a checkpoint {point} that was there before run "
            f"{short_job(leak.job_id)} began to write the manifest's rows, and read them again."
        )
    return LeakStanding.GIVEN_UP, (
        f"Run {short_job(run.job_id)} went back to checkpoint {point} after the manifest was written, and read its "
        "rows again."
    )


def committed_of(leak: FlinkManifest, table: TableState) -> CheckpointId | None:
    """The checkpoint id that the sink itself finds for this run and operator: of the newest ancestor of the head
    (facts 1.5), not the highest; None if there is none."""
    same = (
        commit.checkpoint_id
        for commit in table.chain
        if commit.job_id == leak.job_id and commit.operator_id in {None, leak.operator_id}
    )
    return next((checkpoint for checkpoint in same if checkpoint is not None), None)


def _below(
    leak: FlinkManifest,
    committed: CheckpointId,
    run: JobRun | None,
    owing: Sequence[StoredCheckpoint],
    world: Observation,
    behind: Set[JobId],
) -> Standing:
    head = f"Main has checkpoint {committed} of run {short_job(leak.job_id)}"
    if run is not None and is_replaced(leak, run, world.table):
        return LeakStanding.DROPPED, (
            f"{head}; its V1 sink replaced the manifest of checkpoint {leak.checkpoint_id} when files of that "
            "checkpoint arrived late, as they may with unaligned checkpoints."
        )
    is_v1 = run is not None and any(V1_COMMITTER in vertex.name for vertex in run.vertices)
    if run is not None and is_v1 and not run.is_terminal and _ran_through(leak, run):
        return (
            LeakStanding.PENDING,
            f"{head}; its V1 sink keeps checkpoint {leak.checkpoint_id} in memory until an id above {committed} "
            "completes, and drops it if the job fails over before that.",
        )
    if _is_of_a_savepoint_above(leak, owing, world.table) and _went_back(leak, _of_its_job(leak, world), world) is None:
        return LeakStanding.UNTOLD, (
            f"{head}, and had less when savepoint {leak.checkpoint_id} was written: a sink that goes on commits that. "
            "So a restart came before, which may have been from below it and have read the rows again."
        )
    skips = f"{head}, so the sink takes checkpoint {leak.checkpoint_id} for committed and skips it"
    return _passed_over(leak, (head, skips), run, owing, world, behind)


def is_replaced(leak: FlinkManifest, run: JobRun, table: TableState) -> bool:
    """Whether its sink has a newer manifest in place of it: V1 keeps one for each checkpoint.

    Under unaligned checkpoints files may arrive after the committer's state was taken. The next state lists these
    alone, and the first list is lost where the checkpoint failed (apache/iceberg #15846). Each commit takes all older
    checkpoints along, so one above it shows that it was replaced. Seen with Flink 2.1 and Iceberg 1.12: one of two
    writers was frozen for 6 s.
    """
    if not run.may_lose_in_flight or leak.written_at is None or not _ran_through(leak, run):
        return False
    return any(
        commit.job_id == leak.job_id
        and commit.operator_id in {None, leak.operator_id}
        and commit.checkpoint_id is not None
        and commit.checkpoint_id > leak.checkpoint_id
        and commit.committed_at > leak.written_at
        for commit in table.chain
    )


def _is_of_a_savepoint_above(leak: FlinkManifest, owing: Sequence[StoredCheckpoint], table: TableState) -> bool:
    """Whether savepoints alone list the manifest, and main had nothing of its run up to there when it was written. A
    failover never goes back to a savepoint, only to a checkpoint, which then is committed."""
    if leak.written_at is None or not owing or any(point.kind is CheckpointKind.CHECKPOINT for point in owing):
        return False
    before = (s for s in table.snapshots if s.job_id == leak.job_id and s.committed_at <= leak.written_at)
    return not any(s.checkpoint_id is not None and s.checkpoint_id >= leak.checkpoint_id for s in before)


def _passed_over(
    leak: FlinkManifest,
    told: tuple[str, str],
    run: JobRun | None,
    owing: Sequence[StoredCheckpoint],
    world: Observation,
    behind: Set[JobId],
) -> Standing:
    """Of a checkpoint that its sink takes for committed: lost where it was completed, and no run that came later has
    read its rows again, or may have. `told`: by what the sink measures, and that with what it makes of it."""
    head, skips = told
    if (back := _went_back(leak, _of_its_job(leak, world), world)) is not None:
        return _read_again(back, leak)
    if not owing and (run is None or not (_ran_through(leak, run) or _was_completed(leak, run))):
        return LeakStanding.UNTOLD, (
            f"{head}. Neither Flink nor a restore point shows what became of checkpoint {leak.checkpoint_id}. It may "
            "have completed and been passed over, or have been in progress when the job went down, and read again."
        )
    if (later := _of_untold_start(leak, world, behind)) is not None:
        return (
            LeakStanding.UNTOLD,
            f"{skips}; run {short_job(later)} was at work after that, and {_untold(later, leak, world, behind)}",
        )
    return LeakStanding.DROPPED, f"{skips}."


def _untold(later: JobId, leak: FlinkManifest, world: Observation, behind: Set[JobId]) -> str:
    """What is not known of a run that was at work after the manifest was written, a clause."""
    is_listed = any(other.job_id == later for other in runs_of(world))
    if is_listed and _of_start_without_state(leak, world, behind) == later:
        return f"began with nothing: {_BEGAN_ANYWHERE}"
    missing = "what Flink shows of it does not tell."
    if not is_listed:
        missing = (
            "Flink does not list it. If it is of another job, name that in the table's `other_jobs`: Flink shows then "
            "whether it reads another source."
        )
    return f"whether it began before the rows, and read them too, is not known: {missing}"


def _is_below_drained(leak: FlinkManifest, run: JobRun, table: TableState) -> bool:
    """A restored V1 sink measures its checkpoints by the run whose state it holds (facts 1.1): where the operator's
    newest commit was a drained one when the run was restored, none is ever above it. It was also where it still is,
    whatever the clocks say."""
    restored, is_v1 = run.restored, any(V1_COMMITTER in vertex.name for vertex in run.vertices)
    if restored is None or not is_v1:
        return False
    same = [s for s in table.chain if s.checkpoint_id is not None and s.operator_id == leak.operator_id]
    before = next((s for s in same if s.committed_at <= restored.at), None)
    return DRAINED in {s.checkpoint_id for s in (*same[:1], before) if s is not None}


def _may_owe(leak: FlinkManifest, stored: StoredCheckpoint) -> bool:
    """A point of that run, late enough as far as is known, whose committer state could not be read."""
    is_late = stored.is_unread if stored.checkpoint_id is None else stored.checkpoint_id >= leak.checkpoint_id
    return is_late and not stored.is_committer_read and stored.job_id in {None, leak.job_id}


def _started_in_vain(run: JobRun, leak: FlinkManifest, owing: list[StoredCheckpoint]) -> bool:
    """Whether a run came up from a point that listed the manifest: a restored committer commits it at once."""
    if run.restored is None or run.restored.path is None or run.job_id == leak.job_id or not run.is_settled:
        return False
    return any(may_be_same(run.restored.path, point.path) for point in owing)


_NUMBER = re.compile(r"\[\d+\]$")
"""What SQL puts behind a table's name: another one in each version of a job."""


def _read_apart(one: Iterable[JobRun], other: Iterable[JobRun]) -> bool:
    """Whether Flink shows sources of both, and none of one name. Where a graph is not shown, and where both have the
    name that everybody gives (`Source: Kafka Source`), they may read the same."""
    mine, theirs = _sources(one), _sources(other)
    return bool(mine and theirs) and not mine & theirs


def _sources(runs: Iterable[JobRun]) -> frozenset[str]:
    heads = (vertex.name.partition(" -> ")[0] for run in runs for vertex in run.vertices)
    return frozenset(_NUMBER.sub("", head) for head in heads if head.startswith("Source"))


def _sinks_beside(
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
    return frozenset(s for s in apart if _read_apart([r for r in runs if s in sinks_of[r.job_id]], its)) - of_its_runs


def _are_beside(theirs: Sequence[int], mine: Sequence[int]) -> bool:
    """Whether these places on main, rising, lie between those of one run as in no hand-over: also in one that went
    wrong, one or two commits of the run before still come beside the next run's, or the next run's beside them."""
    within = theirs[bisect(theirs, mine[0]) : bisect(theirs, mine[-1])]
    return len(within) >= BESIDE or any(BESIDE <= bisect(mine, place) <= len(mine) - BESIDE for place in within)


def _is_of_another(
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
    `runs`: those that Flink lists; `beside`: the `_sinks_beside` of the manifest."""
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
    return not table.chain or table.chain[-1].parent_id is None


def _went_back(leak: FlinkManifest, runs: Iterable[JobRun], world: Observation) -> JobRun | None:
    """A run that was restored, after the manifest was written, from before its rows: by a failover of the run that
    wrote it, or from a point of that run or of one before it. None also where that is not certain."""
    for run in runs:
        point = run.restored
        if point is None or leak.written_at is None or point.at < leak.written_at:
            continue
        if _wrote(run, leak):
            if point.checkpoint_id < leak.checkpoint_id:
                return run
        elif not is_its_own(point, run) and _is_before(point, leak, world):
            return run
    return None


def _of_untold_start(leak: FlinkManifest, world: Observation, behind: Set[JobId]) -> JobId | None:
    """A run that came after the manifest was written, or was at work beside its run and is still or has committed
    since, and may have read its rows: it began with nothing, or what is seen of it does not tell from where, or only
    that it began before them if it is the same job's (`_went_back` tells of those). None where there is none. `behind`:
    the runs whose first rows came from behind those of the manifest."""
    unseen, seen = _at_work_after(leak, world)
    untold = (run.job_id for run in seen if run.job_id not in behind and not _is_behind(run, leak, world))
    return next((job for each in (unseen, untold) for job in each), None)


def _of_start_without_state(leak: FlinkManifest, world: Observation, behind: Set[JobId]) -> JobId | None:
    """Such a run of which Flink tells that it began with nothing, or that Flink does not list and whose ids begin at or
    below the manifest's; None where there is none."""
    unseen, seen = _at_work_after(leak, world)
    first = {s.job_id: s.checkpoint_id for s in world.table.chain}
    low = (job for job in unseen if (first[job] or 0) <= leak.checkpoint_id)
    empty = (run.job_id for run in seen if began_from(run, _first_commit(run, world)) == FROM_NOTHING)
    return next((job for each in (low, empty) for job in each if job not in behind), None)


def _at_work_after(leak: FlinkManifest, world: Observation) -> tuple[list[JobId], list[JobRun]]:
    """The runs that were at work after the manifest was written, but for the one that wrote it and those that are
    surely of another job: those that Flink does not list, and those that it lists. Nobody has gone on from a run that
    is at work still: beside that, another source is enough."""
    table, runs = world.table, runs_of(world)
    if leak.written_at is None:
        return [], []
    wrote = next((run for run in runs if _wrote(run, leak)), None)
    told = {run.job_id for run in runs} | {leak.job_id}
    later = [s for s in table.chain if s.committed_at >= leak.written_at]
    since, its_own = {s.job_id for s in later}, _of_its_job(leak, world)
    there = [run for run in runs if not _wrote(run, leak) and _is_there_after(run, leak, since)]
    if since <= told | {None} and all(run in its_own for run in there):
        return [], there
    beside = _sinks_beside(leak, wrote, table, runs, its_own)
    may_be_its = (s for s in later if s.operator_id not in beside)
    unseen = [s.job_id for s in may_be_its if s.job_id is not None and s.job_id not in told]
    is_at_work = wrote is not None and not wrote.is_terminal

    def is_apart(run: JobRun) -> bool:
        return _read_apart([run], its_own) and (is_at_work or _is_of_another(run, leak, wrote, table, runs, beside))

    return unseen, [run for run in there if run in its_own or not is_apart(run)]


def runs_of(world: Observation) -> tuple[JobRun, ...]:
    """Of the job, and of the table's other jobs."""
    return (*world.jobs.values, *(world.others.values if world.others is not None else ()))


def _of_its_job(leak: FlinkManifest, world: Observation) -> tuple[JobRun, ...]:
    """Those that may read the manifest's rows, each once: of the job that wrote it, related jobs of that, and what
    began from a point of the very run. Others read other sources."""
    others = world.others.values if world.others is not None else ()
    wrote = next((run for run in others if run.job_id == leak.job_id), None)
    near = related_runs(world.jobs, world.others)
    own = (*world.jobs.values, *near) if wrote is None or wrote in near else ()
    of_it = (r for r in others if (wrote is not None and r.name == wrote.name) or went_on_from(r, leak.job_id))
    return (*own, *(run for run in of_it if run not in own))


def _lists(point: StoredCheckpoint, leak: FlinkManifest) -> bool:
    """Whether the committer state of a restore point lists the manifest."""
    name = leak.path.rsplit("/", 1)[-1]
    return any(pending.rsplit("/", 1)[-1] == name for pending in point.pending_manifests)


def _was_completed(leak: FlinkManifest, run: JobRun) -> bool:
    """Whether Flink lists the manifest's checkpoint as completed by the submission that wrote it."""
    listed = any(c.checkpoint_id == leak.checkpoint_id and c.status == "COMPLETED" for c in run.checkpoints)
    return listed and _wrote(run, leak)


def _ran_through(leak: FlinkManifest, run: JobRun) -> bool:
    """Whether the run that wrote the manifest has neither failed nor been restored since, as Flink's newest restore
    and failures show; of one that is over, also that it completed the checkpoint or a later one."""
    if leak.written_at is None or not _wrote(run, leak):
        return False
    if any(failure.at >= leak.written_at for failure in run.failures):
        return False
    if run.restored.at >= leak.written_at if run.restored else run.restored_count:
        return False
    done = (c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED")
    return not run.is_terminal or any(checkpoint >= leak.checkpoint_id for checkpoint in done)


def _wrote(run: JobRun, leak: FlinkManifest) -> bool:
    """Whether it is the submission that wrote the manifest: one before it may have had the same job id."""
    return run.job_id == leak.job_id and leak.written_at is not None and leak.written_at >= run.started_at


def _is_there_after(run: JobRun, leak: FlinkManifest, since: Set[JobId | None]) -> bool:
    """Whether the run came after the manifest was written, or is at work still, or has committed since. What an earlier
    one that is over has read and not committed is the next one's."""
    return _came_after(run, leak) or not run.is_terminal or run.job_id in since


def _came_after(run: JobRun, leak: FlinkManifest) -> bool:
    return leak.written_at is not None and run.started_at >= leak.written_at


def _is_behind(run: JobRun, leak: FlinkManifest, world: Observation) -> bool:
    """Whether the run began from a point of which it is told that it lies behind the manifest's rows. An id alone does
    not tell; nor does a start with nothing, which reads from where its offsets say: from the earliest all of them. Of a
    run that was there before the manifest, only a point of the very run does, as far as clocks differ."""
    origin, shown = began_from(run, _first_commit(run, world)), first_shown(run)
    if shown is None or shown.checkpoint_id != origin:
        return False
    is_told = _came_after(run, leak) or names_run(shown.path, leak.job_id)
    return is_told and _is_before(shown, leak, world) is False


def _first_commit(run: JobRun, world: Observation) -> datetime | None:
    own = (s for s in world.table.chain if s.job_id == run.job_id and s.committed_at >= run.started_at)
    return min((s.committed_at for s in own), default=None)


def _is_before(point: Restored, leak: FlinkManifest, world: Observation) -> bool | None:
    """Whether a run that was restored from the point reads the manifest's rows; None: what is seen does not tell.

    It does from a lower checkpoint of the submission that wrote the manifest, and from whatever was written before
    that submission began, however high its id.
    """
    stored = _as_stored(point, world)
    if stored is not None and _lists(stored, leak):
        return False
    if not names_run(point.path, leak.job_id):
        return _is_of_its_past(point, leak, stored, world)
    job = next((run for run in runs_of(world) if run.job_id == leak.job_id), None)
    if job is not None and not _wrote(job, leak) and is_its_own(point, job):
        return None
    if point.checkpoint_id < leak.checkpoint_id:
        return True
    if job is not None and _wrote(job, leak):
        own = [c for c in job.checkpoints if c.triggered_at >= job.started_at]
        same = (c for c in own if c.checkpoint_id == point.checkpoint_id and c.status == "COMPLETED")
        if any(c.path is None or (point.path is not None and may_be_same(c.path, point.path)) for c in same):
            return False
        if job.is_terminal and own and point.checkpoint_id > max(c.checkpoint_id for c in own):
            return True
    return _by_time(stored, leak, _begun(leak, world))


def _is_of_its_past(
    point: Restored, leak: FlinkManifest, stored: StoredCheckpoint | None, world: Observation
) -> bool | None:
    """The same of a point of another run: it lies before the manifest where all commits of that run on main do, and
    its id is lower, or it was written before the submission that wrote the manifest began. None of one whose sink is
    another: it may be another job's."""
    theirs = [s for s in world.table.chain if s.job_id is not None and names_run(point.path, s.job_id)]
    if not theirs or any(s.operator_id not in {None, leak.operator_id} for s in theirs):
        return None
    if any(leak.written_at is not None and s.committed_at >= leak.written_at for s in theirs):
        return False
    if point.checkpoint_id < leak.checkpoint_id:
        return True
    begun = _begun(leak, world)
    ends = [run.ended_at for run in runs_of(world) if names_run(point.path, run.job_id)]
    if begun is not None and ends and all(end is not None and end <= begun for end in ends):
        return True
    return _by_time(stored, leak, begun)


def _begun(leak: FlinkManifest, world: Observation) -> datetime | None:
    """When the submission that wrote the manifest began; None where Flink does not show it any more."""
    return next((run.started_at for run in runs_of(world) if _wrote(run, leak)), None)


def _by_time(stored: StoredCheckpoint | None, leak: FlinkManifest, begun: datetime | None) -> bool | None:
    """The same by storage's clock; None where it is not far enough from Flink's times."""
    if stored is None or leak.written_at is None:
        return None
    if begun is not None and stored.written_at < begun - STORAGE_CLOCK_DIFFERS:
        return True
    return False if stored.written_at >= leak.written_at + STORAGE_CLOCK_DIFFERS else None


def _as_stored(point: Restored, world: Observation) -> StoredCheckpoint | None:
    """The point as it lies on storage, unless something was written in its place since the restore: a later submission
    under the same job id uses the same folders."""
    same = (s for s in world.checkpoints.values if point.path is not None and may_be_same(s.path, point.path))
    return next((s for s in same if s.written_at <= point.at), None)
