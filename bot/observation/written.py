"""Under which columns and partition spec a job writes, and where that can be read.

Flink's state holds no schema of the table. What it does hold are the names of the manifests that wait for their commit,
and those name files; where they are gone, because they were committed, the files of that commit tell it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from bot.observation.flink import FlinkManifest, StoredCheckpoint, folder_of_manifests, owed_to
from bot.observation.ids import CheckpointId, JobId
from bot.observation.looked import NotSeen, Seen
from bot.observation.paths import plain
from bot.observation.record import Record
from bot.observation.table import Column, Snapshot, TableState

_NAME = re.compile(r"(?P<job>[0-9a-f]{32})-[0-9a-f]{32}-\d{5}-\d+-(?P<checkpoint>\d+)-.*")
_LOOKED_THROUGH = 1_000
"""Newest snapshots among which the run's last commit is looked for."""
OF_STATE = "the columns that the job's state writes"
LOOK_YOURSELF = "Compare the job's statement with the table's columns by hand before it is restored."


class WriterSource(Record):
    """One place that may tell under which columns the job writes."""

    job_id: JobId
    checkpoint_id: CheckpointId
    """For which the job wrote what is read there."""
    restore_point: str | None
    """The point of state that it speaks for; None: storage holds none, and it is what the job wrote last."""
    pending: tuple[str, ...] = ()
    """Paths at which the manifests that the state names may lie."""
    commit: Snapshot | None = None
    """Else: the last commit with data of that run, at or before that point."""


class WrittenSchema(Record):
    """Columns and partition spec under which one run of the job writes."""

    told_by: Literal["pending-manifest", "pending-files", "committed-files"]
    """The manifest itself, a data file that it names, or a data file of the run's commit. A manifest's own word comes
    from the table as its operator loaded it last: V2's may have been loaded after its writers were started."""
    path: str
    """The manifest that told it, or that names the data file which did: a data file's path may hold values of rows."""
    job_id: JobId
    checkpoint_id: CheckpointId
    restore_point: str | None
    schema_id: int | None
    columns: tuple[Column, ...]
    spec_id: int | None
    partitioning: tuple[str, ...] | None
    """Fields of that spec in words, where a pending manifest tells them; else the table knows them by the id."""


_SAYING = {
    "pending-manifest": "the state's pending manifest of checkpoint {n} says",
    "pending-files": "the files of the state's pending manifest of checkpoint {n} say",
    "committed-files": "the job's files at checkpoint {n} say",
}


def as_said(written: WrittenSchema) -> str:
    """`the job's files at checkpoint 12 say`."""
    return _SAYING[written.told_by].format(n=written.checkpoint_id)


def writer_sources(
    table: TableState,
    checkpoints: Seen[StoredCheckpoint] | NotSeen,
    manifests: Seen[FlinkManifest] | NotSeen,
    is_of_other_job: Callable[[JobId | None], bool],
) -> tuple[WriterSource, ...] | NotSeen:
    """Where to look, in this order: for the newest legible restore point; for the last commit of Flink on main where
    there is none. Nothing of a run that is another job's. Empty: no job has written anything."""
    legible = [each for each in checkpoints.values if each.problem is None and each.checkpoint_id is not None]
    newest_first = sorted(legible, key=lambda each: (each.written_at, each.checkpoint_id or 0), reverse=True)
    point = next((each for each in newest_first if not is_of_other_job(each.job_id)), None)
    if point is None:
        written = (s for s in table.chain[:_LOOKED_THROUGH] if _is_written_by(s, s.job_id))
        last = next((s for s in written if not is_of_other_job(s.job_id)), None)
        return (_of_commit(last, None),) if last is not None else ()
    found = [*_waiting(table, point, manifests), *_committed(table, point)]
    if found:
        return tuple(found)
    return NotSeen(
        source=OF_STATE,
        reason=f"The manifests that restore point {point.path} names are gone, and no commit of its run at or before "
        f"checkpoint {point.checkpoint_id} is listed.",
        remedy=LOOK_YOURSELF,
    )


def _waiting(
    table: TableState, point: StoredCheckpoint, manifests: Seen[FlinkManifest] | NotSeen
) -> Iterator[WriterSource]:
    """The newest that the point owes to the table, where they may still lie on storage."""
    waiting = _newest(owed_to(table, point))
    if waiting is None:
        return
    run, checkpoint, names = waiting
    if paths := _paths(table, point, names, manifests):
        yield WriterSource(job_id=run, checkpoint_id=checkpoint, restore_point=point.path, pending=paths)


def _committed(table: TableState, point: StoredCheckpoint) -> Iterator[WriterSource]:
    """The newest commit of the point's run that the point had made before."""
    newest_first = table.snapshots[: -_LOOKED_THROUGH - 1 : -1]
    until = point.checkpoint_id or 0
    before = (s for s in newest_first if _is_written_by(s, point.job_id) and (s.checkpoint_id or 0) <= until)
    if (commit := next(before, None)) is not None:
        yield _of_commit(commit, point.path)


def _is_written_by(snapshot: Snapshot, job_id: JobId | None) -> bool:
    is_of_it = job_id is not None and snapshot.job_id == job_id and snapshot.checkpoint_id is not None
    return is_of_it and snapshot.counted("added-data-files") > 0


def _of_commit(commit: Snapshot, restore_point: str | None) -> WriterSource:
    assert commit.job_id is not None
    assert commit.checkpoint_id is not None
    return WriterSource(
        job_id=commit.job_id, checkpoint_id=commit.checkpoint_id, restore_point=restore_point, commit=commit
    )


def _newest(names: Iterable[str]) -> tuple[JobId, CheckpointId, list[str]] | None:
    """Run and checkpoint of the newest manifests, and their names."""
    told = [(int(match["checkpoint"]), match["job"], match[0]) for name in names if (match := _NAME.fullmatch(name))]
    if not told:
        return None
    checkpoint, run, _ = max(told)
    of_it = sorted(name for number, job, name in told if (number, job) == (checkpoint, run))
    return JobId(run), CheckpointId(checkpoint), of_it


def _paths(
    table: TableState, point: StoredCheckpoint, names: Iterable[str], manifests: Seen[FlinkManifest] | NotSeen
) -> tuple[str, ...]:
    """As listed; where the state says that they lie, if that is another folder than the one that was listed."""
    listed = {each.path.rpartition("/")[2]: each.path for each in manifests.values}
    seen = None if isinstance(manifests, NotSeen) else plain(folder_of_manifests(table))
    found = []
    for name in names:
        elsewhere = [folder for folder in point.manifest_folders.get(name, ()) if plain(folder) != seen]
        found += [listed[name]] if name in listed else [f"{folder}/{name}" for folder in elsewhere]
    return tuple(found)
