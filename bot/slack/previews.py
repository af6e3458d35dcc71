"""The preview of notices as a modal, or what keeps it from being made."""

from slack_sdk.models.views import View

from bot.domain.errors import WaterlineError
from bot.domain.ids import IncidentId, UserId
from bot.service.services import Services
from bot.slack.forms import PREVIEW_TITLE, notice_form, problem_form

FIRST_WARNING = "first_warning"


def preview_of(
    services: Services, incident: IncidentId, kind: str, step: str, channel: str, by: UserId, words: str = ""
) -> View:
    """The very texts that its submission sends. `step` is empty when no step of the runbook asks for it."""
    try:
        name, notices = services.telling.keep_preview(incident, kind, by=by, words=words)
    except WaterlineError as error:
        return problem_form(PREVIEW_TITLE, str(error))
    if not notices:
        return problem_form(PREVIEW_TITLE, "No consumer of this table is declared, so nobody is told.")
    return notice_form(incident, step, name, notices, channel)
