"""What evidence found among the rows: repeated, missing, late, corrected."""

from typing import Literal

from pydantic import Field

from bot.observation.contract import CopyRule
from bot.observation.file_changes import RowsOfFile
from bot.observation.ids import SnapshotId
from bot.observation.record import Record, Utc
from bot.observation.replay import ReplayRange

PAIRS_TOLD = 500
"""So many pairs of commits are told at most, those of most keys first."""


class DuplicatePair(Record):
    """How many keys have one copy from `first` and a further copy from `second`."""

    first: SnapshotId
    """The commit that wrote the older copy."""
    second: SnapshotId
    """The commit that wrote the newer copy: the candidate for the replay. Equal to `first` where one commit wrote
    both."""
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
    """At most `PAIRS_TOLD`. A key that lives three times counts in two of them."""
    within_commit: int = 0
    """Keys with two copies by one commit, in whatever files: what equality deletes of that commit cannot undo (F16)."""
    across_partitions: int = 0
    """Keys whose copies lie in different partitions of the table (F17)."""
    across_subtasks: int = 0
    """Keys whose copies were written by different subtasks, as far as file names tell (F17)."""
    hidden: int = Field(default=0, exclude_if=lambda keys: not keys)
    """Keys with a copy whose writer a compaction hides: what it read is gone, or was deleted from since."""

    @property
    def names_all_commits(self) -> bool:
        """Whether the pairs tell of each key by which commits its copies came. What a full list left out could hide
        behind keys that count in several pairs."""
        return not self.hidden and len(self.pairs) < PAIRS_TOLD and sum(p.keys for p in self.pairs) >= self.keys


class CopiesOfCommit(Record):
    """How many extra copies one commit of the window brought."""

    snapshot_id: SnapshotId
    rows: int


class ExtraCopiesFinding(Record):
    """The window's rows whose key lives in an older copy: which rows they are, and whether they say the same."""

    kind: Literal["extra-copies"] = "extra-copies"
    at: SnapshotId
    """The window's end, where the rows were looked at."""
    keys: int
    """Keys with an extra copy."""
    rows: int
    """Extra copies. Of each key every row of the window but the oldest live copy; where the newest stays, every other
    live copy, also those below the window."""
    commits: tuple[CopiesOfCommit, ...]
    """Who brought them, most rows first, at most 500."""
    differing: int
    """Keys whose copies do not agree in every column that the rule does not ignore."""
    columns: dict[str, int]
    """Column -> keys whose copies differ in it."""
    twice_named: int
    """Rows that are there twice because the table names their file twice: they cannot be told apart by place."""
    places: tuple[RowsOfFile, ...]
    """Where the extra copies stand; empty where `is_whole` is false."""
    is_whole: bool = True
    """False: they are too scattered for a list."""
    rule: CopyRule = CopyRule()
    """What was declared when it was looked at."""
    below: int = 0
    """Extra copies that commits below the window brought."""
    hidden: int = Field(default=0, exclude_if=lambda rows: not rows)
    """Extra copies whose writer a compaction hides."""


class ReplayableFinding(Record):
    """What the declared source gives of the range that is missing, beside what the table has of it."""

    kind: Literal["replayable"] = "replayable"
    bounds: ReplayRange
    """What was asked of the source."""
    missing: int | None
    """Positions of the bounds that no live row carries; None where rows carry no position."""
    given: int
    """Rows that the source gives within the bounds."""
    repeated: int
    """Rows above one per key among them."""
    absent: int
    """Rows whose key does not live: what a replay would write."""
    elsewhere: int
    """Missing positions whose key lives nevertheless, under another position."""
    not_given: int | None
    """Missing positions that the source does not give any more; None where rows carry no position."""
    empty: int = Field(default=0, exclude_if=lambda told: not told)
    """Missing positions that the broker still has without a row: aborted, compacted, or left out by the recipe."""
    event_from: Utc | None
    """Of the absent rows; None without any, or where the contract names no event time."""
    event_until: Utc | None
    digest: str
    """Over every column of the absent rows, in no order: what is written is what was looked at."""


