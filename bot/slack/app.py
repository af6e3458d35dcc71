"""The Bolt app: each delivery is stored before it is acknowledged; everything else happens afterwards.

Bolt acknowledges an event before its listener runs, and an exception soon after `ack()` swallows the
acknowledgement (both measured on 1.30.0). So a global middleware, which runs before either, stores the delivery,
and listeners only acknowledge and open forms; they never raise.

As whom the bot speaks: asked of Slack before anything is opened.

What is wrong in a form is said before it closes, so that nothing typed is lost. Imported by the gateway.
"""

import json
import logging
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import structlog
from slack_bolt import Ack, App, BoltResponse
from slack_bolt.authorization import AuthorizeResult
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.incident.asked import is_id, said_moment
from bot.observation.errors import BadConfiguration, CouldNotKeep, Refused
from bot.ports import Clock, Delivery, Inbox
from bot.slack.directory import UNREACHABLE
from bot.slack.form_opener import FormOpener
from bot.slack.forms import following_form, problem_form
from bot.slack.ids import COMMAND, SHORTCUT, Form
from bot.slack.requests import delivery_key, entered, is_wanted


def wrong_in(body: dict[str, Any], now: datetime) -> dict[str, str]:
    """Block id -> what is wrong with it, of a submission; as far as it can be told without a look at the world."""
    if body.get("type") != "view_submission":
        return {}
    values = entered(body["view"]["state"]["values"])
    match body["view"]["callback_id"]:
        case Form.OPEN:
            return _no_id("since", values.get("since", "").strip())
        case Form.SAVEPOINT:
            return _no_moment("over", values.get("over", "").strip(), now)
        case _:
            return {}


def _no_id(block: str, typed: str) -> dict[str, str]:
    if not typed or is_id(typed):
        return {}
    return {block: "This is not a snapshot id. Type an id or its last six digits."}


def _no_moment(block: str, typed: str, now: datetime) -> dict[str, str]:
    try:
        if typed:
            said_moment(typed, now)
    except Refused as error:
        return {block: str(error)}
    return {}


log = structlog.get_logger(__name__)
_ANY = re.compile(".*")


def _is_news(record: logging.LogRecord) -> bool:
    """Not that Bolt leaves SLACK_BOT_TOKEN alone, which the client has: it warns of that twice at each start."""
    return "`token`" not in record.getMessage()


def build_app(
    client: WebClient,
    *,
    inbox: Inbox,
    forms: FormOpener,
    clock: Clock,
    on_stored: Callable[[], None],
    signing_secret: str | None,
) -> App:
    """A Bolt app for Socket Mode or HTTP. `on_stored` wakes the worker; it must be quick, and may not raise."""

    def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        """Bolt would ask auth.test before the first delivery is stored, and turn it away if Slack refuses."""
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=client.token)

    logging.getLogger("slack_bolt.App").addFilter(_is_news)
    app = App(
        client=client,
        authorize=authorize,
        signing_secret=signing_secret or "socket-mode-carries-no-signature",
        raise_error_for_unhandled_request=False,
        request_verification_enabled=signing_secret is not None,
        token_verification_enabled=False,
        process_before_response=True,
    )

    @app.middleware
    def store(
        body: dict[str, Any],
        next: Callable[[], BoltResponse],  # noqa: A002 - Bolt's name
    ) -> BoltResponse:
        if not is_wanted(body):
            return BoltResponse(status=200, body="")
        if wrong := wrong_in(body, clock.now()):
            return BoltResponse(status=200, body={"response_action": "errors", "errors": wrong})
        delivery = _delivery(body, clock.now())
        try:
            inbox.put(delivery)
        except CouldNotKeep as away:
            log.warning("delivery not stored", problem=str(away))
            return _not_stored(body, str(away), lambda text: forms.tells(body, text))
        on_stored()
        return next()

    def acknowledge(ack: Ack, body: dict[str, Any]) -> None:
        ack()
        forms.opens(_delivery(body, clock.now()), body["trigger_id"])

    app.command(COMMAND)(acknowledge)
    app.message_shortcut(SHORTCUT)(acknowledge)
    app.action({"type": "block_actions", "action_id": _ANY})(acknowledge)

    def submitted(ack: Ack, body: dict[str, Any]) -> None:
        following = following_form(body["view"]["callback_id"], body["trigger_id"])
        if following is None:
            ack()
        else:
            ack(response_action="update", view=following)

    app.view(_ANY)(submitted)
    app.event("app_home_opened")(lambda: None)
    return app


def _not_stored(body: dict[str, Any], problem: str, tell: Callable[[str], object]) -> BoltResponse:
    """Whoever asked hears at once that nothing was begun; an event is not acknowledged, so Slack brings it again."""
    text = f"{problem} Nothing was done. Try again later."
    if "command" in body:
        return BoltResponse(status=200, body={"response_type": "ephemeral", "text": text})
    if body.get("type") == "view_submission":
        view = problem_form("Not stored", text).to_dict()
        return BoltResponse(status=200, body={"response_action": "push", "view": view})
    if body.get("type") in {"block_actions", "message_action"}:
        tell(text)
        return BoltResponse(status=200, body="")
    return BoltResponse(status=503, body="")


def _delivery(body: dict[str, Any], at: datetime) -> Delivery:
    kind, key = delivery_key(body)
    return Delivery(key=key, kind=kind, payload=json.dumps(body), received_at=at)


def check_identity(client: WebClient, explain: Callable[[str], str]) -> str:
    """The bot's user name, from auth.test. Raises BadConfiguration if the token is not good."""
    try:
        answer = client.auth_test()
    except SlackApiError as error:
        raise BadConfiguration(
            "Slack does not accept the bot token.",
            f"auth.test answered: {error.response.get('error')}.",
            explain("SLACK_BOT_TOKEN"),
        ) from error
    except UNREACHABLE as error:
        raise BadConfiguration(
            "Slack cannot be reached.", f"auth.test failed: {error}.", explain("slack.base_url")
        ) from error
    return str(answer["user"])
