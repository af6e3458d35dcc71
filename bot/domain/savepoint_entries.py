"""What the journal can say of planned savepoints; `entries` has it with all the others."""

from typing import Literal

from pydantic import Field

from bot.domain.ids import ProposalId, SnapshotId, UserId
from bot.domain.record import Record, Utc


class SavepointPlanned(Record):
    """Why a savepoint is taken, for which code, and who answers for it; written before the job is stopped."""

    kind: Literal["savepoint-planned"] = "savepoint-planned"
    reason: str
    code_before: str
    """Version that wrote the state."""
    code_after: str
    """Version that is to be started from it."""
    head: SnapshotId | None
    """Head of the table when it was planned."""
    told: tuple[str, ...]
    """Consumers that were told of it beforehand."""
    may_restore: tuple[UserId, ...]
    """Who may start the job from it; empty: whoever may carry out a proposal."""
    until: Utc
    """It is kept, and is the authoritative one, until then."""
    keeps: str = ""
    """How long the contract keeps snapshots, a sentence; empty where a version wrote it that did not ask."""
    over_by: Utc | None = Field(default=None, exclude_if=lambda moment: moment is None)
    """When the work is expected to be over; None where nobody said so. Left out then: the digest of a proposal that an
    older version made stays what it was."""


class RestoreExplained(Record):
    """Why the job is started from another point than the authoritative savepoint."""

    kind: Literal["restore-explained"] = "restore-explained"
    proposal: ProposalId
    path: str
    """From which it is started."""
    instead_of: str
    """The authoritative savepoint."""
    reason: str


class SavepointReleasing(Record):
    """The tag is about to be removed: written first, so that a missing tag is known to be our deed after a crash."""

    kind: Literal["savepoint-releasing"] = "savepoint-releasing"
    proposal: ProposalId
    """By which it was taken."""
    tag: str
    snapshot: str


class SavepointReleased(Record):
    """The day of a kept savepoint has passed, and its tag no longer keeps a snapshot."""

    kind: Literal["savepoint-released"] = "savepoint-released"
    proposal: ProposalId
    """By which it was taken."""
    tag: str
    snapshot: str
    how: Literal["removed", "gone", "elsewhere"]
    """`gone`: somebody had removed the tag; `elsewhere`: it stands on another snapshot, and was left there."""


SavepointEntry = SavepointPlanned | SavepointReleasing | SavepointReleased | RestoreExplained
