"""A proposal is data: effects, requirements, evidence, preview, undo, and a digest over all of it."""

import hashlib
import json
from typing import Annotated, Literal

from pydantic import Field

from bot.domain.approval import ApprovalPolicy
from bot.domain.ids import CheckpointId, EvidenceId, JobId, ProposalId, SnapshotId, TableName, UserId
from bot.domain.record import Record, Utc

# ------------------------------------------------------------------ effects


class StopJob(Record):
    """Stop run `job_id`, keeping its last state: stop-with-savepoint (never drained), else cancel."""

    kind: Literal["stop-job"] = "stop-job"
    job: str
    """The job's configured name."""
    job_id: JobId


class MoveTable(Record):
    """Move `main` to `to` by one atomic compare-and-swap that carries the tags and properties as well."""

    kind: Literal["move-table"] = "move-table"
    table: TableName
    to: SnapshotId
    keep_head_as: str
    """Tag that keeps the head that is left behind."""


class StartJob(Record):
    """Start the job from `path`; exactly one run, under a job id that is chosen before the request."""

    kind: Literal["start-job"] = "start-job"
    job: str
    path: str
    checkpoint_id: CheckpointId


Effect = Annotated[StopJob | MoveTable | StartJob, Field(discriminator="kind")]

# ------------------------------------------------------------- requirements


class TableIs(Record):
    """The table is still the table that was looked at (same uuid)."""

    kind: Literal["table-is"] = "table-is"
    uuid: str


class HeadDescends(Record):
    """The head is `head`, or descends from it only by commits of run `job_id` with rising checkpoint ids."""

    kind: Literal["head-descends"] = "head-descends"
    head: SnapshotId
    job_id: JobId | None
    """None when nothing is stopped: then the head must be exactly `head`."""


class SnapshotPresent(Record):
    """The target snapshot is still listed by the metadata."""

    kind: Literal["snapshot-present"] = "snapshot-present"
    snapshot_id: SnapshotId


class RunIsCurrent(Record):
    """Run `job_id` is the only run of `job` that is not at its end."""

    kind: Literal["run-is-current"] = "run-is-current"
    job: str
    job_id: JobId


class RestorePointIntact(Record):
    """The restore point is readable and its `_metadata` has the digest that was approved."""

    kind: Literal["restore-point-intact"] = "restore-point-intact"
    path: str
    checkpoint_id: CheckpointId
    digest: str


Requirement = Annotated[
    TableIs | HeadDescends | SnapshotPresent | RunIsCurrent | RestorePointIntact, Field(discriminator="kind")
]


class AffectedRun(Record):
    """A consumer run that read a snapshot which the proposal takes away."""

    consumer: str
    run_id: str
    at: Utc
    snapshot_id: SnapshotId


class Preview(Record):
    """What the proposal changes, counted from the ledger at the pinned head."""

    commits: int
    files: int
    rows: int
    """Rows that leave `main`; they stay readable under the tag."""
    replayed_from: CheckpointId
    """The job goes on from this checkpoint; its source re-reads everything after it."""
    affected_runs: tuple[AffectedRun, ...]
    readers_known: bool
    sentences: tuple[str, ...]
    """The change in words, in the order in which it will happen."""


class Proposal(Record):
    """What is asked for approval. `digest` covers everything that matters for the decision."""

    id: ProposalId
    action: str
    """The action's name: `rewind_table_and_job`."""
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

    @property
    def expires_at(self) -> Utc:
        """From then on (inclusive) it can no longer be approved or executed."""
        return self.proposed_at + self.policy.expires_after

    @property
    def digest(self) -> str:
        """sha256 of effects, requirements, evidence, preview and undo: what is executed is what was shown."""
        body = self.model_dump(
            mode="json",
            include={"action", "table", "effects", "requirements", "preview", "evidence", "undo", "policy"},
        )
        return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
