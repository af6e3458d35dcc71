"""Subcommands of the contract review and of planned savepoints; what they return is shown to the person only."""

from bot.domain.errors import Refused
from bot.domain.ids import TableName
from bot.service.services import Services
from bot.slack.blocks.savepoints import catalogue_text
from bot.slack.requests import Command


def list_savepoints(services: Services, table: TableName, channel: str) -> str:
    """Those that were kept, and which one counts. Raises UnknownTable, Refused."""
    return catalogue_text(table, services.savepoints.catalogue(table, channel))


def explain_restore(services: Services, command: Command) -> str:
    """Why the job is started from another point than the one that counts. Raises Refused where nothing is asked."""
    incident = services.store.in_channel(command.channel)
    services.savepoints.explain(incident.id, command.rest, by=command.user)
    return "The reason is on record. The proposal can be approved and carried out now."


def fill_review(services: Services, command: Command) -> str:
    """Of the channel's open incident, or of one of this channel that is named, closed or not."""
    store = services.store
    of_here = [each for each in store.all() if each.opened.channel == command.channel and each.id == command.rest]
    if command.rest and not of_here:
        raise Refused(
            f"There is no incident {command.rest} of this channel.", "", "Type it where the incident was opened."
        )
    incident = of_here[0] if of_here else services.store.in_channel(command.channel)
    services.reviews.open(incident.id, by=command.user, step=None)
    return f"The contract review of {incident.id} is in its thread."
