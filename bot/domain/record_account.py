"""An incident as programs read its record: every id that does not fit a JSON number is text, every span in seconds."""

from typing import Literal

from pydantic import Field

from bot.domain.ids import IncidentId, TableName
from bot.domain.record import Record, Utc
from bot.domain.trust import ExactId


class Commit(Record):
    """One commit of the ledger."""

    snapshot: ExactId = Field(description="Its snapshot.")
    committed_at: Utc = Field(description="When.")
    writer: str = Field(description="Which kind of writer made it.")
    run: str | None = Field(description="Flink job id; null for any other writer.")
    checkpoint: str | None = Field(description="Checkpoint that it carries, as text; null for any other writer.")
    added_rows: int = Field(description="Rows that it added.")
    removed_rows: int = Field(description="Rows that it removed.")
    is_taken_back: bool = Field(description="Whether it is no longer part of the table.")
    skipped: tuple[str, ...] = Field(description="Checkpoints before it that left no commit, with the reason.")
    read_by: tuple[str, ...] = Field(description="Consumers seen reading exactly this snapshot.")


class Asked(Record):
    """One piece of evidence."""

    task: str = Field(description="The evidence task and its version.")
    question: str = Field(description="What was asked.")
    verdict: Literal["confirmed", "ruled-out", "inconclusive"] = Field(description="The answer.")
    headline: str = Field(description="The answer in a sentence.")
    at: Utc = Field(description="When it was answered.")
    by: str = Field(description="Who asked.")
    metadata_location: str = Field(description="The table's metadata file that it is pinned to.")
    measures: dict[str, str] = Field(description="Name -> number with unit.")


class Cause(Record):
    """One failure mode that matches."""

    code: str = Field(description="Its code in the catalogue.")
    title: str = Field(description="Its name.")
    headline: str = Field(description="What was found.")
    reasons: tuple[str, ...] = Field(description="What shows it.")


class Decision(Record):
    """One proposal, its decision, and what came of it."""

    id: str = Field(description="The proposal.")
    title: str = Field(description="What was proposed.")
    state: str = Field(description="proposed, approved, applied, refused, unknown, rejected, …")
    because: str = Field(description="Why.")
    digest: str = Field(description="sha256 of all that was shown to the approvers.")
    proposed_by: str = Field(description="Who proposed it.")
    approved_by: tuple[str, ...] = Field(description="Who approved it, with this digest.")
    steps: tuple[str, ...] = Field(description="What was to be done, each with what became of it.")
    outcome: str | None = Field(description="How the execution ended; null where there was none.")
    checks: dict[str, bool | None] = Field(description="Line of the proof -> whether it held; null: could not look.")


class Told(Record):
    """One notice."""

    kind: str = Field(description="Which notice.")
    consumer: str = Field(description="Who was told.")
    text: str = Field(description="What was sent, in Slack's mrkdwn.")
    how: str | None = Field(description="`delivered`, `failed`, `overtaken`, or null where it is not known.")


class Term(Record):
    """One line of the contract review."""

    contract: str = Field(description="state, checkpoint, table or approval.")
    term: str = Field(description="What was to hold.")
    observed: str = Field(description="What was found.")
    holds: bool | None = Field(description="null: could not be told.")
    action: str = Field(description="What to do.")
    owner: str | None = Field(description="Owner; null: nothing is to be fixed.")
    due: Utc | None = Field(description="Until when.")
    settled: str | None = Field(description="What was done, or why it is accepted; null while it is open.")


class Happened(Record):
    """One line of the timeline."""

    seq: int = Field(description="Number of the entry.")
    at: Utc = Field(description="When.")
    by: str = Field(description="Who.")
    says: str = Field(description="The entry in a sentence.")


class Account(Record):
    """The incident."""

    id: IncidentId = Field(description="Short and sayable.")
    table: TableName = Field(description="namespace.table.")
    job: str | None = Field(description="The job that writes it.")
    runbook: str = Field(description="Runbook that was followed, with the first digits of its digest.")
    summary: str = Field(description="What was noticed.")
    state: Literal["open", "closed"] = Field(description="Whether it is still worked on.")
    opened_at: Utc = Field(description="When it was opened.")
    opened_by: str = Field(description="By whom.")
    closed_at: Utc | None = Field(description="When it was closed.")
    closed_reason: str | None = Field(description="Why.")
    trusted: ExactId | None = Field(
        description="The snapshot that consumers can rely on, as far as this incident knows; null: none."
    )
    is_proven: bool = Field(
        description="Whether the table was verified after this incident's fault. It says nothing of what came later."
    )
    took: dict[str, float | None] = Field(
        description="Seconds to detect, diagnose, approve, recover and notify; null where it is not known."
    )
    causes: tuple[Cause, ...] = Field(description="Failure modes that match.")
    ledger: tuple[Commit, ...] = Field(description="The newest ledger, newest commit first; empty: none was drawn.")
    evidence: tuple[Asked, ...] = Field(description="In the order in which it was asked for.")
    decisions: tuple[Decision, ...] = Field(description="Proposals, oldest first.")
    notices: tuple[Told, ...] = Field(description="What consumers were told.")
    review: tuple[Term, ...] | None = Field(description="null: it was not opened.")
    contract_snippet: str | None = Field(description="YAML to add to the table's data contract; null: nothing.")
    timeline: tuple[Happened, ...] = Field(description="Every entry in words.")
