"""Flink's temporary manifests that a restore point still owes to one table.

A job may write several tables (a dynamic sink, two sinks): its committers' state then lists the manifests of all.
"""

import re

from bot.domain.flink import StoredCheckpoint
from bot.domain.table import TableState

MANIFESTS_LOCATION = "flink.manifests.location"
"""Table property: where the sink writes its temporary manifests, if not beside the table's metadata."""
_METADATA_LOCATION = "write.metadata.path"
_STORAGE = re.compile(r"^[a-z][a-z0-9+.-]*:(//[^/]*)?/*")
_OF_A_TABLE = "/metadata"
"""How the folder ends into which a sink writes where no table property says otherwise."""
PENDING = re.compile(
    r"^(?P<job>[0-9a-f]{32})-(?P<operator>[0-9a-f]{32})-\d{5}-\d+-(?P<checkpoint>\d+)-\d{5}(?:-[0-9a-f-]{36})?\.avro$"
)
"""A Flink manifest's name: job id, operator id, subtask, attempt, checkpoint, count (facts 1.6)."""


def folder_of_manifests(table: TableState) -> str:
    """Where the sink puts its temporary manifests now, without a slash at the end."""
    return _folders_by_properties(table)[0]


def owed_to(table: TableState, stored: StoredCheckpoint) -> tuple[str, ...]:
    """Names of the pending manifests that are this table's, or may be.

    Left out is only what lies beside the metadata of another table. A folder of any other kind may be one that a
    property of this table named before, and a name without folder (an older record) may lie anywhere.
    """
    return tuple(name for name in stored.pending_manifests if not _is_of_another(name, table, stored))


def owed_checkpoints(stored: StoredCheckpoint, table: TableState) -> tuple[int, ...] | None:
    """Checkpoints whose files for this table the committer's state still lists, rising; None if a name cannot be
    understood."""
    found = [PENDING.match(name.rsplit("/", 1)[-1]) for name in owed_to(table, stored)]
    return tuple(sorted({int(m["checkpoint"]) for m in found if m})) if all(found) else None


def _is_of_another(name: str, table: TableState, stored: StoredCheckpoint) -> bool:
    folders = [_bare(folder) for folder in stored.manifest_folders.get(name, ())]
    return bool(folders) and all(each.endswith(_OF_A_TABLE) and not _is_own(each, table) for each in folders)


def _is_own(folder: str, table: TableState) -> bool:
    """By the properties, by where the metadata lies, or by where any listed commit wrote its own."""
    if folder in {_bare(each) for each in (*_folders_by_properties(table), _parent(table.metadata_location))}:
        return True
    return any(_bare(_parent(snapshot.manifest_list)) == folder for snapshot in table.snapshots)


def _folders_by_properties(table: TableState) -> tuple[str, ...]:
    named = (table.properties.get(name) for name in (MANIFESTS_LOCATION, _METADATA_LOCATION))
    default = f"{table.location.rstrip('/')}{_OF_A_TABLE}"
    return (*(each.rstrip("/") for each in named if each), default)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _bare(folder: str) -> str:
    """A folder's path without scheme and host: one storage goes by several names (`s3:` and `s3a:`, `file:` and
    none). Two tables at one path of two buckets are then taken for one: that owes too much, never too little."""
    return "/" + _STORAGE.sub("", folder).strip("/")
