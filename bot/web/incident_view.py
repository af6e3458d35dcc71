"""An incident as programs and agents read it: where it stands, what happened, what is decided."""

from typing import Literal

from pydantic import Field

from bot.domain.errors import UnknownTable
from bot.domain.ids import IncidentId, Severity, TableName, short_job
from bot.domain.incident import Incident
from bot.domain.record import Record, Utc
from bot.domain.trust import ExactId, TrustState
from bot.service.trust import TrustDesk


class Cause(Record):
    """One failure mode that matches."""

    code: str = Field(description="Its code in the catalogue, such as F2.")
    title: str = Field(description="Its name.")
    headline: str = Field(description="What was found, a sentence.")


class Decision(Record):
    """The newest proposal and how far it has come."""

    title: str = Field(description="What is proposed.")
    state: str = Field(description="proposed, approved, executing, applied, refused, unknown, rejected, …")
    expires_at: Utc = Field(description="From then on it can no longer be approved.")


class IncidentView(Record):
    """One incident, without the people in it."""

    id: IncidentId = Field(description="Short and sayable.")
    table: TableName = Field(description="namespace.table.")
    job: str | None = Field(description="The Flink job that writes the table; null where none is configured.")
    severity: Severity = Field(description="As the responders set it.")
    state: Literal["open", "closed"] = Field(description="Whether it is still worked on.")
    opened_at: Utc = Field(description="When it was opened.")
    closed_at: Utc | None = Field(description="When it was closed; null while it is open.")
    causes: tuple[Cause, ...] = Field(description="Failure modes that match; empty: none does, or none is known yet.")
    wrong_runs: tuple[str, ...] = Field(description="Flink runs whose commits are wrong, by their first six digits.")
    trusted: ExactId | None = Field(
        description="The snapshot that consumers can rely on as far as this incident knows: now while it is open, at "
        "its end once it is closed; null: none. What holds now is in `table_now` and the table's trust."
    )
    is_proven: bool = Field(
        description="Whether the table was verified after this incident's fault. It says nothing of what came later."
    )
    table_now: TrustState | None = Field(
        description="Whether consumers may rely on the table as it is now, as the table's trust says; null where it is "
        "watched no more."
    )
    superseded_by: IncidentId | None = Field(
        description="The newest later incident that put the table in question; null where there is none, or it is "
        "private."
    )
    window_since: ExactId | None = Field(description="Commits under review begin after this one; null: with the first.")
    window_until: ExactId | None = Field(
        description="The newest commit under review, inclusive; null: nothing was committed yet."
    )
    proposal: Decision | None = Field(description="The newest proposal; null: nothing was proposed.")
    entries: int = Field(ge=1, description="Entries in its record.")
    head_hash: str = Field(description="Hash of its newest entry: the end of the chain.")


def incident_view(desk: TrustDesk, incident_id: IncidentId) -> IncidentView:
    """The view of one incident, beside what holds now. Raises UnknownIncident, CouldNotLook. Cost: that of the
    table's trust."""
    incident = desk.incident(incident_id)
    later = desk.later_doubt(incident)
    superseded_by = later.id if later is not None and not later.is_private else None
    return _view(incident, _table_now(desk, incident.opened.table), superseded_by)


def _table_now(desk: TrustDesk, table: TableName) -> TrustState | None:
    try:
        return desk.trust(table).state
    except UnknownTable:
        return None


def _view(incident: Incident, table_now: TrustState | None, superseded_by: IncidentId | None) -> IncidentView:
    matches = incident.diagnosis.matches if incident.diagnosis is not None else ()
    proposed = incident.current_proposal
    return IncidentView(
        id=incident.id,
        table=incident.opened.table,
        job=incident.opened.job,
        severity=incident.severity,
        state="open" if incident.is_open else "closed",
        opened_at=incident.opened_at,
        closed_at=incident.closed_at,
        causes=tuple(Cause(code=mode.code, title=mode.title, headline=match.headline) for mode, match in matches),
        wrong_runs=tuple(dict.fromkeys(short_job(match.wrong_run) for _, match in matches if match.wrong_run)),
        trusted=incident.trusted,
        is_proven=incident.waterline is not None and incident.waterline.status == "trusted",
        table_now=table_now,
        superseded_by=superseded_by,
        window_since=incident.window.since,
        window_until=incident.window.until,
        proposal=None
        if proposed is None
        else Decision(
            title=proposed.proposal.title, state=proposed.state.value, expires_at=proposed.proposal.expires_at
        ),
        entries=len(incident.entries),
        head_hash=incident.entries[-1].hash,
    )
