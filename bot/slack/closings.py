"""Closing an incident, by command or by button: the same act and the same answer."""

from bot.domain.ids import IncidentId, UserId
from bot.domain.waterline import undo_left
from bot.service.services import Services
from bot.slack.ids import COMMAND


def closed(services: Services, incident_id: IncidentId, reason: str, by: UserId) -> str:
    """Close it; what whoever did is told, with what stays behind."""
    incident = services.closing.close(incident_id, reason, by=by)
    said = [f"{incident.id} is closed."]
    if incident.waterline is not None and incident.waterline.status == "under-review":
        said.append("The table stays under review: it is not verified.")
    left = undo_left(incident)
    if left is not None:
        said.append(f"Waterline can no longer undo “{left.proposal.title}”, because undo ends with the incident.")
    if incident.review is None:
        said.append(
            "Could not open the contract review: Waterline could not read the table or the job. "
            f"Open it later with {COMMAND} review {incident.id}."
        )
    return " ".join(said)
