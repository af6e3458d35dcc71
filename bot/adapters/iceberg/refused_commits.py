"""What a catalog's no to a commit means, by the table as it is read after it.

A gateway may repeat a request whose answer it lost: the first one is applied, the second one meets what the first has
changed, and a yes reads as a no. Only metadata that does not show the change proves that it was refused.
"""

from collections.abc import Callable, Iterable
from functools import singledispatch

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import ancestors_of
from pyiceberg.table.update import (
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from bot.adapters.iceberg.errors import UNREAD, commit_error, overtaken, refused_unseen
from bot.domain.errors import CommitRefused, OutcomeUnknown, WaterlineError
from bot.domain.ids import TableName

Judged = tuple[WaterlineError, TableMetadata | None]
"""Why it did not go through, and the table after it: None where it was not read, so that nothing is known of it."""


def judged(
    name: TableName, requirements: Iterable[TableRequirement], error: Exception, read: Callable[[], TableMetadata]
) -> Judged:
    """A conflict is final only where what the commit compares with has changed: SQL, Hive and Glue refuse after
    whatever commit of somebody else, be it of a property. Where the table cannot be read after it, nothing is known.

    Cost: one `read`, none where the answer was neither yes nor no."""
    told = commit_error(name, error)
    if isinstance(told, OutcomeUnknown):
        return told, None
    is_conflict = isinstance(told, CommitRefused) and isinstance(error, CommitFailedException)
    try:
        now = read()
    except UNREAD as unread:
        return (refused_unseen(name, error, unread) if is_conflict else told), None
    return (overtaken(name, error) if is_conflict and holds(requirements, now) else told), now


def holds(requirements: Iterable[TableRequirement], metadata: TableMetadata) -> bool:
    """Whether the table is as a commit with these requirements expects it."""
    try:
        for each in requirements:
            each.validate(metadata)
    except CommitFailedException:
        return False
    return True


def shows(metadata: TableMetadata, updates: Iterable[TableUpdate]) -> bool:
    """Whether the table carries all that was asked for, so that it may have been applied; main may have gone on since.
    False where nothing was asked for."""
    asked = list(updates)
    return bool(asked) and all(_shows(each, metadata) for each in asked)


@singledispatch
def _shows(update: TableUpdate, metadata: TableMetadata) -> bool:  # noqa: ARG001 - of no other kind is a change of ours
    return False


@_shows.register
def _(update: SetSnapshotRefUpdate, metadata: TableMetadata) -> bool:
    ref = metadata.refs.get(update.ref_name)
    if ref is None or update.ref_name != MAIN_BRANCH:
        return ref is not None and ref.snapshot_id == update.snapshot_id
    chain = ancestors_of(metadata.snapshot_by_id(ref.snapshot_id), metadata)
    return any(each.snapshot_id == update.snapshot_id for each in chain)


@_shows.register
def _(update: RemoveSnapshotRefUpdate, metadata: TableMetadata) -> bool:
    return update.ref_name not in metadata.refs


@_shows.register
def _(update: SetPropertiesUpdate, metadata: TableMetadata) -> bool:
    return update.updates.items() <= metadata.properties.items()


@_shows.register
def _(update: RemovePropertiesUpdate, metadata: TableMetadata) -> bool:
    return not set(update.removals) & metadata.properties.keys()
