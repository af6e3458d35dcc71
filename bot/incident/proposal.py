"""A proposal is data: effects, requirements, evidence, preview, undo, and a digest over all of it.

A requirement must hold when proposed, when approved and at execution: one record each, tagged, with its sentence for
whoever approves it. How each is looked at stands in `bot/actions/_support/requirements.py`.
"""

import hashlib
import json
from typing import Annotated, Literal, assert_never

from pydantic import Field

from bot.incident.approval import ApprovalPolicy
from bot.incident.effects import Effect
from bot.observation.ids import (
    CheckpointId,
    EvidenceId,
    JobId,
    OperatorId,
    ProposalId,
    SnapshotId,
    TableName,
    UserId,
    short,
    short_job,
)
from bot.observation.readers import ReadRun
from bot.observation.record import Record, Utc
from bot.observation.sentences import counted

UNDO = "undo_proposal"
"""The action that takes another one back."""


class TableIs(Record):
    """The table is still the table that was looked at (same uuid)."""

    kind: Literal["table-is"] = "table-is"
    uuid: str


class HeadDescends(Record):
    """The head is `head`, or descends from it only by commits of run `job_id` with rising checkpoint ids, and by what
    does not matter to a start of `starts`."""

    kind: Literal["head-descends"] = "head-descends"
    head: SnapshotId
    job_id: JobId | None
    """None when nothing is stopped: then no commit of the job may follow `head`."""
    starts: str | None = None
    """The job that is started without a move of main: compactions may follow, and other jobs that surely wrote beside
    it. None: nobody else may commit."""
    goes_on_from: JobId | None = None
    """The run from whose state `starts` is started; None: `job_id`."""
    files_are_named: bool = False
    """Whether no compaction may follow `head` either: the effect names files of it."""
    by_anybody: bool = False
    """Whether commits of whoever may follow: the effect itself looks for those that bind what it starts from."""


class SnapshotPresent(Record):
    """The target snapshot is still listed by the metadata."""

    kind: Literal["snapshot-present"] = "snapshot-present"
    snapshot_id: SnapshotId


class RefIs(Record):
    """A branch or tag other than `main` is on `snapshot_id`; None: it does not exist."""

    kind: Literal["ref-is"] = "ref-is"
    ref: str
    snapshot_id: SnapshotId | None


class RunIsCurrent(Record):
    """Run `job_id` is the only run of `job` that is not at its end, and was not rescaled since it was looked at."""

    kind: Literal["run-is-current"] = "run-is-current"
    job: str
    job_id: JobId
    parallelism: dict[OperatorId, int] = {}
    """Operator chain -> its parallelism; empty: it was not settled, and its scale is not asked for."""


class RunsAlive(Record):
    """Exactly these runs of `job` are not at their end."""

    kind: Literal["runs-alive"] = "runs-alive"
    job: str
    job_ids: tuple[JobId, ...]


class NobodyWrites(Record):
    """No run of `job` is alive."""

    kind: Literal["nobody-writes"] = "nobody-writes"
    job: str


class StartPossible(Record):
    """Nothing is known that would keep a start of `job` from being accepted, and what would be started is what was
    declared when it was proposed: asked before anything is stopped, and again right before the start."""

    kind: Literal["start-possible"] = "start-possible"
    job: str
    declaration: str | None = None
    """The digest of the declaration (`FlinkJobs.declaration`); None: it was not told, and is not asked for."""


class RestorePointIntact(Record):
    """The restore point is readable and its `_metadata` has the digest that was approved."""

    kind: Literal["restore-point-intact"] = "restore-point-intact"
    job: str
    """The job whose storage holds it."""
    path: str
    checkpoint_id: CheckpointId
    digest: str


class SiblingSpared(Record):
    """Another table that `job` writes has no commit of it from after the restore point: none would come twice."""

    kind: Literal["sibling-spared"] = "sibling-spared"
    table: TableName
    job: str
    path: str | None
    """The restore point; None: the state that run `job_id` leaves, which is looked for once the run has ended."""
    job_id: JobId | None = None


class PlanCounts(Record):
    """The day has not passed until which the planned savepoint is to count."""

    kind: Literal["plan-counts"] = "plan-counts"
    until: Utc


Requirement = Annotated[
    TableIs | HeadDescends | SnapshotPresent | RefIs | RunIsCurrent | RunsAlive | NobodyWrites | StartPossible
    | RestorePointIntact | SiblingSpared | PlanCounts,
    Field(discriminator="kind"),
]  # fmt: skip


def requirement_sentence(requirement: Requirement) -> str:  # noqa: C901 - one case a kind, nothing nested
    """What must hold when proposed, when approved and at execution; otherwise nothing is changed."""
    match requirement:
        case TableIs():
            return f"The table is still the same one (uuid {requirement.uuid})."
        case HeadDescends():
            return _head(requirement)
        case SnapshotPresent():
            return f"The table still lists snapshot {short(requirement.snapshot_id)}."
        case RefIs(snapshot_id=None):
            return f"No branch or tag {requirement.ref} exists yet."
        case RefIs():
            return f"{requirement.ref} is on snapshot {short(requirement.snapshot_id)}."
        case RunsAlive():
            alive = " and ".join(short_job(each) for each in requirement.job_ids)
            return f"Only runs {alive} of {requirement.job} are alive."
        case NobodyWrites():
            return f"No run of {requirement.job} is alive."
        case RunIsCurrent():
            scale = ", and nobody has rescaled it" if requirement.parallelism else ""
            return f"Run {short_job(requirement.job_id)} is the only run of {requirement.job} that is alive{scale}."
        case StartPossible():
            declared = (
                f" Its start settings are unchanged ({requirement.declaration[:12]})."
                if requirement.declaration
                else ""
            )
            return f"Nothing known keeps {requirement.job} from being started.{declared}"
        case RestorePointIntact():
            return (
                f"Checkpoint {requirement.checkpoint_id} at {requirement.path} is readable and has digest "
                f"{requirement.digest[:12]}."
            )
        case SiblingSpared():
            point = requirement.path or f"the state that run {short_job(requirement.job_id)} leaves"
            return f"{requirement.job} also writes {requirement.table} and has not committed there after {point}."
        case PlanCounts():
            return f"It is before {requirement.until:%Y-%m-%d %H:%M} UTC, when the planned savepoint expires."
        case _:
            assert_never(requirement)


def _head(requirement: HeadDescends) -> str:
    run = f"commits of run {short_job(requirement.job_id)} with increasing checkpoints"
    compactions = "" if requirement.files_are_named else "compactions and "
    others = f"{compactions}commits of other Flink jobs that wrote concurrently with {requirement.starts}"
    may = [*([run] if requirement.job_id else []), *([others] if requirement.starts else [])]
    if not may:
        return f"The head is exactly {short(requirement.head)}."
    return f"The head is {short(requirement.head)}, or follows it only by {' and by '.join(may)}."


FINAL = "cannot be undone"
"""What an undo says of a proposal that has none."""


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
    affected_runs: tuple[ReadRun, ...]
    """Consumer runs that read a snapshot which the proposal takes away."""
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

    repairs: tuple[str, ...] = ()
    """Evidence tasks whose findings, of those in `evidence`, it takes off main."""
    undoes: ProposalId | None = None

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
