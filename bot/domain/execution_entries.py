"""What the journal says of an execution: intents, results, its end, and the proof."""

from typing import Literal

from pydantic import Field

from bot.domain.ids import CheckpointId, EvidenceId, JobId, ProposalId, SnapshotId
from bot.domain.record import Record

PROPERTY, TAG = "property ", "tag "
"""Before the names in `EffectStarted.before`."""


class ExecutionStarted(Record):
    """Unique per proposal in the database: the race of two executors is decided here."""

    kind: Literal["execution-started"] = "execution-started"
    proposal: ProposalId


class EffectStarted(Record):
    """Intent of one effect. `job_id` is the id that a job will be started under, chosen beforehand."""

    kind: Literal["effect-started"] = "effect-started"
    proposal: ProposalId
    index: int
    expected_head: SnapshotId | None = None
    job_id: JobId | None = None
    path: str | None = None
    """The restore point that was chosen right before acting."""
    checkpoint_id: CheckpointId | None = None
    """Of that restore point."""
    before: dict[str, str] = {}
    """What the effect is going to replace: `property KEY` -> value, `tag NAME` -> snapshot id; what was not there is
    left out."""
    pauses: bool = False
    """Whether compactions are asked to pause by it; False in records of earlier versions, which asked nobody."""


class EffectEnded(Record):
    kind: Literal["effect-ended"] = "effect-ended"
    proposal: ProposalId
    index: int
    how: Literal["done", "refused", "unknown"]
    detail: str
    result: dict[str, str] = {}
    """What only the deed could tell: `savepoint`, `job_id`, `left`."""


class ExecutionEnded(Record):
    kind: Literal["execution-ended"] = "execution-ended"
    proposal: ProposalId
    outcome: Literal["applied", "refused", "unknown"]
    sentence: str


class VerificationRequested(Record):
    """Intent: a person asks for the proof anew, and is told what is there now. The next `Verified` answers it; until
    then it is owed, also after a restart."""

    kind: Literal["verification-requested"] = "verification-requested"
    proposal: ProposalId


class Check(Record):
    """One line of a verification: what was expected and what was found."""

    name: str
    passed: bool | None
    """None: could not look."""
    sentence: str
    was_before: bool = Field(default=False, exclude_if=lambda told: not told)
    """Whether it is passed though something was found, because main has that where the branch began, too: it stays to
    be mended."""


class Verified(Record):
    kind: Literal["verified"] = "verified"
    proposal: ProposalId
    passed: bool
    checks: tuple[Check, ...]
    evidence: tuple[EvidenceId, ...]
    head: SnapshotId
    """The newest snapshot that every proof has read, where it passed: what came after it is proven by nobody."""
    moves_waterline: Literal["trusted", "under-review", "no"] = "trusted"
    """What it says of the table if it passed; from the action's declaration, and nothing where a branch was proven."""
    branch: str | None = None
    """The branch of a rehearsal on which it was proven; `head` is of it. None: main."""

    @property
    def makes_trusted(self) -> bool:
        """Whether the table is trusted by it, at `head`: never where nothing was asked of the table's rows."""
        return self.passed and self.moves_waterline == "trusted" and self.branch is None and bool(self.evidence)
