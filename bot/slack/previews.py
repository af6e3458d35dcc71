"""The preview of notices as a modal, or what keeps it from being made."""

from collections.abc import Callable
from functools import partial

from slack_sdk.models.views import View

from bot.domain.errors import WaterlineError
from bot.domain.ids import IncidentId, UserId
from bot.domain.notice import Notice
from bot.service.services import Services
from bot.slack.blocks.texts import sending_view
from bot.slack.blocks.told import untold_of
from bot.slack.forms import PREVIEW_TITLE, problem_form

FIRST_WARNING = "first_warning"


def preview_of(
    services: Services, incident: IncidentId, kind: str, step: str, channel: str, by: UserId, words: str = ""
) -> View:
    """The very texts that its submission sends. `step` is empty when no step of the runbook asks for it."""
    keep = partial(services.telling.keep_preview, incident, kind, by=by, words=words)
    return _shown(services, incident, step, channel, keep)


def correction_preview(services: Services, incident: IncidentId, channel: str, by: UserId) -> View:
    """The same of the correction that is due."""
    return _shown(services, incident, "", channel, partial(services.telling.preview_correction, incident, by=by))


def _shown(
    services: Services,
    incident: IncidentId,
    step: str,
    channel: str,
    keep: Callable[[], tuple[str, tuple[Notice, ...]]],
) -> View:
    try:
        name, notices = keep()
        untold = untold_of(services.store.get(incident))
    except WaterlineError as error:
        return problem_form(PREVIEW_TITLE, str(error))
    if not notices:
        names = "".join(f" {each.name} cannot be notified: {each.why}." for each in untold)
        return problem_form(PREVIEW_TITLE, f"This table has no declared consumers, so nobody is notified.{names}")
    return sending_view((incident, step, name, channel), notices, untold=untold)


def page_of(services: Services, incident: IncidentId, name: str, step: str, page: int, channel: str) -> View:
    """One page of what was put on record under this name; submitting it sends them all."""
    try:
        known = services.store.get(incident)
    except WaterlineError as error:
        return problem_form(PREVIEW_TITLE, str(error))
    notices = known.previews.get(name, ())
    if not notices:
        return problem_form(PREVIEW_TITLE, "This preview is not on record. Preview the notices again.")
    return sending_view((incident, step, name, channel), notices, page, untold_of(known))
