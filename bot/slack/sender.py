"""Empties the outbox into Slack: paced per channel, coalesced, 429 honoured, never silently lost.

One post at Slack: rendered first, then posted, updated or uploaded.

What is uploaded as a file and not posted as a message: pictures of the ledger, and the record.
"""

import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.observation.errors import CouldNotKeep, CouldNotLook
from bot.ports import LONGEST_WAIT, Clock, Outbox, Post
from bot.service.services import Services
from bot.slack import pictures, record_files
from bot.slack.directory import UNREACHABLE
from bot.slack.gateway import Arrivals
from bot.slack.limits import fit, text_for_update, unfolded
from bot.slack.render import render
from bot.slack.sent_before import (
    CANNOT_EDIT,
    EVENT,
    INTERRUPTED,
    NOT_JOINED,
    PASSING,
    REFUSES_THE_BOT,
    answer_was_lost,
    directly,
    file_is_there,
    find_sent,
    how_to_mend,
    is_of_replies,
    may_mend,
    not_asked,
    noted,
    notice_key,
    repetition,
    waits_for_channel,
)

_LATER = timedelta(seconds=30)
MOST_TRIES = 5
"""Uploads go to another host than messages, which a proxy may not let through: then words must do."""
_INSTEAD = {pictures.KIND: pictures.instead_of, record_files.KIND: record_files.instead_of}


def is_upload(post: Post) -> bool:
    """Whether the post is an upload and no message."""
    return post.incident is not None and _kind(post) in _INSTEAD


def instead_of(post: Post, problem: str) -> Post:
    """Says in the incident's thread that the file is not there, and what would mend it."""
    return _INSTEAD[_kind(post)](post, problem)


def _kind(post: Post) -> str:
    return post.key.split("/")[1] if "/" in post.key else ""


