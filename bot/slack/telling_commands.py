"""`/waterline tell` and `/waterline severity`: what consumers hear."""

from bot.domain.errors import WaterlineError
from bot.service.services import Services
from bot.service.severity import change_severity
from bot.slack.forms import PREVIEW_TITLE, open_form_id, problem_form
from bot.slack.previews import preview_of
from bot.slack.requests import Command
from bot.slack.views import Views


def tell(services: Services, views: Views, command: Command) -> None:
    """Fill the preview of a notice, of the channel's open incident or the one that was closed last there."""
    kind, _, words = command.rest.partition(" ")
    try:
        incident = services.store.newest_in(command.channel)
        view = preview_of(services, incident.id, kind or "update", "", command.channel, command.user, words.strip())
    except WaterlineError as error:
        view = problem_form(PREVIEW_TITLE, str(error))
    views.fill(open_form_id(command.trigger), view)


def severity(services: Services, command: Command) -> str:
    """Change how bad the channel's incident is."""
    incident = services.store.in_channel(command.channel)
    to, _, reason = command.rest.partition(" ")
    change_severity(services.store, incident.id, to, reason, by=command.user, then=services.duties.settle)
    return f"{incident.id} is {to} now. Whoever was told of another severity is told again."
