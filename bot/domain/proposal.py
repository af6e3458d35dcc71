"""A proposal is data: effects, requirements, evidence, preview, undo, and a digest over all of it."""

import hashlib
import json

from bot.domain.approval import ApprovalPolicy
from bot.domain.effects import Effect
from bot.domain.ids import CheckpointId, EvidenceId, ProposalId, SnapshotId, TableName, UserId
from bot.domain.record import Record, Utc
from bot.domain.requirements import Requirement
from bot.domain.sentences import counted

FINAL = "cannot be undone"
"""What an undo says of a proposal that has none."""


class AffectedRun(Record):
    """A consumer run that read a snapshot which the proposal takes away."""

    consumer: str
    run_id: str
    at: Utc
    snapshot_id: SnapshotId


class Term(Record):
    """One line of what a proposal puts on record."""

    name: str
    says: str


class OtherRows(Record):
    """What one other writer committed, and the job does not read again."""

    writer: str
    commits: tuple[SnapshotId, ...]
    """Oldest first."""
    rows: int
    """Rows that these commits added."""
    taken_out: int = 0
    """Rows that they took out of the table beside those that they added, and that come back."""


def returns(others: OtherRows) -> str:
    """What comes back with them, a clause that begins with a comma; empty where nothing does."""
    rows = counted(others.taken_out, "row")
    return (
        f", and {rows} that {'they' if len(others.commits) > 1 else 'it'} took out return" if others.taken_out else ""
    )


class Preview(Record):
    """What the proposal changes, counted from the ledger at the pinned head."""

    commits: int
    """Commits that leave `main`."""
    files: int
    """Data files that leave `main`."""
    rows: int
    """Rows that leave `main`; they stay readable under the tag."""
    replayed_from: CheckpointId | None
    """The job goes on from this checkpoint; its source re-reads everything after it. None: no job is started."""
    affected_runs: tuple[AffectedRun, ...]
    readers_known: bool
    sure: str
    """What a yes means, one sentence: asked again when the button is clicked."""
    sentences: tuple[str, ...]
    """The change in words, in the order in which it will happen."""
    recorded: tuple[Term, ...] = ()
    """The terms that are approved with it, as the record keeps them."""
    others: tuple[OtherRows, ...] = ()
    """Of what leaves `main`, the commits of other writers: their rows do not come back by themselves."""


class Proposal(Record):
    """What is asked for approval. `digest` covers everything that matters for the decision."""

    id: ProposalId
    action: str
    """The action's name: `roll_back_table_and_restore_job`."""
    title: str
    table: TableName
    because: str
    """The diagnosis in one sentence, with its code."""
    code: str
    effects: tuple[Effect, ...]
    requirements: tuple[Requirement, ...]
    preview: Preview
    evidence: tuple[EvidenceId, ...]
    undo: str
    """How to undo it, or a plain statement that it cannot be undone."""
    policy: ApprovalPolicy
    proposed_by: UserId
    proposed_at: Utc
    follows: tuple[str, ...] = ()
    """The actions behind it, nearest first: what it publishes or undoes, and what that published or undid. Their
    policies decide about it where it has none of its own."""

    @property
    def rehearses_on(self) -> str | None:
        """The branch on which it repairs and is proven, main untouched; None for any other proposal."""
        return next((effect.branch for effect in self.effects if effect.kind == "make-branch"), None)

    @property
    def is_final(self) -> bool:
        """Whether it says of itself that it cannot be undone."""
        return FINAL in self.undo.lower()

    @property
    def expires_at(self) -> Utc:
        """From then on (inclusive) it can no longer be approved or executed."""
        return self.proposed_at + self.policy.expires_after

    @property
    def digest(self) -> str:
        """sha256 of effects, requirements, evidence, preview and undo: what is executed is what was shown."""
        body = self.model_dump(
            mode="json", include={"action", "table", "effects", "requirements", "preview", "evidence", "undo", "policy"}
        )
        return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