class Messages:
    def __init__(self, client: WebClient, outbox: Outbox, services: Services, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._outbox = outbox
        self._services = services
        self._folds = True
        self._uploads = {
            pictures.KIND: (pictures.file_name, partial(pictures.made, services)),
            record_files.KIND: (record_files.file_name, partial(record_files.made, client, services)),
        }

    def rendered(self, post: Post) -> Callable[[], str | None]:
        """Sends it, and returns the ts of what Slack shows now. A file is made when it is sent."""
        if is_upload(post):
            return partial(self._upload, post)
        text, blocks = render(post, self._services)
        return partial(self._sent, post, text, fit(blocks))

    def _sent(self, post: Post, text: str, body: list[dict[str, Any]]) -> str | None:
        """A Slack that refuses a folded part gets it unfolded, from then on at once."""
        flat = unfolded(body)
        if self._folds and flat != body:
            try:
                return self._call(post, text, body)
            except SlackApiError as error:
                if error.response.get("error") != "invalid_blocks":
                    raise
            ts = self._call(post, text, flat)
            self._folds = False
            return ts
        return self._call(post, text, flat)

    def _upload(self, post: Post) -> None:
        """Where the last try may have arrived without an answer, the thread is searched for the file first."""
        root = self._outbox.find(post.thread_of) if post.thread_of else None
        thread_ts = root.ts if root else None
        file_name, made = self._uploads[_kind(post)]
        name = file_name(post)
        is_there = file_is_there(self._client, post.channel, thread_ts, name) if answer_was_lost(post) else False
        if is_there:
            return
        comment, files = made(post)
        self._client.files_upload_v2(
            channel=post.channel,
            thread_ts=thread_ts,
            file_uploads=files,
            initial_comment=comment + (INTERRUPTED if is_there is None else ""),
        )

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
        """False if Slack does not let the bot edit the message: it is posted anew, for an incident needs its card. The
        buttons of the old one, if it is still there, answer as any that somebody has not reloaded."""
        try:
            self._client.chat_update(channel=post.channel, ts=ts, text=text_for_update(text), blocks=body)
        except SlackApiError as error:
            code = error.response.get("error")
            is_young = self._clock.now().timestamp() - float(ts) < _LATER.total_seconds()
            if code not in CANNOT_EDIT or (is_young and code != "message_not_found"):
                raise  # where nothing can ever be edited, not every change is a message of its own
            return False
        return True

    def _found(self, post: Post) -> tuple[str | None, bool]:
        root = self._outbox.find(post.thread_of) if post.thread_of else None
        return find_sent(self._client, post, root.ts if root else None)


log = structlog.get_logger(__name__)
_AGAIN = timedelta(seconds=5)
_RECORD_AGAIN_S = 0.5


class Sender:
    def __init__(
        self,
        client: WebClient,
        outbox: Outbox,
        services: Services,
        clock: Clock,
        arrivals: Arrivals,
        *,
        min_message_interval: timedelta,
        on_end: Callable[[Post, str | None], None],
        overtaken: Callable[[Post], str | None],
    ) -> None:
        self._outbox = outbox
        self._clock = clock
        self._arrivals = arrivals
        self._min_message_interval = min_message_interval
        self._look_again_s = min(0.25, max(0.02, min_message_interval.total_seconds()))
        self._on_end = on_end
        self._overtaken = overtaken
        self._services = services
        self._messages = Messages(client, outbox, services, clock)
        self._is_away = False
        """Whether the record was away at the last look: logged once, not at each."""
        self._wake = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._loop, name="outbox")

    def start(self) -> None:
        """Send. What a crash interrupted is queued again, and looked for before it is sent a second time."""
        self._thread.start()

    def wake(self) -> None:
        self._wake.set()

    def close(self) -> None:
        """End after the message that is being sent."""
        self._stopped = True
        self._wake.set()
        self._thread.join()

    def _loop(self) -> None:
        while not self._stopped:
            self._arrivals.give_way()
            try:
                post = self._outbox.claim(self._clock.now())
                if post is not None:
                    self._send(post)
                    continue
                self._is_away = False
            except CouldNotKeep as away:
                self._wait_for_record(away)
            except Exception:
                log.exception("outbox cannot be worked on")  # the database is away: a dead thread would be silence
            self._wake.wait(timeout=self._look_again_s)
            self._wake.clear()

    def _wait_for_record(self, away: CouldNotKeep) -> None:
        if not self._is_away:
            log.warning("outbox waits for the record", problem=str(away))
        self._is_away = True
        time.sleep(_RECORD_AGAIN_S)

    def _send(self, post: Post) -> None:
        """Ask Slack, then write down how it went before anything else is sent, however long the record is away."""
        try:
            self._noted(self._asked(post))
        except Exception:  # the post would count as being sent for ever, and its channel with it
            log.exception("what became of a message cannot be noted", key=post.key)
            self._noted(partial(self._postpone, post, _AGAIN, "what became of it could not be noted"))

    def _noted(self, write: Callable[[], None]) -> None:
        """At least one try, also after `close`: Slack has the message by then. A record that is away is not waited for
        after that."""
        while True:
            try:
                write()
            except CouldNotKeep as away:
                if self._stopped:
                    return
                self._wait_for_record(away)
            else:
                return

    def _asked(self, post: Post) -> Callable[[], None]:
        """What is to be written down after this try."""
        try:
            if (kept := self._kept_back(post)) is not None:
                return kept
            send = self._messages.rendered(post)
        except (CouldNotKeep, CouldNotLook) as away:
            return partial(self._postpone, post, _AGAIN, str(away))
        except Exception as error:
            log.exception("message could not be rendered", key=post.key)
            return partial(self._end, post, f"it could not be rendered: {error!r}")
        try:
            ts = send()
        except SlackApiError as error:
            return partial(self._refused, post, error)
        except (CouldNotKeep, CouldNotLook) as away:
            return partial(self._postpone, post, _AGAIN, str(away))
        except Exception as error:  # Slack may have it: it is looked for before it is sent again
            is_known = isinstance(error, UNREACHABLE)
            if not is_known:
                log.exception("message could not be sent", key=post.key)
            if post.tries >= MOST_TRIES and (is_upload(post) or not is_known):
                return partial(self._end, post, f"sending it failed {post.tries} times ({error!r})")
            return partial(self._postpone, post, _AGAIN, str(error) or repr(error))
        return partial(self._accepted, post, ts)

    def _kept_back(self, post: Post) -> Callable[[], None] | None:
        """What is to be written down of a post for which Slack is not asked now; None: ask."""
        if post.ts is not None or answer_was_lost(post):
            return None
        try:
            late = self._overtaken(post)
        except (CouldNotKeep, CouldNotLook) as away:
            return partial(self._postpone, post, _AGAIN, not_asked(post, str(away)))
        return partial(self._outbox.failed, post.key, post.wanted, late) if late is not None else None

    def _postpone(self, post: Post, wait: timedelta, why: str) -> None:
        self._outbox.postpone(post.key, self._clock.now() + wait, why, whole_channel=False)

    def _accepted(self, post: Post, ts: str | None) -> None:
        """Said first where it matters: a crash before it counts as sent finds it in Slack and says it again, once."""
        if post.ts is None and post.user is None:
            self._on_end(post, None)
        self._outbox.sent(post.key, post.wanted, ts, pause_until=self._clock.now() + self._min_message_interval)

    def _refused(self, post: Post, error: SlackApiError) -> None:
        code = str(error.response.get("error"))
        if code in REFUSES_THE_BOT and not (is_upload(post) and code == "missing_scope"):
            log.error("slack refuses the bot", error=code, key=post.key)
            self._outbox.postpone(post.key, self._clock.now() + _LATER, noted(post, code), whole_channel=True)
            return
        if code in PASSING or error.response.status_code >= 429:
            asked = timedelta(seconds=int(error.response.headers.get("Retry-After", 5)))
            until = self._clock.now() + min(asked, LONGEST_WAIT)
            self._outbox.postpone(post.key, until, noted(post, code), whole_channel=True)
            return
        if code in CANNOT_EDIT and post.ts is not None:
            self._postpone(post, _LATER, noted(post, code))
            return
        if may_mend(code) and self._waits_for_channel(post):
            until = self._clock.now() + _LATER
            if code not in (post.problem or ""):
                log.error("messages wait for their channel", key=post.key, channel=post.channel, error=code)
                self._tell_responder(post, code, until)
            alone = is_of_replies(code) or notice_key(post) is not None
            self._outbox.postpone(post.key, until, noted(post, code), whole_channel=not alone)
            return
        if (may_mend(code) or code == NOT_JOINED) and post.user is not None and post.text is not None:
            self._outbox.put(directly(post, code))
        details = "; ".join((error.response.get("response_metadata") or {}).get("messages") or [])
        log.warning("message refused", key=post.key, error=code, details=details)
        self._end(post, f"Slack refused it: {code} {details}".strip())

    def _waits_for_channel(self, post: Post) -> bool:
        """Whether it is a finding, or of an open incident: for its own channel, or a notice to a consumer's."""
        if post.incident is None:
            return post.key.startswith("watch/")
        incident = self._services.store.get(post.incident)
        return incident.is_open and (incident.opened.channel == post.channel or notice_key(post) is not None)

    def _tell_responder(self, post: Post, code: str, again_at: datetime) -> None:
        if post.incident is None:
            return
        incident = self._services.store.get(post.incident)
        self._outbox.put(waits_for_channel(post, code, incident.responder or incident.opened_by))
        notice = notice_key(post)
        if notice is not None:
            problem = how_to_mend(code, f"<#{post.channel}>")
            self._services.deliveries.waits(post.incident, notice, problem=problem, again_at=again_at)

    def _end(self, post: Post, problem: str) -> None:
        """Said first where it matters, then marked: a crash between the two says it again, and it counts once."""
        if is_upload(post):
            self._outbox.put(instead_of(post, problem))
        if post.user is None:
            self._on_end(post, problem)
        self._outbox.failed(post.key, post.wanted, problem)
