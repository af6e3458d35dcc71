"""Restore points that Flink names and that do not lie in the configured folders: a savepoint may be taken anywhere."""

from collections.abc import Iterable, Iterator

from bot.domain.errors import CouldNotLook, NotThere
from bot.domain.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.domain.ids import CheckpointId, JobId
from bot.domain.paths import ByPath
from bot.domain.record import Utc
from bot.ports import CheckpointStore

_AT_MOST = 12
"""So many are opened, the newest first: Flink remembers ten checkpoints of a run, and most of them are gone."""


def with_named(
    stored: Iterable[StoredCheckpoint], runs: Iterable[JobRun], storage: CheckpointStore
) -> tuple[StoredCheckpoint, ...]:
    """`stored` and those that Flink names besides, as far as they are there, newest first. One that may not be read
    here is listed as unread."""
    found = list(stored)
    known = ByPath((each.path, True) for each in found)
    named = {bare.path: bare for bare in _named(runs) if known.get(bare.path) is None}
    newest = sorted(named.values(), key=lambda bare: bare.written_at, reverse=True)
    for bare in newest[:_AT_MOST]:
        try:
            found.append(storage.read(bare.path))
        except NotThere:
            continue
        except CouldNotLook as error:
            found.append(bare.model_copy(update={"problem": f"{error.happened} {error.found}".strip()}))
    return tuple(sorted(found, key=lambda each: (each.written_at, each.checkpoint_id or 0), reverse=True))


def _named(runs: Iterable[JobRun]) -> Iterator[StoredCheckpoint]:
    """What Flink says of each, oldest claims first: as it is listed where it cannot be read."""
    for run in runs:
        if run.restored is not None and run.restored.path is not None:
            kind = CheckpointKind.SAVEPOINT if run.restored.is_savepoint else CheckpointKind.UNKNOWN
            yield _bare(run.restored.path, kind, run.restored.checkpoint_id, None, run.restored.at)
        for each in run.checkpoints:
            if each.status == "COMPLETED" and each.path is not None and not each.discarded:
                yield _bare(each.path, each.kind, each.checkpoint_id, run.job_id, each.triggered_at)


def _bare(path: str, kind: CheckpointKind, checkpoint: CheckpointId, run: JobId | None, at: Utc) -> StoredCheckpoint:
    return StoredCheckpoint(
        path=path, kind=kind, checkpoint_id=checkpoint, job_id=run, written_at=at, is_unread=True, problem="Not opened."
    )
