"""The preview of notices as a modal, or what keeps it from being made."""

from slack_sdk.models.views import View

from bot.domain.errors import WaterlineError
from bot.domain.ids import IncidentId, UserId
from bot.service.services import Services
from bot.slack.blocks.readers import untold_of
from bot.slack.blocks.texts import READ_TITLE, reading_view, sending_view
from bot.slack.forms import PREVIEW_TITLE, problem_form
from bot.slack.ids import Form

FIRST_WARNING = "first_warning"


def preview_of(
    services: Services, incident: IncidentId, kind: str, step: str, channel: str, by: UserId, words: str = ""
) -> View:
    """The very texts that its submission sends. `step` is empty when no step of the runbook asks for it."""
    try:
        name, notices = services.telling.keep_preview(incident, kind, by=by, words=words)
        untold = untold_of(services.store.get(incident))
    except WaterlineError as error:
        return problem_form(PREVIEW_TITLE, str(error))
    if not notices:
        names = "".join(f" {each.name} cannot be told: {each.why}." for each in untold)
        return problem_form(PREVIEW_TITLE, f"No consumer of this table is declared, so nobody is told.{names}")
    return sending_view((incident, step, name, channel), notices, untold=untold)


def page_of(services: Services, incident: IncidentId, name: str, step: str, form: str, page: int, channel: str) -> View:
    """One page of what was put on record under this name, to be sent or only to be read."""
    try:
        known = services.store.get(incident)
    except WaterlineError as error:
        return problem_form(READ_TITLE, str(error))
    notices = known.previews.get(name, ())
    if not notices:
        return problem_form(READ_TITLE, "These notices are not on record any more under this name. Preview them again.")
    show = sending_view if form == Form.NOTICE else reading_view
    return show((incident, step, name, channel), notices, page, untold_of(known))
