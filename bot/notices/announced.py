"""What some notices announce beside the table's state: a recovery, a backfill, a changed contract, a review."""

from typing import Literal

from bot.domain.ids import CheckpointId
from bot.domain.record import Record, Utc


class ProposedRecovery(Record):
    """A recovery that was proposed, in the words that its approvers read."""

    title: str
    state: str
    """`proposed`, `approved`, `applied`, …"""
    sentences: tuple[str, ...]
    """The change, in the order in which it happens."""
    commits: int
    """Commits that leave the table's main line."""
    rows: int
    replayed_from: CheckpointId | None
    """The job goes on from here and reads its source again; None: no job is started."""
    expires_at: Utc


class Backfill(Record):
    """Which rows are written again. Schedule and reason are the responder's own words."""

    since: Utc | None
    """Event times from here on (inclusive); None: not known."""
    until: Utc | None
    """Event times up to here (inclusive)."""
    rows: int
    """Rows that are written again, as far as they were counted; 0: not counted."""
    after_checkpoint: CheckpointId | None
    """The source is read again from after this checkpoint."""


class TermChange(Record):
    """One term of the contract that did not hold, and what is to be done."""

    contract: str
    term: str
    observed: str
    action: str


class ReviewDone(Record):
    """The contract review in numbers, and what did not hold."""

    looked_at: int
    broken: tuple[TermChange, ...]
    unknown: int
    """Terms of which it could not be told whether they held."""


class Earlier(Record):
    """A notice that this consumer had before."""

    kind: str
    title: str
    at: Utc
    severity: Literal["sev1", "sev2", "sev3"] | None
    """What it said of the severity; None in records of earlier versions."""
