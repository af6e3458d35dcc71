"""What some notices announce beside the table's state: a recovery, a backfill, a review."""

from bot.domain.ids import CheckpointId, Severity
from bot.domain.notice import BackfillProgress
from bot.domain.record import Documented, Utc


class ProposedRecovery(Documented):
    """A recovery that was proposed, in the words that its approvers read."""

    title: str
    """What it does, in a few words."""
    state: str
    """`proposed`, `approved`, `applied`, …"""
    sentences: tuple[str, ...]
    """The change, in the order in which it happens."""
    commits: int
    """Commits that leave the table's main line."""
    rows: int
    """Rows of these commits."""
    replayed_from: CheckpointId | None
    """The job goes on from here and reads its source again; None: no job is started."""
    expires_at: Utc
    """Until when it can be approved."""


class Backfill(Documented):
    """Which rows are written again, and how far that has come. When and why are the responder's own words."""

    since: Utc | None
    """Lowest event time (inclusive); None: not known."""
    until: Utc | None
    """Highest event time (inclusive); None: not known."""
    rows: int
    """Rows that are written again, as far as they were counted; 0: not counted."""
    after_checkpoint: CheckpointId | None
    """The job reads its source again from after this checkpoint; None: the rows are written without the job."""
    progress: BackfillProgress
    """`waits`: for approval. `approved`: begins next. `running`. `beside`: the rows are written beside the table and
    being checked. `publication-waits`: they are checked, and wait for approval. `done`. `seen`: somebody wrote them."""
    approve_by: Utc | None
    """Until when it can be approved; None where nothing waits for approval."""


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
