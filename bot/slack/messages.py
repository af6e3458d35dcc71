"""One post at Slack: rendered first, then posted, updated or uploaded."""

from collections.abc import Callable
from functools import partial
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.ports import Outbox, Post
from bot.service.services import Services
from bot.slack.limits import fit, text_for_update
from bot.slack.render import render
from bot.slack.sent_before import EVENT, answer_was_lost, find_sent, repetition
from bot.slack.uploads import Uploads, is_upload


class Messages:
    """Of one bot."""

    def __init__(self, client: WebClient, outbox: Outbox, services: Services) -> None:
        self._client = client
        self._outbox = outbox
        self._services = services
        self._uploads = Uploads(client, services)

    def rendered(self, post: Post) -> Callable[[], str | None]:
        """Sends it, and returns the ts of what Slack shows now. A file is made when it is sent."""
        if is_upload(post):
            return partial(self._upload, post)
        text, blocks = render(post, self._services)
        return partial(self._call, post, text, fit(blocks))

    def _upload(self, post: Post) -> None:
        root = self._outbox.find(post.thread_of) if post.thread_of else None
        self._uploads.send(post, root.ts if root else None, may_be_there=answer_was_lost(post))

    def _call(self, post: Post, text: str, body: list[dict[str, Any]]) -> str | None:
        if post.user is not None:
            if answer_was_lost(post):
                body.append(repetition(post))  # nobody can look for it: it is in no history
            self._client.chat_postEphemeral(channel=post.channel, user=post.user, text=text, blocks=body)
            return None
        ts, may_be_twice = (post.ts, False) if post.ts or not answer_was_lost(post) else self._found(post)
        if may_be_twice:
            body.append(repetition(post))
        if ts is not None and self._updated(post, ts, text, body):
            return ts
        root = self._outbox.find(post.thread_of) if post.thread_of else None
        answer = self._client.chat_postMessage(
            channel=post.channel,
            text=text,
            blocks=body,
            thread_ts=root.ts if root else None,
            unfurl_links=False,
            unfurl_media=False,
            metadata={"event_type": EVENT, "event_payload": {"key": post.key}},
        )
        return str(answer["ts"])

    def _updated(self, post: Post, ts: str, text: str, body: list[dict[str, Any]]) -> bool:
        """False if somebody has deleted the message: it is posted anew, for an incident needs its card."""
        try:
            self._client.chat_update(channel=post.channel, ts=ts, text=text_for_update(text), blocks=body)
        except SlackApiError as error:
            if error.response.get("error") != "message_not_found":
                raise
            return False
        return True

    def _found(self, post: Post) -> tuple[str | None, bool]:
        root = self._outbox.find(post.thread_of) if post.thread_of else None
        return find_sent(self._client, post, root.ts if root else None)
