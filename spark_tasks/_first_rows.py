"""Where runs that began with nothing began in their source, by the positions of the rows that they brought first.

What such a run began with (earliest, latest, a time) no metadata tells; a source is read in order, so its rows do.
"""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from bot.domain.beginnings import began_without_state
from bot.domain.evidence import Ask, Observation
from bot.domain.flink import JobRun
from bot.domain.ids import JobId
from bot.domain.table import Snapshot
from spark_tasks._bounds import range_columns
from spark_tasks._commit_files import files_by_commit
from spark_tasks._restarts import runs_of

_FIRST = 20
"""Of so many first commits with rows the lowest position counts: where a source has several partitions after all, and
began at the earliest, it is low in each."""


def first_positions(spark: SparkSession, ask: Ask) -> Mapping[JobId, int]:
    """Run -> the lowest source position that it brought first; only of runs that began with nothing, all of whose
    commits are on main, from the first one on. Empty where the contract names no position that may be shown, or a
    source partition: then ranges are of all partitions together.

    Cost: the manifests of those commits, at most `_FIRST` of each run.
    """
    world, contract = ask.observation, ask.contract
    _, position = range_columns(world.table, contract)
    if position is None or contract.position_partition is not None:
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
