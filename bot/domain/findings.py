"""What an evidence task found, in a shape that diagnosis can reason over (not only read)."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId, JobId, SnapshotId
from bot.domain.ledger import Ledger
from bot.domain.record import Record


class LedgerFinding(Record):
    """The window's commits."""

    kind: Literal["ledger"] = "ledger"
    ledger: Ledger


class DuplicatePair(Record):
    """How many keys have one copy from `first` and a further copy from `second`."""

    first: SnapshotId
    """The commit that wrote the older copy."""
    second: SnapshotId
    """The commit that wrote the newer copy: the candidate for the replay."""
    keys: int


class DuplicatesFinding(Record):
    """Business keys that live more than once at the pinned head, at least one copy within the window."""

    kind: Literal["duplicates"] = "duplicates"
    rows_checked: int
    keys: int
    """Keys with two or more live copies."""
    extra_rows: int
    """Rows above one per key: what a deduplication would remove."""
    pairs: tuple[DuplicatePair, ...]


class PositionGap(Record):
    """A run of source positions that no live row carries; both bounds inclusive."""

    first: int
    last: int
    partition: str | None = None

    @property
    def size(self) -> int:
        """How many positions are missing."""
        return self.last - self.first + 1


class GapsFinding(Record):
    """Missing source positions between the lowest and highest position around the window."""

    kind: Literal["gaps"] = "gaps"
    lowest: int | None
    highest: int | None
    positions: int
    """Distinct positions seen."""
    missing: int
    gaps: tuple[PositionGap, ...]
    """The first gaps, lowest first, at most 20; `missing` counts all."""
    to_come: int = 0
    """Positions of rolled-back commits above the highest live one: not written again yet."""


class PairVerdict(StrEnum):
    """Whether a restore from this point of state would be exactly-once against a snapshot of the table."""

    PAIRED = "paired"
    """A snapshot carries exactly its checkpoint id, for the run and operator that wrote it."""
    AHEAD = "ahead"
    """Its checkpoint is newer than any commit of its run: what it holds has not reached the table."""
    BEHIND = "behind"
    """Its own commit was merged into a later one (V1) or is gone: no table state matches it."""
    UNPAIRABLE = "unpairable"
    """Nothing in the metadata names its run."""
    UNREADABLE = "unreadable"
    """Its `_metadata` could not be read."""


class Pairing(Record):
    """One savepoint or retained checkpoint, and the table state that it pairs with."""

    path: str
    checkpoint_kind: CheckpointKind
    checkpoint_id: CheckpointId | None
    job_id: JobId | None
    verdict: PairVerdict
    snapshot_id: SnapshotId | None
    reason: str
    digest: str | None
    is_durable: bool
    """False for a retained checkpoint of a run that still goes on: Flink will drop it soon."""


class PairingFinding(Record):
    """Every restore point that storage holds, newest first."""

    kind: Literal["pairing"] = "pairing"
    pairings: tuple[Pairing, ...]


Finding = Annotated[LedgerFinding | DuplicatesFinding | GapsFinding | PairingFinding, Field(discriminator="kind")]
