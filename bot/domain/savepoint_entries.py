"""What the journal can say of planned savepoints; `entries` has it with all the others."""

from typing import Literal

from bot.domain.ids import ProposalId
from bot.domain.record import Record, Utc
from bot.domain.sentences import clock_time, full_stop


class SavepointPlanned(Record):
    """Why a savepoint is taken, for which code, and who answers for it; written before the job is stopped."""

    kind: Literal["savepoint-planned"] = "savepoint-planned"
    reason: str
    code_before: str
    """Version that wrote the state."""
    code_after: str
    """Version that is to be started from it."""
    until: Utc
    """It is kept, and is the authoritative one, until then."""
    over_by: Utc | None = None
    """When the work is expected to be over; None where nobody said so."""


class SavepointReleasing(Record):
    """The tag is about to be removed. Written first: after a crash, a missing tag is known to be our own removal."""

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


SavepointEntry = SavepointPlanned | SavepointReleasing | SavepointReleased


def savepoint_sentence(body: SavepointEntry) -> str:
    """One sentence or two, for the timeline."""
    match body:
        case SavepointPlanned():
            return (
                f"Savepoint planned, from code {body.code_before} to {body.code_after}: {full_stop(body.reason)} "
                f"Kept until {body.until:%Y-%m-%d}."
                + (f" Expected to be over by {clock_time(body.over_by)}." if body.over_by else "")
            )
        case SavepointReleasing():
            return f"The savepoint expired: removing its tag {body.tag} on snapshot {body.snapshot}."
        case SavepointReleased():
            left = {
                "removed": f"was removed and no longer keeps snapshot {body.snapshot}",
                "gone": "was already removed",
                "elsewhere": "names another snapshot and was kept",
            }[body.how]
            return f"The savepoint expired. Its tag {body.tag} {left}."
