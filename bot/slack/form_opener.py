"""Opens the form that a click asks for while its trigger lives, and tells the person where that did not work.

A trigger lives for three seconds, so the form is opened by the process that took the click, and not by the worker. The
worker asks here for clicks from before a restart: a process that was killed opens nothing any more, and tells nobody.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.observation.errors import CouldNotKeep, CouldNotLook, Refused
from bot.ports import Clock, Delivery, Outbox
from bot.slack.directory import UNREACHABLE, OwnTeam
from bot.slack.forms import form_for
from bot.slack.requests import Request, parse
from bot.slack.text import answer_post

log = structlog.get_logger(__name__)
_IS_OPEN = "exchanged_trigger_id"
"""Slack brought the click twice, and its form is there since the first time."""

MAY_BE_LOST = "No form? Nothing was changed. Click again."


class FormOpener:
    """Of one process. A click that Slack brings twice finds its form open."""

    def __init__(self, client: WebClient, outbox: Outbox, clock: Clock) -> None:
        self._client = client
        self.own = OwnTeam(client)
        self._outbox = outbox
        self._since = clock.now()
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="forms")

    def learns_own_team(self) -> None:
        """Soon, in a thread of its own."""
        self._threads.submit(self.own.learn)

    def opens(self, delivery: Delivery, trigger: str) -> None:
        """Soon, in a thread of its own."""
        self._threads.submit(self._open, delivery, trigger)

    def may_be_lost(self, delivery: Delivery) -> bool:
        """Whether perhaps nobody opens its form: it was taken before this process began."""
        return delivery.received_at < self._since

    def tells(self, body: dict[str, Any], text: str) -> None:
        """Past the outbox, soon: for a click that could not be stored, because the outbox is in the same record."""
        self._threads.submit(self._tell, body, text)

    def _open(self, delivery: Delivery, trigger: str) -> None:
        request = parse(delivery)
        view = form_for(request) if request is not None else None
        if request is None or view is None:
            return
        try:
            self.own.must_be_ours(request)
            self._client.views_open(trigger_id=trigger, view=view)
        except SlackApiError as error:
            code = str(error.response.get("error"))
            if code != _IS_OPEN:
                self._failed(delivery, request, f"Slack said {code}")
        except (Refused, CouldNotLook):
            pass  # the worker answers so
        except UNREACHABLE as error:
            log.warning("form not opened", error=repr(error))
            self._failed(delivery, request, "Slack could not be reached")

    def _failed(self, delivery: Delivery, request: Request, found: str) -> None:
        log.warning("form not opened", found=found)
        text = f"Could not open the form. {found}. Nothing was changed. Try again."
        post = answer_post(delivery, request, text)
        if post is None:
            return
        try:
            self._outbox.put(post)
        except CouldNotKeep as away:
            log.warning("not told", problem=str(away))

    def _tell(self, body: dict[str, Any], text: str) -> None:
        channel = (body.get("channel") or {}).get("id")
        try:
            if channel:
                self._client.chat_postEphemeral(channel=channel, user=body["user"]["id"], text=text)
        except UNREACHABLE as error:
            log.warning("not told", error=repr(error))
