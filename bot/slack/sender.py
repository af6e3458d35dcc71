"""Empties the outbox into Slack: paced per channel, coalesced, 429 honoured, never silently lost."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.domain.errors import CouldNotKeep, CouldNotLook
from bot.domain.ids import IncidentId
from bot.ports import Clock, Outbox, Post
from bot.service.rooms import Rooms
from bot.service.services import Services
from bot.slack.arrivals import Arrivals
from bot.slack.away_record import AwayRecord
from bot.slack.limits import fit, text_for_update
from bot.slack.render import render
from bot.slack.seals import is_seal
from bot.slack.sent_before import (
    EVENT,
    MAY_MEND,
    PASSING,
    REFUSES_THE_BOT,
    answer_was_lost,
    directly,
    find_sent,
    not_asked,
    noted,
    refused_before,
    repetition,
)
from bot.slack.uploads import MOST_TRIES, Uploads, instead_of, is_upload

log = structlog.get_logger(__name__)
_AGAIN = timedelta(seconds=5)
_LATER = timedelta(seconds=30)


class Sender:
    """One thread that claims posts and sends them."""

    def __init__(
        self,
        client: WebClient,
        outbox: Outbox,
        services: Services,
        clock: Clock,
        arrivals: Arrivals,
        *,
        pace: timedelta,
        on_end: Callable[[Post, str | None, bool], None],
        withheld: Callable[[Post], str | None],
        overtaken: Callable[[Post], str | None],
        rooms: Rooms,
    ) -> None:
        self._client = client
        self._outbox = outbox
        self._services = services
        self._clock = clock
        self._arrivals = arrivals
        self._pace = pace
        self._look_again_s = min(0.25, max(0.02, pace.total_seconds()))
        self._on_end = on_end
        self._withheld = withheld
        self._overtaken = overtaken
        self._rooms = rooms
        self._uploads = Uploads(client, services)
        self._away = AwayRecord("outbox")
        self._wake = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._loop, name="outbox")

    def start(self) -> None:
        """Send. What a crash interrupted is queued again, and looked for before it is sent a second time."""
        self._thread.start()

    def wake(self) -> None:
        """Something was put or touched."""
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
                self._away.is_back()
            except CouldNotKeep as away:
                self._away.wait(away)
            except Exception:
                log.exception("outbox cannot be worked on")  # the database is away: a dead thread would be silence
            self._wake.wait(timeout=self._look_again_s)
            self._wake.clear()

    def _send(self, post: Post) -> None:
        """Ask Slack, then write down how it went before anything else is sent, however long the record is away."""
        try:
            self._noted(self._asked(post))
        except Exception:  # the post would count as being sent for ever, and its channel with it
            log.exception("what became of a message cannot be noted", key=post.key)
            self._noted(partial(self._postpone, post, _AGAIN, "what became of it could not be noted"))

    def _noted(self, write: Callable[[], None]) -> None:
        while not self._stopped:
            try:
                write()
            except CouldNotKeep as away:
                self._away.wait(away)
                continue
            return

    def _asked(self, post: Post) -> Callable[[], None]:
        """What is to be written down after this try."""
        try:
            if (kept := self._kept_back(post)) is not None:
                return kept
            ts = self._call(post)
        except SlackApiError as error:
            return partial(self._refused, post, error)
        except (SlackClientError, OSError) as error:
            if is_upload(post) and post.tries >= MOST_TRIES:
                return partial(self._end, post, f"the upload failed {post.tries} times ({error})")
            return partial(self._postpone, post, _AGAIN, str(error))
        except (CouldNotKeep, CouldNotLook) as away:
            return partial(self._postpone, post, _AGAIN, str(away))
        except Exception as error:
            log.exception("message could not be rendered", key=post.key)
            return partial(self._end, post, f"it could not be rendered: {error!r}")
        return partial(self._accepted, post, ts)

    def _kept_back(self, post: Post) -> Callable[[], None] | None:
        """What is to be written down of a post for which Slack is not asked now; None: ask."""
        if (why := self._withheld(post)) is not None:
            return partial(self._postpone, post, _LATER, not_asked(post, why))
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
            self._on_end(post, None, False)
        if refused_before(post) in MAY_MEND and (room := self._own_room(post)) is not None:
            self._rooms.returned(room, post.channel)
        self._outbox.sent(post.key, post.wanted, ts, pause_until=self._clock.now() + self._pace)

    def _call(self, post: Post) -> str | None:
        if is_upload(post):
            root = self._outbox.find(post.thread_of) if post.thread_of else None
            self._uploads.send(post, root.ts if root else None, may_be_there=answer_was_lost(post))
            return None
        if is_seal(post.key) and post.ts is not None:
            log.error("a seal is posted once and never edited, but the outbox asks for that", key=post.key)
            return post.ts
        text, blocks = render(post, self._services)
        body = fit(blocks)
        if post.user is not None:
            if answer_was_lost(post):
                body.append(repetition(post))  # nobody can look for it: it is in no history
            self._client.chat_postEphemeral(channel=post.channel, user=post.user, text=text, blocks=body)
            return None
        ts, may_be_twice = (post.ts, False) if post.ts or not answer_was_lost(post) else self._found(post)
        if may_be_twice:
            body.append(repetition(post))
        if ts is not None and (is_seal(post.key) or self._updated(post, ts, text, body)):
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

    def _refused(self, post: Post, error: SlackApiError) -> None:
        code = str(error.response.get("error"))
        if code in REFUSES_THE_BOT and not (is_upload(post) and code == "missing_scope"):
            log.error("slack refuses the bot", error=code, key=post.key)
            self._outbox.postpone(post.key, self._clock.now() + _LATER, noted(post, code), whole_channel=True)
            return
        if code in PASSING or error.response.status_code >= 429:
            seconds = int(error.response.headers.get("Retry-After", 5))
            until = self._clock.now() + timedelta(seconds=seconds)
            self._outbox.postpone(post.key, until, noted(post, code), whole_channel=True)
            return
        if code in MAY_MEND and (room := self._own_room(post)) is not None:
            self._rooms.lost(room, post.channel, code)
            self._outbox.postpone(post.key, self._clock.now() + _LATER, noted(post, code), whole_channel=True)
            return
        if code in MAY_MEND and post.user is not None and post.text is not None:
            self._outbox.put(directly(post))
        details = "; ".join((error.response.get("response_metadata") or {}).get("messages") or [])
        log.warning("message refused", key=post.key, error=code, details=details)
        self._end(post, f"Slack refused it: {code} {details}".strip(), may_mend=code in MAY_MEND)

    def _own_room(self, post: Post) -> IncidentId | None:
        """The incident whose own channel must take this post; what goes to others is accounted for one by one."""
        is_for_others = any(kind in post.key for kind in ("/notice/", "/page/"))
        is_own = post.incident is not None and self._rooms.is_owed(post.incident, post.channel)
        return post.incident if is_own and not is_for_others else None

    def _end(self, post: Post, problem: str, *, may_mend: bool = False) -> None:
        """Said first where it matters, then marked: a crash between the two says it again, and it counts once."""
        if is_upload(post):
            self._outbox.put(instead_of(post, problem))
        if post.user is None:
            self._on_end(post, problem, may_mend)
        self._outbox.failed(post.key, post.wanted, problem)

    def _found(self, post: Post) -> tuple[str | None, bool]:
        root = self._outbox.find(post.thread_of) if post.thread_of else None
        return find_sent(self._client, post, root.ts if root else None)
