"""Has Flink written files for a checkpoint that the table never got?"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from pyspark.sql import SparkSession

from bot.history.branches import committed_elsewhere
from bot.history.starts import began_without_state
from bot.history.uncommitted import runs_of, standing
from bot.history.unread_points import rows_of, rows_told
from bot.observation.evidence import Answer, Ask, Measure, Observation, Task, Verdict
from bot.observation.findings import LeakedManifest, LeakedManifestsFinding, LeakStanding
from bot.observation.flink import FlinkManifest, JobRun
from bot.observation.ids import JobId, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot
from spark_tasks._support.commit_files import files_by_commit
from spark_tasks._support.leaked_files import Listed, contents_of, files_listed
from spark_tasks._support.manifest_entries import asked_of
from spark_tasks._support.storage import is_overdue
from spark_tasks._support.words import MAX_ROWS, Inconclusive, answers, cell

_FIRST = 20
"""Of so many first commits with rows the lowest position counts: where a source has several partitions after all, and
began at the earliest, it is low in each."""


def first_positions(spark: SparkSession, ask: Ask) -> Mapping[JobId, int]:
    """Run -> the lowest source position that it brought first; only of runs that began with nothing, all of whose
    commits are on main, from the first one on. Empty where the contract names no position that may be shown, or a
    source partition: then ranges are of all partitions together. What such a run began with (earliest, latest, a time)
    no metadata tells; a source is read in order, so its rows do.

    Cost: the manifests of those commits, at most `_FIRST` of each run.
    """
    world, contract = ask.observation, ask.contract
    is_told = asked_of(world.table, contract).position is not None and not contract.hides(contract.position)
    if not is_told or contract.position_partition is not None:
        return {}
    first = {run.job_id: commits for run in runs_of(world) if (commits := first_commits(run, world))}
    told = files_by_commit(spark, world.table, contract, [s for commits in first.values() for s in commits])
    found = dict[JobId, int]()
    for job, commits in first.items():
        lows = [told[s.snapshot_id].position_from if s.snapshot_id in told else None for s in commits]
        known = [low for low in lows if low is not None]
        if len(known) == len(lows):
            found[job] = min(known)
    return found


def first_commits(run: JobRun, world: Observation) -> list[Snapshot]:
    """Its first commits with rows, oldest first; none where one before them may be missing: expired (some engines leave
    no parent's name then), taken off main, passed over by a sink whose job id had committed before, or written and
    never committed."""
    table = world.table
    own = [s for s in table.chain if s.job_id == run.job_id][::-1]
    if not own or own[0].committed_at < run.started_at or not began_without_state(run, own[0].committed_at):
        return []
    is_whole = table.chain[-1].committed_at < run.started_at
    is_off = any(s.job_id == run.job_id and s.snapshot_id not in table.chain_ids for s in table.snapshots)
    earlier = (
        m.checkpoint_id < (own[0].checkpoint_id or 0) for m in world.flink_manifests.values if m.job_id == run.job_id
    )
    if not is_whole or is_off or any(s.is_repair for s in own) or any(earlier):
        return []
    return [s for s in own if s.adds_rows][:_FIRST]


TASK = Task(
    name="leaked_manifests",
    title="Leaked Flink manifests",
    question="Has Flink written files for a checkpoint that the table never got?",
    confirmed_means="files of a completed checkpoint are not in the table, and nothing will commit them in time",
    ruled_out_means="the table has all files of completed checkpoints, or the job will still commit them in time",
    needs=("table", "flink_manifests", "jobs", "checkpoints"),
    cost="the leaked manifests, the table's manifests since the oldest of them, and names of their files. Where a run "
    "that began with nothing may have read their rows, it also reads the manifests of its first 20 commits",
    reads="metadata",
    version=8,
)
MAX_LEAKS = 2_000
_LOST = {LeakStanding.DROPPED, LeakStanding.LOST_STATE}


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Each Flink manifest on storage, with its standing, files and rows.

    A running job always has one or two for a moment: they are pending and no trouble, unless they wait for longer
    than a few checkpoint intervals. Nothing is ruled out while one is untold. Above `MAX_LEAKS` only the newest are
    looked at.
    """
    world = ask.observation
    if isinstance(world.flink_manifests, NotSeen):
        raise Inconclusive(world.flink_manifests)
    newest_last = sorted(world.flink_manifests.values, key=lambda leak: (leak.written_at is not None, leak.written_at))
    leaks = newest_last[-MAX_LEAKS:]
    listed = files_listed(spark, world.table, ask.contract, leaks) if leaks else {}
    first = cache(partial(first_positions, spark, ask))
    found = tuple(_leak(ask, leak, listed[leak.path], first) for leak in leaks if leak.path in listed)
    lost = {
        file for leak in found if leak.standing in _LOST for file in listed[leak.path] or () if not file.is_in_table
    }
    finding = LeakedManifestsFinding(
        manifests=found,
        lost_files=len(lost),
        lost_rows=sum(file.rows for file in lost),
        lost_deletes=sum(file.deletes for file in lost),
    )
    return _told(ask, finding, len(newest_last) - len(leaks))


def _leak(
    ask: Ask,
    leak: FlinkManifest,
    files: tuple[Listed, ...] | None,
    first: Callable[[], Mapping[JobId, int]],
) -> LeakedManifest:
    """`first`: gives the `first_positions` of runs that began with nothing, which tell where nothing else does."""
    ranges, writers = contents_of(files, ask.observation.table, ask.contract) if files else (None, None)
    low, high = _span(files or ()) if not ask.contract.hides(ask.contract.position) else (None, None)
    if files is not None and all(file.is_in_table for file in files):
        where, reason = LeakStanding.LEFT_OVER, _left_over(leak, ask)
    else:
        where, reason = standing(leak, ask.observation)
    if where is LeakStanding.UNTOLD and high is not None:
        behind = frozenset(job for job, position in first().items() if position > high)
        where, reason = standing(leak, ask.observation, behind)
    return LeakedManifest(
        path=leak.path,
        job_id=leak.job_id,
        operator_id=leak.operator_id,
        checkpoint_id=leak.checkpoint_id,
        attempt=leak.attempt,
        standing=where,
        files=None if files is None else len(files),
        rows=None if files is None else sum(file.rows for file in files),
        deletes=sum(file.deletes for file in files or ()),
        missing_files=sum(file.is_missing for file in files or ()),
        position_from=low,
        position_until=high,
        ranges=ranges,
        writers=writers,
        is_overdue=where is LeakStanding.PENDING and is_overdue(leak, ask),
        reason=reason,
    )


def _span(files: Sequence[Listed]) -> tuple[int, int] | tuple[None, None]:
    """The lowest and the highest source position of all these files; None where one does not tell it, or deletes."""
    bounds = [file.file.position for file in files]
    lows, highs = [each.low for each in bounds if each.low is not None], [e.high for e in bounds if e.high is not None]
    if not files or len(lows) < len(files) or len(highs) < len(files) or any(file.deletes for file in files):
        return None, None
    return min(lows), max(highs)


def _left_over(leak: FlinkManifest, ask: Ask) -> str:
    elsewhere = committed_elsewhere(leak, ask.observation.table)
    where = f"on {elsewhere[0]}, which its run writes" if elsewhere is not None else "in the table"
    return f"All its files are {where}: only its deletion failed."


def _told(ask: Ask, finding: LeakedManifestsFinding, unread: int) -> Answer:
    """`unread`: how many were not looked at."""
    world, untold = ask.observation, finding.of(LeakStanding.UNTOLD)
    unseen = tuple(source for source in (world.jobs, world.checkpoints) if isinstance(source, NotSeen))
    unseen += (_older(world.table.name, unread),) if unread else ()
    lost, overdue = finding.of(*_LOST), [leak for leak in finding.manifests if leak.is_overdue]
    if lost or overdue:
        verdict, headline = Verdict.CONFIRMED, _trouble(finding, lost, overdue)
    elif unseen:
        missing = f"{counted(unread, 'older one')} not looked at" if unread else f"{unseen[0].source} was not seen"
        verdict, headline = Verdict.INCONCLUSIVE, f"{_calm(finding)}; {missing}."
    elif untold:
        verdict = Verdict.INCONCLUSIVE
        headline = f"Nobody can tell whether the rows of {_checkpoints(untold)} were read again, or are lost."
    else:
        verdict, headline = Verdict.RULED_OUT, f"{_calm(finding)}."
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=(
            Measure(name="Flink manifests on storage", value=len(finding.manifests) + unread, unit="manifests"),
            *_measured(finding, sum(leak.rows is None for leak in lost)),
        ),
        columns=("run", "checkpoint", "standing", "files", "rows", "missing files", "why"),
        rows=tuple(_row(leak) for leak in _telling(finding)),
        finding=finding,
        sources=("Flink's manifests on storage and what they list",) if finding.manifests else (),
        could_not_look=unseen,
    )


