"""A conflict where the sequence number of a commit was given to another one, since the table was read.

Every commit takes one, on whatever branch, and manifests bear it before the catalog decides. PyIceberg (0.12) looks at
it in format 2 alone, and then raises what could mean anything: two snapshots of format 3 could bear the same one.
"""

from functools import partial
from typing import Any

from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.update import AddSnapshotUpdate, TableRequirement, TableUpdate

STAGES = "_update_and_stage_table"
"""Method by which PyIceberg's catalogs make the next metadata of the newest, before they write and compare it."""


def giving_each_once(catalog: Catalog) -> Catalog:
    """The same catalog. Where the server itself makes the metadata (REST), it looks by itself."""
    if isinstance(catalog, MetastoreCatalog):
        setattr(catalog, STAGES, partial(_staged, getattr(catalog, STAGES)))
    return catalog


def _staged(
    others: Any,
    newest: Table | None,
    identifier: tuple[str, ...],
    requirements: tuple[TableRequirement, ...],
    updates: tuple[TableUpdate, ...],
) -> Any:
    """In place of the catalog's own method, which `others` is. Requirements come first: they say who has moved what.
    Raises CommitFailedException."""
    if newest is not None:
        for requirement in requirements:
            requirement.validate(newest.metadata)
        free, added = newest.metadata.next_sequence_number(), [u for u in updates if isinstance(u, AddSnapshotUpdate)]
        if any((each.snapshot.sequence_number or 0) < free for each in added):
            raise CommitFailedException(
                "Another commit, on whatever branch, has taken the sequence number since the table was read"
            )
    return others(newest, identifier, requirements, updates)
