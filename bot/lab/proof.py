"""What the table says about itself, read from outside the bot: metadata and rows through PyIceberg."""

import numpy as np
from pydantic import BaseModel, ConfigDict
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

_JOB = "flink.job-id"
_OPERATOR = "flink.operator-id"
_CHECKPOINT = "flink.max-committed-checkpoint-id"


class Link(BaseModel):
    """One ancestor of the head."""

    model_config = ConfigDict(frozen=True)

    snapshot_id: int
    parent_id: int | None
    job_id: str | None
    operator_id: str | None
    checkpoint_id: int | None
    added_rows: int


class Proof(BaseModel):
    """Rows and positions of the table at its head."""

    model_config = ConfigDict(frozen=True)

    head: int | None
    rows: int
    distinct: int
    highest: int
    """The highest source position; 0 in an empty table."""
    duplicates: int
    """Rows too many: rows less distinct positions."""
    missing: tuple[tuple[int, int], ...]
    """Ranges of positions from the first to the highest that no row has; both ends included."""
    chain: tuple[Link, ...]
    """Ancestors of the head, oldest first."""

    @property
    def missing_positions(self) -> int:
        """How many positions are missing."""
        return sum(last - first + 1 for first, last in self.missing)

    @property
    def is_exactly_once(self) -> bool:
        """True when every position from the first to the highest is there once."""
        return self.rows > 0 and self.duplicates == 0 and not self.missing


def open_catalog(name: str, uri: str, warehouse: str) -> Catalog:
    """The SQLite catalog that Flink, Spark and PyIceberg share."""
    return load_catalog(name, type="sql", uri=uri, warehouse=warehouse)


def chain_of(table: Table) -> tuple[Link, ...]:
    """The ancestors of the head, oldest first."""
    links = []
    snapshot = table.current_snapshot()
    while snapshot is not None:
        links.append(_link(snapshot))
        snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
    return tuple(reversed(links))


def prove(table: Table, first: int = 1, column: str = "source_position") -> Proof:
    """Reads all positions of the head; `first` is the position that the source starts with."""
    head = table.current_snapshot()
    rows = table.scan(selected_fields=(column,)).to_arrow() if head else None
    positions = rows[column].combine_chunks().to_numpy() if rows is not None else np.empty(0, dtype=np.int64)
    distinct = np.unique(positions)
    return Proof(
        head=head.snapshot_id if head else None,
        rows=len(positions),
        distinct=len(distinct),
        highest=int(distinct[-1]) if len(distinct) else 0,
        duplicates=len(positions) - len(distinct),
        missing=_missing(distinct, first),
        chain=chain_of(table),
    )


def _missing(distinct: "np.ndarray[tuple[int], np.dtype[np.int64]]", first: int) -> tuple[tuple[int, int], ...]:
    before = np.concatenate(([first - 1], distinct[distinct >= first]))
    holes = np.flatnonzero(np.diff(before) > 1)
    return tuple((int(before[hole]) + 1, int(before[hole + 1]) - 1) for hole in holes)


def _link(snapshot: Snapshot) -> Link:
    summary = snapshot.summary.additional_properties if snapshot.summary else {}
    checkpoint = summary.get(_CHECKPOINT)
    return Link(
        snapshot_id=snapshot.snapshot_id,
        parent_id=snapshot.parent_snapshot_id,
        job_id=summary.get(_JOB),
        operator_id=summary.get(_OPERATOR),
        checkpoint_id=int(checkpoint) if checkpoint is not None else None,
        added_rows=int(summary.get("added-records", 0)),
    )