def _measured(finding: LeakedManifestsFinding, unread: int) -> tuple[Measure, ...]:
    """What was lost; where manifests cannot be read, that, and no count that would stand for all."""
    least = ", at least" if unread else ""
    counts: tuple[Measure, ...] = (
        Measure(name=f"rows that the table does not have{least}", value=finding.lost_rows, unit="rows"),
        Measure(name=f"files that the table does not have{least}", value=finding.lost_files, unit="files"),
    )
    if finding.lost_deletes:
        name = f"deletes that the table does not have{least}"
        counts += (Measure(name=name, value=finding.lost_deletes, unit="deletes"),)
    known = counts if finding.lost_files or not unread else ()
    return (*known, Measure(name="lost manifests that cannot be read", value=unread, unit="manifests"))


def _trouble(finding: LeakedManifestsFinding, lost: Sequence[LeakedManifest], overdue: Sequence[LeakedManifest]) -> str:
    told = []
    if lost:
        gone = sum(leak.missing_files for leak in lost)
        also = f", and {counted(gone, 'of their files is', 'of their files are')} gone from storage" if gone else ""
        rows = rows_told(finding.lost_rows, sum(leak.rows is None for leak in lost), finding.lost_deletes)
        where = f"lie in {counted(finding.lost_files, 'file')} that no commit took along, and no commit will{also}"
        if not finding.lost_files:
            where = "were taken along by no commit, and no commit will"
        told.append(f"{rows} of {_checkpoints(lost)} {where}")
    if overdue:
        told.append(f"{rows_of(overdue)} of {_checkpoints(overdue)} have waited for their commit for too long")
    said = "; ".join(told)
    return f"{said[0].upper()}{said[1:]}."


