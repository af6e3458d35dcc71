"""Views that the worker sends to Slack outside the outbox (filled forms, App Home), and the record through it.

The preview of notices as a modal, or what keeps it from being made.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.models.views import View

from bot.incident.incident import Incident
from bot.incident.notice import Notice
from bot.observation.errors import Refused, WaterlineError
from bot.observation.ids import IncidentId, UserId
from bot.ports import Outbox
from bot.service.services import Services
from bot.slack.blocks.notices import untold_of
from bot.slack.blocks.texts import sending_view
from bot.slack.forms import PREVIEW_TITLE, problem_form
from bot.slack.projection import card_key
from bot.slack.record_files import record_post
from bot.slack.sent_before import PASSING

log = structlog.get_logger(__name__)
_PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 0.0)
"""Between two tries to fill a form that Slack does not know (yet)."""
_GONE = "not_found"
"""Slack's word for it."""


@dataclass(eq=False)
class Views:
    """Best effort: a form that was closed meanwhile is no failure."""

    _client: WebClient
    _outbox: Outbox

    def fill(self, external_id: str, view: View) -> bool:
        """Replace a placeholder; False, and nothing happens, if the person has closed it. Raises Refused if Slack does
        not take what was to be shown: the form says so, too.

        What is filled in may be known before Slack shows the placeholder, so `not_found` is asked again a while.
        """
        view.external_id = external_id
        return self._update(view, external_id=external_id)

    def turn(self, view_id: str, view: View) -> None:
        """Show another page of an open form. As `fill`."""
        self._update(view, view_id=view_id)

    def _update(self, view: View, **which: str) -> bool:
        problem = self._tried(view, which)
        if problem is None or problem == _GONE:
            return problem is None
        log.error("form refused", error=problem)
        refused = Refused(
            "Slack rejected this form.",
            f"Slack said: {problem}.",
            "Nothing was sent. Try again. If it fails again, contact whoever runs Waterline.",
        )
        instead = problem_form("Not shown", str(refused))
        instead.external_id = which.get("external_id")
        self._tried(instead, which)
        raise refused

    def _tried(self, view: View, which: dict[str, str]) -> str | None:
        """Why Slack does not take it, `_GONE` where the form is not there; None: it did."""
        problem: str | None = _GONE
        for pause in _PAUSES_S:
            try:
                self._client.views_update(view=view, **which)
            except SlackApiError as error:
                code = str(error.response.get("error"))
                details = "; ".join((error.response.get("response_metadata") or {}).get("messages") or [])
                problem = _GONE if code == _GONE else f"{code} {details}".strip()
                if code != _GONE and code not in PASSING:
                    return problem
                time.sleep(pause)
                continue
            return None
        if problem == _GONE:
            log.info("form not filled", error="it was closed, or never shown")
        return problem

    def home(self, user: UserId, view: View) -> None:
        try:
            self._client.views_publish(user_id=user, view=view)
        except SlackApiError as error:
            log.warning("home not published", error=error.response.get("error"))

    def upload_record(self, incident: Incident, channel: str, asked: str) -> str:
        """The incident's record in its thread, as it stands now: queued, so that a crash does not lose it. `asked`
        tells one request from another. The answer is for whoever asked."""
        room = channel or incident.opened.channel
        self._outbox.put(record_post(incident.id, incident.seq, room, card_key(incident.id), asked))
        return f"Exporting the record as HTML, Markdown and JSON. The files appear in the thread of {incident.id}."


FIRST_WARNING = "warning"


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