class PositionGap(Record):
    """A run of source positions that no live row carries; both bounds inclusive."""

    first: int
    last: int
    partition: str | None = None
    event_from: Utc | None = Field(default=None, exclude_if=lambda told: told is None)
    """Event time of the row below it; None: not known, or not asked for."""
    event_until: Utc | None = Field(default=None, exclude_if=lambda told: told is None)
    """Of the row above it."""

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class GapsOnBroker(Record):
    """What the Kafka broker still has of the missing positions, as far as gaps are named and their partition is known,
    at the moment of the look."""

    lost: tuple[PositionGap, ...] = ()
    """What it no longer has; of some gaps a part."""
    held: int = 0
    """Positions that it has."""
    until: Utc | None = None
    """All that are held stay at least until then; None: not known, or never deleted for their age."""
    is_limited: bool = False
    """Whether a limit of size, or compaction, may delete some of them earlier."""

    @property
    def lost_positions(self) -> int:
        return sum(gap.size for gap in self.lost)


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
    is_hidden: bool = False
    """Whether the contract hides the column: then positions are counted, and none is named."""
    replaced: int | None = None
    """Of a table that is written by key: positions that no live row carries although a commit brought a row there,
    which a newer row or a delete of its key took along. These are not missing. None: nobody told them apart."""
    is_untold: bool = False
    """Whether deletes by key, or positions that never had a record, may account for all that is `missing`. Where
    positions are not dense, `missing` then counts what lies between rows of two commits."""
    is_dense: bool = Field(default=True, exclude_if=lambda told: told)
    """Whether each position has a record: as the contract says; where it says nothing, by the broker and by the commits
    from before the incident."""
    on_broker: GapsOnBroker | None = Field(default=None, exclude_if=lambda told: told is None)
    """None: no broker was asked, or it is not known of any gap."""
    tops: dict[str, int] = Field(default={}, exclude_if=lambda told: not told)
    """Source partition -> its highest live position, also where a commit brought it that has expired; of those that
    have a row in the window, where the contract names their column and hides neither that nor the positions."""

    @property
    def has_positions(self) -> bool:
        """Whether the window has any position that others could be missing between."""
        return self.lowest is not None or self.is_hidden


class LateCommit(Record):
    """One commit of the window that brought late rows."""

    snapshot_id: SnapshotId
    late: int
    worst_s: float
    """The latest row's distance below the highest event time of all commits before, in seconds."""


class LateRowsFinding(Record):
    """Rows of the window whose event time lies further below what was already there than the contract allows."""

    kind: Literal["late"] = "late"
    rows_checked: int
    late: int
    worst_s: float | None
    allowed_s: float
    """From the contract (`late_after`); 0 where it says nothing: then any row below the high mark counts."""
    commits: tuple[LateCommit, ...]
    """At most 20, most late rows first."""


class CompactedRows(Record):
    """What became of the rows of one compaction, by their keys."""

    snapshot_id: SnapshotId
    lost: int
    """Rows that lived before it and do not live after it."""


class CorrectedRowsFinding(Record):
    """Keys whose values differ between the state where the window begins and its end."""

    kind: Literal["corrected"] = "corrected"
    keys: int
    """Keys present in both with a changed value."""
    gone: int
    """Keys that were there before and are not at the end."""
    columns: dict[str, int]
    """Column -> keys in which it changed."""
    compactions: tuple[CompactedRows, ...] = ()
    """The window's compactions whose counters leave open whether they kept their rows, each compared with its parent;
    without one whose parent is not listed."""


class ReplayedRowsFinding(Record):
    """Rows of the window that an earlier commit had brought already, live or rolled back, whatever became of them."""

    kind: Literal["replayed"] = "replayed"
    rows_checked: int
    replayed: int
    changed: int
    """Replayed rows whose other values differ from the first copy: the replay was not idempotent."""
    first: int | None
    """Lowest replayed source position; None without a position column."""
    last: int | None
    pairs: tuple[DuplicatePair, ...]
    within_commit: int = Field(default=0, exclude_if=lambda rows: not rows)
    """Rows that are equal in every column to another one of their own commit, but for one of each; whether or not an
    earlier commit had brought them as well."""
