"""A bot of its own process that kills itself with SIGKILL at a named moment, as a power cut would.

`python -m tests.slack.killed_bot FOLDER API_URL BOT_TOKEN APP_TOKEN MOMENT`, where the moment is `claimed` (a click
is taken from the inbox and not yet worked on) or `posted` (Slack has taken a proposal and the outbox does not know).
"""

import dataclasses
import os
import signal
import sys
import threading
from datetime import datetime
from pathlib import Path

from bot.adapters.journal_sql.inbox import SqlInbox
from bot.adapters.journal_sql.outbox import SqlOutbox
from bot.adapters.journal_sql.store import Store
from bot.ports import Delivery
from tests.slack.little_bot import LittleBot


class _InboxCut(SqlInbox):
    def claim(self, now: datetime) -> Delivery | None:
        """Take it, and die."""
        delivery = super().claim(now)
        if delivery is not None and delivery.kind == "block_actions":
            os.kill(os.getpid(), signal.SIGKILL)
        return delivery


class _OutboxCut(SqlOutbox):
    def sent(self, key: str, revision: int, ts: str | None, *, pause_until: datetime | None = None) -> None:
        """Die instead of writing that a proposal was sent."""
        if "/proposal/" in key:
            os.kill(os.getpid(), signal.SIGKILL)
        super().sent(key, revision, ts, pause_until=pause_until)


def cut(store: Store, moment: str) -> Store:
    """The record with a cut before one of its ports."""
    if moment == "claimed":
        return dataclasses.replace(store, inbox=_InboxCut(store.engine, store.presence))
    return dataclasses.replace(store, outbox=_OutboxCut(store.engine, store.presence))


if __name__ == "__main__":
    folder, api_url, bot_token, app_token, moment = sys.argv[1:]
    little = LittleBot(Path(folder), api_url, (bot_token, app_token))
    little.start(lambda store: cut(store, moment))
    threading.Event().wait(120)
    little.close()
