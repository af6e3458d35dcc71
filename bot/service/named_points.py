"""Restore points that Flink names and that do not lie in the configured folders: a savepoint may be taken anywhere."""

from collections.abc import Iterable, Iterator

from bot.domain.errors import CouldNotLook, NotThere
from bot.domain.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.domain.ids import CheckpointId, JobId
from bot.domain.record import Utc
from bot.ports import CheckpointStore

_AT_MOST = 12
"""So many are opened, the newest first: Flink remembers ten checkpoints of a run, and most of them are gone."""


def with_named(
    stored: Iterable[StoredCheckpoint], runs: Iterable[JobRun], storage: CheckpointStore
) -> tuple[StoredCheckpoint, ...]:
    """`stored` and those that Flink names besides on the same storage, as far as they are there, newest first. One that
    may not be read is listed as unread, and no further one is tried.

    Storage of another kind or name is not asked: whoever may submit a job chooses what Flink names.
    """
    found = list(stored)
    known = {_name(each.path) for each in found}
    named = {_name(bare.path): bare for bare in _named(runs) if storage.may_hold(bare.path)}
    newest = sorted(named.items(), key=lambda item: item[1].written_at, reverse=True)
    for _, bare in [item for item in newest if item[0] not in known][:_AT_MOST]:
        try:
            found.append(storage.read(bare.path))
        except NotThere:
            continue
        except CouldNotLook as error:
            found.append(bare.model_copy(update={"problem": f"{error.happened} {error.found}".strip()}))
            break
    return tuple(sorted(found, key=lambda each: (each.written_at, each.checkpoint_id or 0), reverse=True))


def _named(runs: Iterable[JobRun]) -> Iterator[StoredCheckpoint]:
    """What Flink says of each: as it is listed where it cannot be read."""
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


def _name(path: str) -> str:
    """The last folders of a path, by which Flink tells its points apart wherever they are mounted: a savepoint's has
    random digits, and a checkpoint's its run's id before it."""
    parts = path.rstrip("/").split("/")
    return "/".join(parts[-2:] if parts[-1].startswith("chk-") else parts[-1:])
