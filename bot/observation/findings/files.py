"""What evidence found among the files: repeated, leaked, orphaned, unreadable, and the table's health."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.ledger import FileWriter, SourceRange
from bot.observation.record import Record, Utc

COMMITS_TOLD = 500
"""So many commits of unreadable files, and of lost manifest lists, are told at most."""


class DuplicateFile(Record):
    """One path that is live more than once."""

    path: str
    snapshots: tuple[SnapshotId, ...]
    """The commits that added it, oldest first."""
    rows: int
    """Rows of one copy."""


class DuplicateFilesFinding(Record):
    """Data files that commits of the window added although an entry for them was live already."""

    kind: Literal["duplicate-files"] = "duplicate-files"
    files_checked: int
    count: int
    extra_rows: int
    files: tuple[DuplicateFile, ...]
    """At most 20; `count` counts all."""
    again: tuple[SnapshotId, ...]
    """The commits that added a path once more, oldest first."""


class LeakStanding(StrEnum):
    """What a Flink manifest that is still on storage means (facts 2, step 3)."""

    PENDING = "pending"
    """Its checkpoint is above what its run has committed, and the run is alive or a restore point still lists it: it
    may still be committed."""
    DROPPED = "dropped"
    """Its checkpoint was completed, and is at or below what the table has of its run: the sink skips it for ever."""
    LOST_STATE = "lost-state"
    """Its run is over, or its operator is no longer the table's: nothing remembers it."""
    UNTOLD = "untold"
    """Its rows were read again, or they are lost, or they are another branch's: what was seen does not tell which."""
    GIVEN_UP = "given-up"
    """The job went back to below its checkpoint, after it was written: its rows were read again."""
    LEFT_OVER = "left-over"
    """All its files are in the table, on main or on the branch that its run writes: only its deletion failed."""


class LeakedManifest(Record):
    """One Flink manifest that was never deleted."""

    path: str
    job_id: JobId
    operator_id: OperatorId
    checkpoint_id: CheckpointId
    attempt: int
    standing: LeakStanding
    files: int | None
    """Data and delete files that it lists; None when it could not be read."""
    rows: int | None
    """Rows of its data files; 0 where it lists deletes alone, as one of Flink's two manifests of a checkpoint does."""
    deletes: int = 0
    """Deletes in its delete files."""
    missing_files: int = 0
    """Listed files that are no longer on storage."""
    position_from: int | None = None
    """The lowest source position of its rows, by the bounds of its files. None: not known, or it lists
    deletes too."""
    position_until: int | None = None
    """The highest one, inclusive."""
    ranges: tuple[SourceRange, ...] | None = Field(default=None, exclude_if=lambda told: told is None)
    """Exactly what its data files hold, by source partition. None: as of a row of the ledger, or it was not read."""
    writers: tuple[FileWriter, ...] | None = Field(default=None, exclude_if=lambda told: told is None)
    """Who wrote its files; None as of a row of the ledger, or it was not read."""
    is_overdue: bool = False
    """Pending for longer than a healthy job lets it wait."""
    reason: str
    """One sentence: why it stands so."""

    @property
    def name(self) -> str:
        """Of its file, without the folder."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def is_empty(self) -> bool:
        """Whether it lists nothing, so that nothing is lost with it."""
        return self.rows == 0 and not self.files

    @property
    def has_deletes(self) -> bool:
        """Whether it lists delete files; a sink writes no data file without rows."""
        return bool(self.deletes or (self.rows == 0 and self.files))


class LeakedManifestsFinding(Record):
    """Flink manifests on storage, by run and checkpoint id."""

    kind: Literal["leaked-manifests"] = "leaked-manifests"
    manifests: tuple[LeakedManifest, ...]
    lost_files: int
    """Data and delete files of `dropped` and `lost-state` manifests that no live entry names."""
    lost_rows: int
    lost_deletes: int = 0
    """Deletes in them."""

    def of(self, *standings: LeakStanding) -> tuple[LeakedManifest, ...]:
        return tuple(leak for leak in self.manifests if leak.standing in standings)

    @property
    def left_out(self) -> tuple[LeakedManifest, ...]:
        """Those that nothing is known to commit, and whose rows nothing shows to be on main."""
        return self.of(LeakStanding.DROPPED, LeakStanding.LOST_STATE, LeakStanding.UNTOLD)


class OrphanFilesFinding(Record):
    """Data files on storage, written within the window's time, that no listed snapshot and no Flink manifest names."""

    kind: Literal["orphan-files"] = "orphan-files"
    files_listed: int
    orphans: int
    bytes: int
    young: int
    """Orphans younger than the safe age: perhaps in flight."""
    of_other_attempts: int = 0
    """Orphans whose subtask has a committed file under another attempt number in the window (F22)."""
    paths: tuple[str, ...]
    """At most 20, oldest first, as they may be put aside."""
    newest_at: Utc | None = Field(default=None, exclude_if=lambda at: at is None)
    """When the newest orphan was written, by the clock of storage; None: there is none."""


