"""What some notices announce beside the table's state: a recovery, a review."""

from bot.domain.ids import Severity
from bot.domain.record import Documented, Utc


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
    """Terms of which it could not be told whether they held."""
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
    """When it was told."""
    severity: Severity | None
    """What it said of the severity; None in records of earlier versions."""
