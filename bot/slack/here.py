"""The incident that a command acts on: its channel's, unless that was opened after the command was typed.

A command names no incident. One that comes late, and was meant for an incident which is closed by now, must not act on
the next one of the channel.
"""

from datetime import timedelta

from bot.domain.errors import Refused
from bot.domain.incident import Incident
from bot.service.services import Services
from bot.slack.requests import Command

_SKEW = timedelta(seconds=2)
"""By which Slack's clock and ours may differ. Nobody reads of an incident and types that fast."""


def open_here(services: Services, command: Command) -> Incident:
    """The channel's open incident. Raises UnknownIncident, Refused."""
    return _not_before(services.store.in_channel(command.channel), command)


def newest_here(services: Services, command: Command) -> Incident:
    """The channel's open incident, else the one that was closed last there. Raises UnknownIncident, Refused."""
    return _not_before(services.store.newest_in(command.channel), command)


def _not_before(incident: Incident, command: Command) -> Incident:
    if command.typed_by is None or command.typed_by + _SKEW >= incident.opened_at:
        return incident
    sent, opened = (f"{at:%H:%M:%S} UTC" for at in (command.typed_by, incident.opened_at))
    raise Refused(
        f"This came late: it was typed before {incident.id} was opened here.",
        f"It was sent by {sent}; {incident.id} was opened at {opened}.",
        f"Nothing was done. If you mean {incident.id}, type it again.",
    )
