"""Where an incident is shown: a private one in its own channel only."""

from bot.domain.errors import Refused, UnknownIncident
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident


def shown_in(incident: Incident, channel: str) -> bool:
    """Whether people in this channel may know of the incident; an empty one is a place of which nobody knows who
    reads it."""
    return not incident.is_private or incident.opened.channel == channel


def unknown(incident_id: IncidentId) -> UnknownIncident:
    """What is said of an incident that is not there, and of a private one elsewhere: the same."""
    return UnknownIncident(
        f"There is no incident {incident_id}.",
        "Expected the id of an incident, for example wl-1.",
        "/waterline status lists the open ones.",
    )


def already_open(incident: Incident) -> Refused:
    """A table has one open incident at a time. Of a private one neither id nor channel is told."""
    table = incident.opened.table
    if incident.is_private:
        return Refused(
            f"An incident is open on {table} already.",
            "It is private: only people in its channel can see it.",
            "If you work on this table, ask its owners to invite you.",
        )
    return Refused(
        f"Incident {incident.id} is open on {table} already.",
        f"It was opened at {incident.opened_at:%H:%M} UTC in <#{incident.opened.channel}>.",
        "Continue there.",
    )
