"""Everything a notice may say, typed. A template's variables are exactly the fields of `NoticeFacts`.

What stands below a field is its documentation: `docs/notices.md` is written from it.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bot.domain.ids import CheckpointId, IncidentId, Severity, SnapshotId, TableName, UserId
from bot.domain.record import Record, Utc
from bot.notices.announced import Backfill, Earlier, ProposedRecovery, ReviewDone, TermChange


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


class RunThrough(Record):
    """A run of this consumer that read what another run had computed from an affected commit."""

    run_id: str
    at: Utc
    path: tuple[str, ...]
    """The way from the table to it: datasets and the consumers that wrote them, in turn."""
    distance: int
    """Runs between the table and it, itself included: at least 2."""


class ReadThrough(Record):
    """This consumer did not read an affected commit itself, but results that were computed from one."""

    kind: Literal["read-through"] = "read-through"
    runs: tuple[RunThrough, ...]
    """Nearest first, at least one."""


class ConsumerRuns(Record):
    """How many runs of one consumer read an affected commit, themselves or through others."""

    consumer: str
    runs: int
    distance: int


class ManyReaders(Record):
    """The audience is a channel or a list of addresses, not one consumer: everybody who was seen reading."""

    kind: Literal["many"] = "many"
    consumers: tuple[ConsumerRuns, ...]
    """Nearest first; empty: nobody was seen."""


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


Reading = Annotated[ReadAbove | ReadThrough | ManyReaders | NotObserved | ReadersUnknown, Field(discriminator="kind")]
Stage = Literal["investigating", "diagnosed", "proposed", "executing", "verifying", "proven"]


class NoticeFacts(Record):
    """One consumer's view of one incident at one moment."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_timedelta="float", use_attribute_docstrings=True)

    table: TableName
    """The table that the incident is about."""
    consumer: str
    """Who is told."""
    owner: str | None
    """Who answers for the consumer: a Slack user id, or a name."""
    incident: IncidentId
    """The incident's id."""
    severity: Severity
    """How bad it is now."""
    severity_before: Severity | None
    """What this consumer was told last of it, where that was another severity."""
    opened_at: Utc
    """When the incident was opened."""
    summary: str
    """What the responders noticed, in their words."""
    words: str
    """What a responder adds to this very notice: what was wrong with an earlier one, or when a backfill runs."""
    stage: Stage
    """How far the responders are."""
    cause: str | None
    """The diagnosis as half a sentence (`the job was restored from …`); None before there is one."""
    affected: Affected | None
    """The commits that are not, or no longer, to be relied on: snapshots, times, rows."""
    trusted: Trusted | None
    """The snapshot to fall back to; None where none is proven."""
    damage: Damage
    """What evidence counted."""
    reading: Reading
    """What was seen of this consumer's own reading: `read-above`, `read-through`, `not-observed`, `unknown`, or `many`
    where the audience is not one consumer."""
    proofs: tuple[str, ...]
    """Names of the checks that the verification passed; empty before it."""
    to_come: int
    """Source records that were taken back and are not written again yet: the job is catching up."""
    proposal: ProposedRecovery | None
    """The recovery that is proposed, or was."""
    backfill: Backfill | None
    """Which rows are going to be written again, as far as it is known."""
    changes: tuple[TermChange, ...]
    """Terms of the data contract that are to change."""
    review: ReviewDone | None
    """What the contract review found."""
    earlier: Earlier | None
    """What this consumer was told last."""
    now: Utc
    """When this was rendered."""
    next_word_at: Utc | None
    """By when the consumer hears again; None once the incident is closed."""
    channel: str
    """Slack channel id of the incident: whom to ask."""
    responder: UserId | None
    """Slack user id of who responds."""
