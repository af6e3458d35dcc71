"""What the table says about itself, read from outside the bot: metadata and rows through PyIceberg."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from bot.lab.home import Storage

if TYPE_CHECKING:
    from bot.lab.topic import Topic

_JOB = "flink.job-id"
_CHECKPOINT = "flink.max-committed-checkpoint-id"


class Link(BaseModel):
    """One ancestor of the head."""

    model_config = ConfigDict(frozen=True)

    snapshot_id: int
    parent_id: int | None
    job_id: str | None
    checkpoint_id: int | None
    added_rows: int


class PartitionProof(BaseModel):
    """Rows and offsets of one partition of a topic, in the table and in the broker."""

    model_config = ConfigDict(frozen=True)

    partition: int
    rows: int
    highest: int
    """The highest offset in the table; -1 without a row."""
    duplicates: int
    """Rows too many: rows less distinct records."""
    missing: tuple[tuple[int, int], ...]
    """Ranges of offsets up to the highest in the table, of whose records the broker has each and the table none; both
    ends included."""
    deleted: tuple[tuple[int, int], ...]
    """Ranges of offsets that neither the table has nor, any more, the broker."""
    later: int
    """Records of the broker above the highest that both have: they are on their way."""

    @property
    def missing_offsets(self) -> int:
        """How many offsets are missing, whether the broker still has them or not."""
        return sum(last - first + 1 for first, last in (*self.missing, *self.deleted))


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
    partitions: tuple[PartitionProof, ...] = ()
    """Of a topic: then `missing` is told here, and `highest` is no position."""

    @property
    def missing_positions(self) -> int:
        of_numbers = sum(last - first + 1 for first, last in self.missing)
        return of_numbers + sum(each.missing_offsets for each in self.partitions)

    @property
    def is_exactly_once(self) -> bool:
        """True when every position from the first to the highest is there once."""
        return self.rows > 0 and self.duplicates == 0 and self.missing_positions == 0

    @property
    def lines(self) -> list[str]:
        """For people: counts, of a topic also by partition, and the newest commits."""
        commits = " ".join(f"{(link.job_id or '?')[:4]}:{link.checkpoint_id}" for link in self.chain[-12:])
        highest = f", highest {self.highest}" if not self.partitions else ""
        where = f" ({_told(self.missing)})" if self.missing else ""
        return [
            f"rows {self.rows}, distinct positions {self.distinct}{highest}",
            *(
                f"partition {each.partition}: rows {each.rows}, highest offset {each.highest}, "
                f"duplicates {each.duplicates}, missing {_told(each.missing)}, "
                f"deleted from the topic {_told(each.deleted)}"
                for each in self.partitions
            ),
            f"duplicates {self.duplicates}, missing {self.missing_positions}{where}",
            f"head {self.head}, last commits (run:checkpoint) {commits}",
        ]


def _told(ranges: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{first}-{last}" for first, last in ranges) or "none"


def open_catalog(storage: Storage) -> Catalog:
    """The catalog that Flink, Spark and PyIceberg share."""
    return load_catalog(storage.catalog_name, **storage.catalog_properties)


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


def prove_topic(table: Table, topic: "Topic") -> Proof:
    """Holds all rows of the head against what the broker has: a row is a record by its partition, offset and order.

    Of a partition the table is asked up to the newest record that it shares with the broker: what came later is on its
    way. An offset that bears no record (a transaction's mark, one that was aborted, a compacted one) is not missing.
    """
    head = table.current_snapshot()
    columns = ("source_partition", "source_offset", "order_id")
    rows = table.scan(selected_fields=columns).to_arrow().to_pydict() if head else {name: [] for name in columns}
    told = Counter(zip(*(rows[name] for name in columns), strict=True))
    starts, there = topic.starts(), set(topic.records())
    proofs = []
    for partition in sorted({*starts, *(each[0] for each in told)}):
        mine = {each: copies for each, copies in told.items() if each[0] == partition}
        offsets = {each[1] for each in mine}
        shared = max((each.offset for each in there if each.partition == partition and tuple(each) in mine), default=-1)
        held = [each.offset for each in there if each.partition == partition]
        deleted = [offset for offset in range(starts.get(partition, 0)) if offset not in offsets]
        proofs.append(
            PartitionProof(
                partition=partition,
                rows=sum(mine.values()),
                highest=max(offsets, default=-1),
                duplicates=sum(mine.values()) - len(mine),
                missing=_ranges(sorted(each for each in held if each <= shared and each not in offsets)),
                deleted=_ranges(deleted),
                later=sum(each > shared for each in held),
            )
        )
    return Proof(
        head=head.snapshot_id if head else None,
        rows=sum(told.values()),
        distinct=len(told),
        highest=max((each.highest for each in proofs), default=0),
        duplicates=sum(each.duplicates for each in proofs),
        missing=(),
        chain=chain_of(table),
        partitions=tuple(proofs),
    )


def _ranges(numbers: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Of ascending numbers, those next to each other together."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return tuple(found)


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
        checkpoint_id=int(checkpoint) if checkpoint is not None else None,
        added_rows=int(summary.get("added-records", 0)),
    )
