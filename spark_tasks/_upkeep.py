"""What is wrong with how a table is kept, each in a sentence with figures."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from bot.domain.evidence import Ask, Observation
from bot.domain.findings import LastCommit
from bot.domain.flink import StoredCheckpoint
from bot.domain.ids import short, short_job
from bot.domain.sentences import counted
from bot.domain.snapshots_kept import kept_for, ref_ends_in
from bot.domain.table import Ref, TableState
from spark_tasks._words import lasting

SOON = timedelta(days=1)
_ENOUGH_FILES = 20
_PARTS = 10
"""Deletes are told from a tenth of the files or rows on."""
_VERSIONS = "write.metadata.previous-versions-max"
_DELETES_METADATA = "write.metadata.delete-after-commit.enabled"
_USUAL_VERSIONS = 100


def problems_of(ask: Ask, last: Sequence[LastCommit]) -> tuple[str, ...]:
    """Most pressing first: what makes a restore fail, and what breaks a promise."""
    table = ask.observation.table
    return (
        *_expiring(_needed(ask.observation, last)),
        *_restore_points(table, ask.observation.checkpoints.values),
        *_promises(ask),
    )


def remarks_of(ask: Ask, added: int, small: int, target: int) -> tuple[str, ...]:
    """What is no fault, and costs something later: evidence that cannot be read again, and slow reads."""
    return (*_metadata_files(ask), *_deletes(ask.observation.table), *_small_files(added, small, target))


def _needed(world: Observation, last: Sequence[LastCommit]) -> list[LastCommit]:
    """Those that a restore of today looks for: of runs that are alive, and of the run that wrote last."""
    alive = {run.job_id for run in world.jobs.values if not run.is_terminal}
    newest = next((commit.job_id for commit in world.table.chain if commit.job_id is not None), None)
    return [each for each in last if each.job_id in alive or each.job_id == newest]


def _expiring(last: Sequence[LastCommit]) -> Iterator[str]:
    for each in last:
        run = short_job(each.job_id)
        if each.snapshot_id is None:
            yield (
                f"No listed snapshot is by run {run}, which is alive and began before the oldest one listed: its "
                "commits have expired, and a failover will not find its last one."
            )
        elif each.expires_within_s is not None and each.expires_within_s <= SOON.total_seconds():
            when = f"in {lasting(each.expires_within_s)}" if each.expires_within_s else "now"
            yield (
                f"Snapshot {short(each.snapshot_id)} is the last commit of run {run} and may expire {when}: no branch "
                "or tag keeps it for longer, and without it a restore fails or commits again."
            )


def _restore_points(table: TableState, stored: Iterable[StoredCheckpoint]) -> Iterator[str]:
    """Restore points that outlive the snapshots that they belong to."""
    kept = kept_for(table)
    tagged = {ref.snapshot_id for ref in table.refs if _stays(table, ref)} & table.by_id.keys()
    safe = {(s.job_id, s.checkpoint_id) for s in map(table.by_id.__getitem__, tagged)}
    points = [s for s in stored if s.problem is None and (s.job_id, s.checkpoint_id) not in safe]
    old = [point for point in points if table.read_at - point.written_at > kept]
    if old:
        oldest = min(old, key=lambda point: point.written_at)
        name = oldest.path.rstrip("/").rsplit("/", 1)[-1]
        yield (
            f"{counted(len(old), 'restore point')} {'is' if len(old) == 1 else 'are'} older than the table keeps "
            f"snapshots ({lasting(kept.total_seconds())}), the oldest {name}: what they pair with may be gone."
        )


def _stays(table: TableState, ref: Ref) -> bool:
    ends = ref_ends_in(table, ref)
    return ends is None or ends > timedelta(0)


def _promises(ask: Ask) -> Iterator[str]:
    kept, promised = kept_for(ask.observation.table), ask.contract.keep_snapshots
    if promised is not None and kept < promised:
        yield (
            f"The table lets snapshots expire after {lasting(kept.total_seconds())}; the contract promises "
            f"{lasting(promised.total_seconds())}."
        )


def _metadata_files(ask: Ask) -> Iterator[str]:
    """Where metadata files are deleted, pinned evidence cannot be read again after so many commits."""
    table = ask.observation.table
    if table.properties.get(_DELETES_METADATA, "false").lower() != "true" or len(table.chain) < 2:
        return
    told = table.properties.get(_VERSIONS, "")
    versions = int(told) if told.isdigit() else _USUAL_VERSIONS
    newest = table.chain[: versions + 1]
    pace = (newest[0].committed_at - newest[-1].committed_at) / max(len(newest) - 1, 1)
    if versions * pace < SOON:
        yield (
            f"Only {counted(versions, 'older metadata file')} are kept, at the present pace "
            f"{lasting((versions * pace).total_seconds())}: evidence pinned before that cannot be read again."
        )


def _deletes(table: TableState) -> Iterator[str]:
    if table.head is None:
        return
    head = table.by_id[table.head]
    files, deletes = head.counted("total-data-files"), head.counted("total-delete-files")
    equality, positions = head.counted("total-equality-deletes"), head.counted("total-position-deletes")
    rows = head.counted("total-records")
    if _PARTS * deletes > files > 0 and deletes > 1:
        yield (
            f"{counted(deletes, 'delete file')} stand against {counted(files, 'data file')} "
            f"({equality:,} equality and {positions:,} position deletes): every read merges them."
        )
    elif _PARTS * (equality + positions) > rows > 0 and deletes > 1:
        yield f"{equality + positions:,} deletes stand against {counted(rows, 'row')}: every read merges them."


def _small_files(added: int, small: int, target: int) -> Iterator[str]:
    """A job that commits often writes small files on its best day too."""
    if small >= _ENOUGH_FILES and 2 * small > added:
        yield (
            f"{small:,} of {counted(added, 'data file')} of the window are smaller than a quarter of the target of "
            f"{target // 2**20:,} MB. Compact them once the incident is over."
        )
