"""Changes how bad an incident is, and with it who has to approve; who was told of another severity is told again."""

from collections.abc import Callable
from typing import cast, get_args

from bot.domain.entries import Body, SeverityChanged
from bot.domain.errors import Refused
from bot.domain.ids import IncidentId, Severity, UserId
from bot.domain.incident import Incident
from bot.service.incident_store import IncidentStore, must_be_in_charge, must_be_open

_KNOWN = get_args(Severity)


def change_severity(
    store: IncidentStore,
    incident_id: IncidentId,
    to: str,
    reason: str,
    *,
    by: UserId,
    then: Callable[[IncidentId], None],
) -> None:
    """Write it down; `then` does what is owed after it. Raises Refused without a reason, for whoever is not in charge,
    or where nothing changes."""
    if to not in _KNOWN or not reason.strip():
        raise Refused(
            "A severity is changed by its name and a reason.",
            f"Expected one of {', '.join(_KNOWN)} and a sentence; found “{to} {reason}”.",
            "Type /waterline severity sev1 REASON.",
        )

    def decide(incident: Incident) -> list[Body]:
        must_be_open(incident)
        must_be_in_charge(incident, by, "change its severity")
        if incident.severity == to:
            raise Refused(f"{incident_id} is {to} already.", "", "Nothing was changed.")
        return [SeverityChanged(before=incident.severity, severity=cast(Severity, to), reason=reason.strip())]

    store.write(incident_id, by=by, decide=decide)
    then(incident_id)
