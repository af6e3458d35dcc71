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
        said.append("The table stays marked as under review: nothing was proven.")
    left = undo_left(incident)
    if left is not None:
        said.append(f"“{left.proposal.title}” cannot be undone by Waterline any more: undo ends with the incident.")
    if incident.review is None:
        said.append(
            "Its contract review is not open: Waterline could not look at the table or the job. "
            f"Open it later with {COMMAND} review {incident.id}."
        )
    return " ".join(said)
