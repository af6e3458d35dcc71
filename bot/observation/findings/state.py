"""What evidence found in the job's state: pairing, health of the checkpoints, reach of a restore."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from bot.observation.flink import CheckpointKind, SourcePosition
from bot.observation.ids import CheckpointId, JobId, SnapshotId
from bot.observation.record import Record, Utc


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
