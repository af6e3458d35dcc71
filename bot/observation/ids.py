"""Ids are types, so that a checkpoint id is never taken for a snapshot id."""

from typing import Annotated, Literal, NewType

from pydantic import PlainSerializer, WithJsonSchema

TableName = NewType("TableName", str)
"""`namespace.table` in the configured catalog, for example `sales.orders`."""
SnapshotId = NewType("SnapshotId", int)
CheckpointId = NewType("CheckpointId", int)
"""Flink's checkpoint counter; savepoints share it."""
JobId = NewType("JobId", str)
"""32 hex digits; a new one at each submission unless pinned."""
OperatorId = NewType("OperatorId", str)
"""32 hex digits: `flink.operator-id` in a snapshot's summary."""
UserId = NewType("UserId", str)
"""Slack's user id (`U…`), never a display name or mail address."""
IncidentId = NewType("IncidentId", str)
"""Short and sayable: `wl-1`, `wl-2`, … in order of opening."""
EvidenceId = NewType("EvidenceId", str)
ProposalId = NewType("ProposalId", str)
StepId = NewType("StepId", str)
Severity = Literal["sev1", "sev2", "sev3"]
"""How bad an incident is; `sev1` is the worst."""
DRAINED = CheckpointId(9223372036854775807)
"""Long.MAX_VALUE: what the V1 sink writes after `drain: true` (F5)."""


def short(snapshot_id: int | None) -> str:
    """The last six digits, as snapshot ids are read aloud; `none` for an empty table."""
    return "none" if snapshot_id is None else f"…{str(snapshot_id)[-6:]}"


def short_job(job_id: str | None) -> str:
    """The first six hex digits, as Flink's own savepoint folders shorten a job id."""
    return "unknown" if not job_id else job_id[:6]


def short_operator(operator_id: str | None) -> str:
    """The first six hex digits, as a job id is shortened."""
    return "unknown" if not operator_id else operator_id[:6]


ExactId = Annotated[
    SnapshotId,
    PlainSerializer(str, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": "^-?[0-9]{1,19}$"}),
]
"""A snapshot id that is written as text: as a JSON number, JavaScript and others would round it to another id."""
