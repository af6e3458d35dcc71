"""What an evidence task found, in a shape that diagnosis can reason over (not only read)."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from bot.observation.contract import CopyRule
from bot.observation.file_changes import RowsOfFile
from bot.observation.flink import CheckpointKind, SourcePosition
from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.ledger import FileWriter, Ledger, SourceRange
from bot.observation.readers import ReadRun
from bot.observation.record import Record, Utc
from bot.observation.replay import ReplayRange


class LedgerFinding(Record):
    kind: Literal["ledger"] = "ledger"
    ledger: Ledger


class RepeatedCommit(Record):
    """Two commits on main of which the second brings what the first had brought."""

    first: SnapshotId
    again: SnapshotId
    how: Literal["same-files", "same-checkpoint", "same-source-range"]
    """`same-files`: the very paths once more. `same-checkpoint`: run, operator and checkpoint id once more.
    `same-source-range`: the bounds of position overlap, or, by another run, those of event time."""
    job_id: JobId | None
    """The run of the second commit."""
    checkpoint_id: CheckpointId | None
    rows: int
    """Rows that the second commit added."""
    is_cherry_pick: bool = False
    """Whether the second says that it was picked (`source-snapshot-id`)."""
    too_many: int | None = Field(default=None, exclude_if=lambda told: told is None)
    """Of `rows` those that are surely too many: of files that older commits had added as well, or all of a checkpoint
    that came again whole. 0: it may hold other rows, too, and nothing tells which. None: of a source range."""
    in_parts: int | None = Field(default=None, exclude_if=lambda told: told is None)
    """Of `rows` those at positions of earlier commits, where `too_many` does not tell all; None: not known."""

    @property
    def rows_again(self) -> int:
        """Rows that it brought again; where that is not known for sure, as many as it can be."""
        return self.too_many or (self.rows if self.in_parts is None else self.in_parts)

    @property
    def is_at_most(self) -> bool:
        """Whether `rows_again` counts rows that may be there once."""
        return self.is_doubtful or (self.how == "same-source-range" and self.in_parts is None)

    @property
    def is_doubtful(self) -> bool:
        """Whether it may have brought rows that the first commit had not, in files that nothing tells apart."""
        return self.too_many == 0


class CommitRanges(Record):
    """What one commit brought of the source."""

    snapshot_id: SnapshotId
    ranges: tuple[SourceRange, ...] | None
    """Exactly, by source partition, as bounds or rows tell. None: neither does. Empty: it brought no position."""


MOST_COMMIT_RANGES = 10_000
"""Ranges, of all commits together."""


class DuplicateCommitsFinding(Record):
    """Commits of the window that repeat another one: each once, with its strongest proof and the commit of which it
    repeats most."""

    kind: Literal["duplicate-commits"] = "duplicate-commits"
    commits_checked: int
    repeated: tuple[RepeatedCommit, ...]
    ranges: tuple[CommitRanges, ...] | None = Field(default=None, exclude_if=lambda told: told is None)
    """Each commit that was compared, those from before the window too, oldest first. None: the table has no position
    that may be shown, or there are more than `MOST_COMMIT_RANGES` ranges."""


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
    FOREIGN = "foreign"
    """A run of another job has written it, by what Flink, its sink and the settings tell: this job does not start from
    it."""
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
    brings_again: SnapshotId | None = Field(default=None, exclude_if=lambda repair: repair is None)
    """The repair above its table state with rows that the job would bring a second time, started on the table as it is.
    A rewind to that table state takes the repair off, so it does not matter there."""
    rewind_loses: tuple[SnapshotId, ...] = Field(default=(), exclude_if=lambda repairs: not repairs)
    """The repairs above its table state, newest first, with rows that it has behind it: a rewind takes these off, and
    the job does not bring them again."""


class PairingFinding(Record):
    """Every restore point that storage holds, newest first."""

    kind: Literal["pairing"] = "pairing"
    pairings: tuple[Pairing, ...]


class RunHealth(Record):
    """The checkpoints of one run, as far as Flink still lists them."""

    job_id: JobId
    completed: int
    failed: int
    failed_in_a_row: int
    """Failures since the newest completed one."""
    seen_interval_ms: int | None
    """Median time between the listed completed checkpoints."""
    longest_ms: int | None
    problems: tuple[str, ...]
    """Each a sentence with figures."""


class CheckpointHealthFinding(Record):
    """How checkpoints fare, run by run, newest run first."""

    kind: Literal["checkpoint-health"] = "checkpoint-health"
    runs: tuple[RunHealth, ...]
    is_durable: bool | None
    """Whether checkpoints are kept where they outlive the cluster and a cancelled run; None when not known."""
    problems: tuple[str, ...]
    """Those of storage and of what is set."""


class RestoreReach(Record):
    """What a restore from this point brings back, and what it cannot."""

    path: str
    checkpoint_id: CheckpointId | None
    checkpoint_kind: CheckpointKind
    verdict: PairVerdict
    snapshot_id: SnapshotId | None
    """The table state that it pairs with."""
    state_bytes: int | None
    pending_manifests: tuple[str, ...]
    """Flink manifests that its committer state still owes to the table."""
    missing_manifests: tuple[str, ...]
    """Those of them that are no longer on storage: a restore would fail with NotFoundException (F7)."""
    position_until: int | None
    """Highest source position that its table state holds, of all partitions of the source together, from the bounds
    of the window's files and of the three newest commits with rows; what lies above is read again."""
    to_read_again: int | None
    """Rows that Flink committed on main above that table state: at most so many would the job read and write again."""
    cannot: tuple[str, ...]
    """What no restore from here brings back, each a sentence."""
    source_positions: tuple[SourcePosition, ...] = ()
    """Where its Kafka sources go on; empty: not known."""
    written_at: Utc | None = None
    is_durable: bool = True
    """As of its pairing: False for a checkpoint that Flink will drop soon."""
    brings_back: bool = False
    """Whether job and table go on from it as if nothing had happened: it pairs, or it commits first what it owes, all
    of which is there, on top of its own run's commits."""
    lost_for_good: tuple[str, ...] = Field(default=(), exclude_if=lambda lost: not lost)
    """Ranges of records that it needs and Kafka has no more, a clause each."""


