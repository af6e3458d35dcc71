"""Everything a notice may say, typed. A template's variables are exactly the fields of `NoticeFacts`.

What stands below a field is its documentation: `docs/notices.md` is written from it.

What some notices announce beside the table's state: a recovery, a review.
"""

from typing import Literal

from bot.incident.notice import WorkState
from bot.incident.trust import Pin
from bot.notices.extent import KeysChanged, Rerun, SnapshotRange
from bot.notices.reading import Reading
from bot.observation.ids import CheckpointId, IncidentId, Severity, SnapshotId, TableName, UserId
from bot.observation.record import Documented, Utc


class ProposedRecovery(Documented):
    """A recovery that was proposed, in the words that its approvers read."""

    title: str
    """What it does, in a few words."""
    state: str
    """`proposed`, `approved`, `applied`, …"""


class TermBroken(Documented):
    """One term of the table's contract that did not hold."""

    term: str
    """What is promised."""
    observed: str
    """What was observed."""
    action: str
    """What is to be done; may be empty."""
    is_fixed: bool
    """Whether that is done."""


class ReviewDone(Documented):
    """The review in numbers, of what consumers were promised: the table's own contract."""

    looked_at: int
    """Terms of the table's contract."""
    broken: tuple[TermBroken, ...]
    """Those that did not hold."""
    unknown: int
    """Terms of which it is not known whether they held."""
    inner: int
    """Terms of the job's state, the checkpoints and the decisions, which stay with the responders."""


class Unheard(Documented):
    """What was added to an earlier notice of the same kind that has not come, in whose place this one is read."""

    at: Utc
    """When it was to be sent."""
    words: str
    """In the responder's words."""


class Earlier(Documented):
    """A notice that this consumer had before."""

    kind: str
    """The template's name."""
    title: str
    """Its title."""
    at: Utc
    """When it was sent."""
    severity: Severity | None
    """What it said of the severity."""


class Affected(Documented):
    """The commits that are not, or no longer, to be relied on. Never empty: without any, there is no `Affected`."""

    snapshots: tuple[SnapshotId, ...]
    """Full ids, oldest first."""
    ranges: tuple[SnapshotRange, ...]
    """The same, condensed."""
    first_at: Utc
    """Commit time of the oldest."""
    last_at: Utc
    """Commit time of the newest."""
    rows: int
    """Rows that these commits added, as their summaries count them; what a compaction copied is not counted."""
    event_from: Utc | None
    """Lowest event time of these rows (inclusive), as far as it was looked at; None: not known at all."""
    event_until: Utc | None
    """Highest event time of these rows (inclusive)."""
    events_untold: int
    """Commits of which the event times are not, or not all, known: committed since they were looked at, without
    bounds, or with rows replaced or deleted."""
    partitions: tuple[str, ...]
    """In which partitions they are, as `day(event_time) 2026-11-03`, `region EU, NA`, or `customer •••` where the
    contract hides the column; empty: not partitioned, or not known."""
    partitions_untold: tuple[str, ...]
    """By what else the table is partitioned, where it is not known in which partitions they are: `region`."""
    taken_back: bool
    """True when none of them is in the table any more; False while they are still part of it."""


class Trusted(Documented):
    """The snapshot to read, proven or the newest that nobody doubts, and whether the tag `waterline` stands on it."""

    snapshot_id: SnapshotId
    """Full id."""
    committed_at: Utc | None
    """None when the metadata lists it no longer."""
    checkpoint_id: CheckpointId | None
    """Flink's checkpoint; None where it has none."""
    by_tag: bool
    """Whether the tag `waterline` stands on it."""
    is_known_good: bool
    """Whether it is proven, or its rows were read and found clean; False: nobody has proven them yet."""
    pins: tuple[Pin, ...]
    """How the consumer's engine reads it, as a query to be copied: `engine`, `exact`, and `following` (by the tag; None
    where the engine cannot, or no tag stands on it). Empty when the metadata lists it no longer."""
    is_usual: bool = False
    """Whether the consumer's engine is not known, and the most usual ones are shown."""


class Damage(Documented):
    """What evidence counted when it confirmed the fault; None: not asked, or not found."""

    extra_rows: int | None
    """Rows above one per key."""
    missing_positions: int | None
    """Source records that were missing."""
    lost_for_good: int | None
    """Of these, records that Kafka had deleted when evidence looked; None: none, or not known."""
    missing_from: Utc | None
    """Lowest event time of the rows that were missing (inclusive), as their source gives it."""
    missing_until: Utc | None
    """Highest one (inclusive)."""
    keys: KeysChanged | None
    """How many keys were wrong, and some of them; None: not counted."""


Stage = Literal["investigating", "diagnosed", "proposed", "executing", "verifying", "proven"]


class NoticeFacts(Documented):
    """One consumer's view of one incident at one moment."""

    table: TableName
    """The table that the incident is about."""
    consumer: str
    """Who is notified."""
    owner: str | None
    """Who answers for the consumer: a Slack user id, or a name."""
    incident: IncidentId
    """The incident's id."""
    severity: Severity
    """How bad it is now."""
    severity_before: Severity | None
    """The severity of the notice before, where that was another one."""
    opened_at: Utc
    """When the incident was opened."""
    symptom: str | None = None
    """What the incident was opened for, a clause; none of planned work."""
    summary: str
    """What the responders noticed, in their words."""
    words: str
    """What a responder adds to this very notice: what was wrong with an earlier one, or when a backfill runs."""
    stage: Stage
    """How far the responders are."""
    is_changed: bool
    """Whether a step of a recovery has changed the table's main line or its job, whatever became of it."""
    cause: str | None
    """The diagnosis as half a sentence (`the job was restored from …`); None before there is one."""
    affected: Affected | None
    """The commits that are not, or no longer, to be relied on: snapshots, times, rows."""
    trusted: Trusted | None
    """The snapshot to fall back to; None where none is proven."""
    doubt: str | None
    """Who else has the table in doubt although this incident has proven it, a clause (`incident wl-14 has the table in
    doubt`): then `stage` is not `proven`. None: nobody."""
    damage: Damage
    """What evidence counted."""
    reading: Reading
    """What was seen of this consumer's own reading: `read-above`, `read-through`, `not-observed`, `unknown`, or `many`
    where the audience is not one consumer."""
    rerun: Rerun
    """Whether this consumer must run again, and from where."""
    proofs: tuple[str, ...]
    """Names of the checks that the verification passed; empty before it."""
    to_come: int
    """Source records that were taken back and are not written again yet: the job is catching up."""
    proposal: ProposedRecovery | None
    """The recovery that is proposed, or was."""
    review: ReviewDone | None
    """What the contract review found."""
    earlier: Earlier | None
    """The last notice that this consumer got."""
    unheard: tuple[Unheard, ...]
    """What earlier notices of this kind say that have not arrived and that this one replaces."""
    now: Utc
    """When this was rendered."""
    next_word_at: Utc | None
    """By when the consumer hears again; None in the last notice, and once the incident is closed."""
    work: WorkState | None
    """Of planned work: `planned`, `over` or `off`; None in other notices."""
    over_by: Utc | None
    """When planned work is expected to be over; None where its plan does not say so, or that has passed."""
    channel: str
    """Slack channel id of the incident: whom to ask."""
    responder: UserId | None
    """Slack user id of who responds."""
    team: str | None
    """Whose table it is, as its data contract says: `Orders: Dana (Owner)`; None: it does not."""