class UnreadableFile(Record):
    """One file that the pinned table names and storage does not give."""

    path: str
    what: Literal["metadata", "manifest-list", "manifest", "data", "deletes"]
    snapshot_id: SnapshotId | None
    """The commit that added it."""
    rows: int
    """Rows that cannot be read for it; 0 where it is not a data file."""
    problem: str
    has_its_size: bool = Field(default=False, exclude_if=lambda has: not has)
    """Whether it is as long as the table states: then no look at sizes finds it."""


class UnreadableFilesFinding(Record):
    """Files of the window, and the metadata that leads to them, that are missing or cut."""

    kind: Literal["unreadable-files"] = "unreadable-files"
    files_checked: int
    count: int
    rows: int
    """Rows of the data files among them."""
    files: tuple[UnreadableFile, ...]
    """At most 20; metadata first."""
    not_asked: int = 0
    """Files for which Spark cannot ask, for their names."""
    content_checked: int = 0
    """Data and delete files among those that were looked for."""
    content_gone: int = 0
    """Of these: not on storage at all."""
    commits: tuple[SnapshotId, ...] = ()
    """That added the manifests, data and delete files among them, oldest first, at most `COMMITS_TOLD`; one that is no
    longer listed comes before all others."""
    lists: tuple[SnapshotId, ...] = ()
    """Whose manifest lists are among them, newest first, at most `COMMITS_TOLD`."""


class MissingFilesFinding(Record):
    """Files that the head names, of whatever commit, and that are not on storage."""

    kind: Literal["missing-files"] = "missing-files"
    files_checked: int
    count: int
    rows: int
    """Rows of the data files among them."""
    commits: tuple[SnapshotId, ...]
    """That added them, oldest first, at most 20; one that is no longer listed comes before all others."""
    files: tuple[UnreadableFile, ...]
    """At most 20; manifests first, then delete files."""
    not_asked: int = 0
    """Files that the listing did not show and that were not asked for."""
    content_checked: int = 0
    """Data and delete files among those that were looked for."""
    content_gone: int = 0
    """Of these: not on storage at all."""


class LastCommit(Record):
    """The newest snapshot of one run and operator: what a restore of that run must find (facts 0.1)."""

    job_id: JobId
    operator_id: OperatorId | None = None
    snapshot_id: SnapshotId | None = None
    """None: the metadata lists none any more although Flink or storage shows that the run has committed (F8)."""
    checkpoint_id: CheckpointId | None = None
    is_protected: bool = False
    """Whether a branch or tag without an end keeps it from expiry; the head of main counts."""
    expires_within_s: float | None = None
    """Seconds until the table's own retention may expire it, 0 if it may now; None: protected, or nothing listed."""


class TableHealthFinding(Record):
    """How long the table keeps what a restore needs."""

    kind: Literal["table-health"] = "table-health"
    snapshots: int
    last_commits: tuple[LastCommit, ...]
    """Of each run that is alive or wrote in the window."""
    problems: tuple[str, ...]
    """Each a sentence with figures."""