class Limit(Record):
    """One thing that a recovery needs and that does not stay."""

    what: str
    """What happens to it, a clause: `Kafka may delete orders/2 from offset 4,100 on`."""
    at: Utc
    """Not before that."""
    how: str
    """How that is known, a clause."""
    after: str
    """What can still be done after it, or now; a sentence."""
    earlier: str | None = Field(default=None, exclude_if=lambda told: told is None)
    """Why it may happen earlier, a sentence; None: nothing is known that would make it."""
    is_conditional: bool = Field(default=False, exclude_if=lambda told: not told)
    """Whether it happens only if somebody does it, of whom nothing is known."""
    kind: Literal["records", "snapshots", "checkpoints", "files"] | None = Field(
        default=None, exclude_if=lambda told: told is None
    )
    """Of what: records of the source, snapshots of the table, checkpoints of the job, or files that only its state
    names."""


class RecoveryDeadline(Record):
    """Until when a table can be recovered, as of one look."""

    looked_at: Utc
    recoverable_until: Utc | None
    """The earliest limit that is not conditional; None: no such limit is known."""
    because: str | None
    """What happens then, a clause."""
    restore_point: str | None
    """The best one, by its path; None: there is none."""
    limits: tuple[Limit, ...]
    """By time, the first first."""
    lost_for_good: tuple[str, ...] = ()
    """Ranges of records that the recovery needs and Kafka has no more, a clause each."""
    unknown: tuple[str, ...] = ()
    """What is not known, a sentence each; with any, the deadline may be earlier."""


