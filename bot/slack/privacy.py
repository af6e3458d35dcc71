"""Private incidents on Slack: they are opened in a private channel, and buttons act on them from there only.

A command acts on the incident of the channel in which it was typed, and a form is opened from that channel.
"""

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.domain.errors import CouldNotLook, Refused, UnknownIncident
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident, shown_in, unknown
from bot.service.incident_store import IncidentStore
from bot.slack.ids import Click
from bot.slack.requests import Clicked, Request
from bot.slack.unreachable import UNREACHABLE

log = structlog.get_logger(__name__)


def check(request: Request, store: IncidentStore) -> None:
    """Raises UnknownIncident, as for one that is not there, for a click outside of the private incident's channel."""
    if not isinstance(request, Clicked) or request.view:
        return
    try:
        incident = store.get(IncidentId(request.parts[0]))
    except UnknownIncident:
        return
    if not shown_in(incident, request.channel) and not _answers_a_notice(request, incident):
        log.warning("click on a private incident", incident=incident.id, user=request.user)
        raise unknown(incident.id)


def _answers_a_notice(click: Clicked, incident: Incident) -> bool:
    """A consumer whom a responder has notified may answer in the channel of the notice."""
    if click.action not in {Click.ACKNOWLEDGE, Click.RE_RAN, Click.HELP}:
        return False
    notices = (view for view in incident.notices.values() if str(view.seq) == click.parts[1])
    return any(view.notice.channel == click.channel for view in notices)


def must_be_private(channel: str, client: WebClient) -> None:
    """Raises Refused unless a private incident can be opened in this channel, CouldNotLook where Slack does not say."""
    if not is_private(channel, client):
        raise Refused(
            "A private incident cannot be opened here.",
            f"Expected a private channel; everyone in the workspace can read <#{channel}>.",
            "Create a private channel, invite the bot and the people you need, and open it there.",
        )


def is_private(channel: str, client: WebClient) -> bool:
    """Whether only invited people can read it (scopes channels:read, and groups:read). Raises CouldNotLook."""
    try:
        found = client.conversations_info(channel=channel)["channel"]
    except UNREACHABLE as error:
        reason = error.response.get("error") if isinstance(error, SlackApiError) else type(error).__name__
        raise CouldNotLook(
            f"Slack did not say who can read <#{channel}>.",
            f"Expected its kind; found: {reason}.",
            "Invite the bot to the channel and check the scopes channels:read and groups:read, then try again.",
        ) from error
    return bool(found.get("is_private") or found.get("is_im") or found.get("is_mpim"))