def _calm(finding: LeakedManifestsFinding) -> str:
    waiting, left = finding.of(LeakStanding.PENDING), finding.of(LeakStanding.LEFT_OVER)
    given_up, untold = finding.of(LeakStanding.GIVEN_UP), finding.of(LeakStanding.UNTOLD)
    if not finding.manifests:
        return "No Flink manifest lies on storage: every checkpoint's files are in the table"
    told = []
    if waiting:
        told.append(f"{counted(len(waiting), 'Flink manifest')} may still be committed ({_checkpoints(waiting)})")
    if untold:
        whose = f"{counted(len(untold), 'Flink manifest')} whose rows were read again or are lost"
        told.append(f"{whose} ({_checkpoints(untold)})")
    if given_up:
        told.append(f"{counted(len(given_up), 'Flink manifest')} whose rows were read again")
    if left:
        told.append(f"{counted(len(left), 'Flink manifest')} of files that are in the table")
    return " and ".join(told)


def _older(table: str, unread: int) -> NotSeen:
    return NotSeen(
        source=f"{counted(unread, 'older Flink manifest')} of {table}",
        reason=f"Only the newest {MAX_LEAKS:,} are looked at.",
        remedy="Have those put aside that nobody needs, then ask again.",
    )


def _checkpoints(leaks: Sequence[LeakedManifest]) -> str:
    """`checkpoints 5 to 7 of run a3f…`, of several runs `5 checkpoints of 2 runs`."""
    runs = {leak.job_id for leak in leaks}
    numbers = sorted({leak.checkpoint_id for leak in leaks})
    if len(runs) > 1:
        return f"{counted(len(leaks), 'checkpoint')} of {len(runs)} runs"
    if len(numbers) == 1:
        return f"checkpoint {numbers[0]} of run {short_job(leaks[0].job_id)}"
    return f"checkpoints {numbers[0]} to {numbers[-1]} of run {short_job(leaks[0].job_id)}"


def _telling(finding: LeakedManifestsFinding) -> list[LeakedManifest]:
    """Lost ones first, then untold ones and those that wait, by run and checkpoint."""
    order = [LeakStanding.DROPPED, LeakStanding.LOST_STATE, LeakStanding.UNTOLD, LeakStanding.PENDING]
    order += [LeakStanding.GIVEN_UP, LeakStanding.LEFT_OVER]
    return sorted(
        finding.manifests, key=lambda leak: (order.index(leak.standing), leak.job_id, leak.checkpoint_id, leak.path)
    )[:MAX_ROWS]


def _row(leak: LeakedManifest) -> tuple[str, ...]:
    return (
        short_job(leak.job_id),
        str(leak.checkpoint_id),
        leak.standing.value,
        "unreadable" if leak.files is None else cell(leak.files),
        f"{cell(leak.rows)} and {counted(leak.deletes, 'delete')}" if leak.deletes else cell(leak.rows),
        str(leak.missing_files),
        leak.reason,
    )
