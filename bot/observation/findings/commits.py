"""What evidence found among the commits: the ledger, repeats."""

from typing import Literal

from pydantic import Field

from bot.observation.ids import CheckpointId, JobId, SnapshotId
from bot.observation.ledger import Ledger, SourceRange
from bot.observation.record import Record


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
