"""No commit that bears a time before the table's last change: Java's Iceberg (1.12) then refuses to load the table, for
every writer and reader, until a file of metadata is mended by hand. It lets one minute pass.

PyIceberg (0.12) takes the time of this machine and compares it with nothing.
"""

from functools import partial
from typing import Any

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AddSnapshotUpdate, TableRequirement, TableUpdate

from bot.adapters.iceberg.limits import STAGES
from bot.domain.errors import CouldNotLook

BEHIND_MS = 30_000
"""So far a commit may lie before the last change: half of what Java lets pass."""


def following_in_time(catalog: Catalog) -> Catalog:
    """The same catalog. Where the server makes the metadata (REST), only a new snapshot bears a time of ours."""
    if isinstance(catalog, MetastoreCatalog):
        setattr(catalog, STAGES, partial(_staged, getattr(catalog, STAGES)))
    else:
        setattr(catalog, "commit_table", partial(_sent, catalog.commit_table))  # noqa: B010 - mypy forbids the other way
    return catalog


def _staged(
    others: Any,
    newest: Table | None,
    identifier: tuple[str, ...],
    requirements: tuple[TableRequirement, ...],
    updates: tuple[TableUpdate, ...],
) -> Any:
    """In place of the catalog's own method, which `others` is: nothing is written yet. Raises CouldNotLook."""
    made = others(newest, identifier, requirements, updates)
    if newest is not None and made.metadata != newest.metadata:
        _must_follow(identifier, newest.metadata, made.metadata.last_updated_ms)
    return made


def _sent(
    others: Any, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
) -> Any:
    """In place of the catalog's own method, which `others` is. Raises CouldNotLook."""
    for update in updates:
        if isinstance(update, AddSnapshotUpdate):
            _must_follow(table.name(), table.metadata, update.snapshot.timestamp_ms)
    return others(table, requirements, updates)


def _must_follow(name: tuple[str, ...], before: TableMetadata, at_ms: int) -> None:
    last_ms = max([before.last_updated_ms, *(entry.timestamp_ms for entry in before.snapshot_log[-1:])])
    behind_ms = last_ms - at_ms
    if behind_ms > BEHIND_MS:
        raise CouldNotLook(
            f"Table {'.'.join(name)} was not changed: this machine's clock is {round(behind_ms / 1000):,} s behind the "
            "table's last change.",
            f"Expected at most {BEHIND_MS // 1000} s: Java's Iceberg refuses to load a table whose times run back by "
            "more than a minute.",
            "Set the clocks of this machine and of the table's writers (NTP); it is tried again.",
        )
