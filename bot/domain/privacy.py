"""Who may know of a private incident: those who were invited to its channel, and nobody else."""

from bot.domain.errors import Refused, UnknownIncident
from bot.domain.ids import IncidentId, UserId
from bot.domain.incident import Incident


def may_see(incident: Incident, user: UserId, invited: frozenset[UserId] | None) -> bool:
    """Whether this person may know of the incident. `invited` None: the channel could not be asked, so nobody may."""
    return not incident.is_private or (invited is not None and user in invited)


def is_open_to_all(incident: Incident) -> bool:
    """Whether anybody may know of it."""
    return not incident.is_private


def unknown(incident_id: IncidentId) -> UnknownIncident:
    """What is said of an incident that is not there, and of one that this person may not know of: the same."""
    return UnknownIncident(
        f"There is no incident {incident_id}.", "Expected an id like wl-1.", "See the open ones with /waterline status."
    )


def already_open(incident: Incident) -> Refused:
    """A table has one open incident at a time. Of a private one neither id nor channel is told."""
    table = incident.opened.table
    if incident.is_private:
        return Refused(
            f"An incident is open on {table} already.",
            "It is private: only people who were invited to it can see it.",
            "If you work on this table, ask its owners to invite you.",
        )
    return Refused(
        f"Incident {incident.id} is open on {table} already.",
        f"It was opened at {incident.opened_at:%H:%M} UTC in <#{incident.opened.channel}>.",
        "Go on there.",
    )
