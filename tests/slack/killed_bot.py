"""A bot of its own process that kills itself with SIGKILL at a named moment, as a power cut would.

`python -m tests.slack.killed_bot FOLDER API_URL BOT_TOKEN APP_TOKEN MOMENT`, where the moment is `claimed` (a click
is taken from the inbox and not yet worked on), `running` (evidence that reads rows runs), `posted` (Slack has taken a
proposal and the outbox does not know), `notice-claimed` (a notice is about to be sent), `notice-taken` (Slack has taken
it, which nobody has written down) or `notice-posted` (the journal says so, and the outbox does not know).
"""

import dataclasses
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from bot.adapters.journal_sql.inbox import SqlInbox
from bot.adapters.journal_sql.outbox import SqlOutbox
from bot.adapters.journal_sql.store import Store
from bot.incident.entries import Body, NoticeEnded
from bot.incident.journal import Entry
from bot.observation.evidence import Answer, Ask, Progress, Task
from bot.observation.ids import IncidentId
from bot.observation.masking import Masking
from bot.ports import Delivery, Journal, Post
from tests.slack.little_bot import LittleBot
from tests.slack.looking import ArrowRunner


class _InboxCut(SqlInbox):
    def claim(self, now: datetime) -> Delivery | None:
        """Take it, and die."""
        delivery = super().claim(now)
        if delivery is not None and delivery.kind == "block_actions":
            os.kill(os.getpid(), signal.SIGKILL)
        return delivery


class _OutboxCut(SqlOutbox):
    of = "/proposal/"

    def sent(self, key: str, revision: int, ts: str | None, *, pause_until: datetime | None = None) -> None:
        """Die instead of writing that it was sent."""
        if self.of in key:
            os.kill(os.getpid(), signal.SIGKILL)
        super().sent(key, revision, ts, pause_until=pause_until)


class _NoticePosted(_OutboxCut):
    of = "/notice/"


class _NoticeClaimed(SqlOutbox):
    def claim(self, now: datetime) -> Post | None:
        """Take a notice, and die."""
        post = super().claim(now)
        if post is not None and "/notice/" in post.key:
            os.kill(os.getpid(), signal.SIGKILL)
        return post


class _NoticeTaken:
    """A journal that dies instead of saying that a notice was delivered."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        """See the port."""
        if any(isinstance(body, NoticeEnded) for body in bodies):
            os.kill(os.getpid(), signal.SIGKILL)
        return self._journal.append(incident, after_seq, bodies, by=by, at=at)

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)


class _RunnerCut(ArrowRunner):
    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """Begin to read rows, and die."""
        if task.reads == "rows":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(task, ask, tag=tag, on_progress=on_progress)


def cut(store: Store, moment: str) -> Store:
    """The record with a cut before one of its ports."""
    if moment == "running":
        return store
    if moment == "claimed":
        return dataclasses.replace(store, inbox=_InboxCut(store.engine, store.presence, Masking()))
    if moment == "notice-taken":
        return dataclasses.replace(store, journal=_NoticeTaken(store.journal))  # type: ignore[arg-type]
    outbox = {
        "posted": _OutboxCut,
        "notice-claimed": _NoticeClaimed,
        "notice-posted": _NoticePosted,
    }[moment]
    return dataclasses.replace(store, outbox=outbox(store.engine, store.presence, store.clock, Masking()))


if __name__ == "__main__":
    folder, api_url, bot_token, app_token, moment = sys.argv[1:]
    little = LittleBot(Path(folder), api_url, (bot_token, app_token))
    if moment == "running":
        little.runner, little.looks_first = _RunnerCut(), True
    little.start(lambda store: cut(store, moment))
    threading.Event().wait(120)
    little.close()
