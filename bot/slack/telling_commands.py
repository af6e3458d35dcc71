"""`/waterline tell` and `/waterline severity`: what consumers hear."""

from typing import get_args

from bot.domain.errors import WaterlineError
from bot.domain.notice import PLANNED, WorkState
from bot.service.services import Services
from bot.slack.forms import PREVIEW_TITLE, open_form_id, problem_form
from bot.slack.previews import preview_of
from bot.slack.requests import AGAIN, Command
from bot.slack.views import Views


def tell(services: Services, views: Views, command: Command) -> str | None:
    """Fill the preview of a notice, of the channel's open incident or the one that was closed last there; `again`
    previews nothing, and sends what did not arrive."""
    kind, _, words = command.rest.partition(" ")
    if kind == AGAIN:
        return tell_again(services, command, words.strip())
    if kind == PLANNED and words.strip().split(" ")[0] in get_args(WorkState):
        state, _, words = words.strip().partition(" ")
        kind = f"{kind} {state}"
    try:
        incident = services.store.newest_in(command.channel)
        view = preview_of(services, incident.id, kind or "update", "", command.channel, command.user, words.strip())
    except WaterlineError as error:
        view = problem_form(PREVIEW_TITLE, str(error))
    views.fill(open_form_id(command.trigger), view)
    return None


def tell_again(services: Services, command: Command, consumer: str) -> str:
    """Send what did not arrive once more, to one consumer or to all whom nothing has reached."""
    incident = services.store.newest_in(command.channel)
    found, refused = services.retrying.retry_all(incident.id, consumer, by=command.user)
    sent = [f"“{view.notice.title or view.notice.kind}” for {view.notice.consumer}" for view in found]
    lines = [f"Sending again, with the same text: {', '.join(sent)}. The card shows the delivery."] if sent else []
    return "\n".join([*lines, *(f"{name}: {error}" for name, error in refused.items())])


def severity(services: Services, command: Command) -> str:
    """Change how bad the channel's incident is."""
    incident = services.store.in_channel(command.channel)
    to, _, reason = command.rest.partition(" ")
    services.walker.change_severity(incident.id, to, reason, by=command.user)
    services.duties.settle(incident.id)
    return f"{incident.id} is {to} now. Consumers who still wait get an update."