class RecoveryExtentFinding(Record):
    """Every restore point that can be read, the best first: paired, newest."""

    kind: Literal["recovery-extent"] = "recovery-extent"
    points: tuple[RestoreReach, ...]
    deadline: RecoveryDeadline | None = Field(default=None, exclude_if=lambda told: told is None)
    """None: nothing is there that could go."""


class FreshnessFinding(Record):
    """How old the newest commit and the newest event are, when the metadata was read."""

    kind: Literal["freshness"] = "freshness"
    newest_commit: SnapshotId | None
    """The newest commit on main that added rows."""
    commit_age_s: float | None
    event_age_s: float | None
    """Age of the highest event time of the newest commits, at least that of the newest commit; None when the contract
    names no such column, or it is not known."""
    promised_s: float | None
    """What the contract allows."""
    promised_cadence_s: float | None
    """Expected time between commits."""
    commits_checked: int
    is_event_time_stuck: bool
    """Whether commits with rows came and the highest event time did not rise in the last three of them (F24)."""
    stuck_at: Utc | None = None


Side = Literal["table", "contract", "files", "earlier-table", "state"]


class SchemaDifference(Record):
    """One column about which two of table, contract and job disagree."""

    column: str
    between: tuple[Side, Side]
    """`state`: what the job would write if it were restored from the newest restore point as it was."""
    expected: str
    found: str


class SchemaDriftFinding(Record):
    """The table's schema against the contract, itself where the window begins, and what is written."""

    kind: Literal["schema-drift"] = "schema-drift"
    differences: tuple[SchemaDifference, ...]
    all_null: tuple[str, ...]
    """Columns that were added after the table was made and that every file of the window by Flink leaves null or does
    not have, of the commits whose own schema has the column."""
    untold: tuple[str, ...] = ()
    """Such columns that no file is known to fill, because a writer kept no counts: not seen, so not excluded."""
    added_at: SnapshotId | None
    """First commit of the window under the present schema; None when the schema did not change within it."""
    state_run: JobId | None = None
    """The run whose columns were compared as those of the job's state; None: not known."""
    not_in_state: tuple[str, ...] = ()
    """Columns of the table that this run does not know, so that it leaves them null."""
    not_in_table: tuple[str, ...] = ()
    """Columns that this run goes on writing and the table no longer has, so that no reader sees them."""


class ReadsFinding(Record):
    """Consumer runs that read a state above the trusted snapshot, or one that was rolled back."""

    kind: Literal["reads"] = "reads"
    trusted: SnapshotId | None
    above: tuple[ReadRun, ...]
    """Oldest first."""
    not_told: tuple[ReadRun, ...]
    """Runs within the window's time whose snapshot no event tells."""
    runs_checked: int


Contract = Literal["state", "checkpoint", "table", "approval"]


class Term(Record):
    contract: Contract
    term: str
    observed: str
    holds: bool | None
    """None when it could not be observed."""
    action: str = ""
    """What to do about it; empty where it holds."""


class ContractAgreementFinding(Record):
    """State, checkpoint and table contract, each term against what was observed."""

    kind: Literal["contract-agreement"] = "contract-agreement"
    terms: tuple[Term, ...]


Finding = Annotated[
    CheckpointHealthFinding
    | ContractAgreementFinding
    | CorrectedRowsFinding
    | DuplicateCommitsFinding
    | DuplicateFilesFinding
    | DuplicatesFinding
    | ExtraCopiesFinding
    | FreshnessFinding
    | GapsFinding
    | LateRowsFinding
    | LeakedManifestsFinding
    | LedgerFinding
    | MissingFilesFinding
    | OrphanFilesFinding
    | PairingFinding
    | ReadsFinding
    | RecoveryExtentFinding
    | ReplayableFinding
    | ReplayedRowsFinding
    | SchemaDriftFinding
    | TableHealthFinding
    | UnreadableFilesFinding,
    Field(discriminator="kind"),
]
