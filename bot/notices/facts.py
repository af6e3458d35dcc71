"""Everything a notice may say, typed. A template's variables are exactly the fields of `NoticeFacts`."""

from typing import Annotated, Literal

from pydantic import Field

from bot.domain.ids import CheckpointId, IncidentId, SnapshotId, TableName, UserId
from bot.domain.record import Record, Utc


class Affected(Record):
    """The commits that are not, or no longer, to be relied on. Never empty: without any, there is no `Affected`."""

    snapshots: tuple[SnapshotId, ...]
    """Full ids, oldest first."""
    first_at: Utc
    last_at: Utc
    """Commit times of the oldest and the newest, both inclusive."""
    rows: int
    """Rows that these commits added, as their summaries count them."""
    taken_back: bool
    """True when none of them is in the table any more; False while they are still part of it."""


class Trusted(Record):
    """The snapshot that is proven, and whether the tag `waterline` stands on it."""

    snapshot_id: SnapshotId
    committed_at: Utc | None
    """None when the metadata lists it no longer."""
    checkpoint_id: CheckpointId | None
    by_tag: bool


class Damage(Record):
    """What evidence counted when it confirmed the fault; None: not asked, or not found."""

    extra_rows: int | None
    missing_positions: int | None


class RunAbove(Record):
    """A run of this consumer that read an affected commit."""

    run_id: str
    at: Utc
    snapshot_id: SnapshotId


class ReadAbove(Record):
    """This consumer was seen reading above the waterline."""

    kind: Literal["read-above"] = "read-above"
    runs: tuple[RunAbove, ...]
    """Oldest first, at least one."""


class NotObserved(Record):
    """Lineage was asked, and no run of this consumer read an affected commit."""

    kind: Literal["not-observed"] = "not-observed"
    runs_seen: int
    """Runs of this consumer that lineage does know in that time."""


class ReadersUnknown(Record):
    """We could not look, or what we saw does not name the snapshot."""

    kind: Literal["unknown"] = "unknown"
    source: str
    reason: str


Reading = Annotated[ReadAbove | NotObserved | ReadersUnknown, Field(discriminator="kind")]
Stage = Literal["investigating", "diagnosed", "proposed", "executing", "verifying", "proven"]


class NoticeFacts(Record):
    """One consumer's view of one incident at one moment."""

    table: TableName
    consumer: str
    owner: str | None
    incident: IncidentId
    severity: Literal["sev1", "sev2", "sev3"]
    opened_at: Utc
    summary: str
    """What the responders noticed, in their words."""
    stage: Stage
    cause: str | None
    """The diagnosis as half a sentence (`the job was restored from …`); None before there is one."""
    affected: Affected | None
    trusted: Trusted | None
    damage: Damage
    reading: Reading
    proofs: tuple[str, ...]
    """Names of the checks that the verification passed; empty before it."""
    to_come: int
    """Source records that were taken back and are not written again yet: the job is catching up."""
    now: Utc
    next_word_at: Utc | None
    """By when the consumer hears again; None once the incident is closed."""
    channel: str
    """Slack channel id of the incident: whom to ask."""
    responder: UserId | None
