"""Closing an incident, by command or by button: the same act and the same answer."""

from bot.domain.ids import IncidentId, UserId
from bot.service.services import Services


def closed(services: Services, incident_id: IncidentId, reason: str, by: UserId) -> str:
    """Close it; what whoever did is told, with what stays behind."""
    incident = services.closing.close(incident_id, reason, by=by)
    if incident.waterline is not None and incident.waterline.status == "under-review":
        return f"{incident.id} is closed. The table stays marked as under review: nothing was proven."
    return f"{incident.id} is closed."
