"""However many proposals look at evidence, whoever has only a word to say is heard at once."""

import json
import threading
import time
from pathlib import Path

from bot.adapters.journal_sql import open_store
from bot.ports import Delivery
from bot.slack.front_door import Arrivals
from bot.slack.requests import Request
from bot.slack.worker import InboxWorker
from tests.orders_table import NINE
from tests.slack.test_given_back import Clock

SLOW, MOST = 10, 12


def typed(key: str, user: str) -> Delivery:
    """`/waterline status` of this person."""
    body = {"command": "/waterline", "text": "status", "user_id": user, "channel_id": "C1", "trigger_id": key}
    return Delivery(key=key, kind="command", payload=json.dumps(body), received_at=NINE)


def test_a_veto_is_heard_beside_ten_that_take_long_and_the_threads_go_again(tmp_path: Path) -> None:
    """Each slow request takes a thread; the last free one is followed by another, and none stays that is not needed."""
    store, go_on, heard = open_store(f"sqlite:///{tmp_path}/journal.db"), threading.Event(), threading.Event()
    begun = threading.Semaphore(0)

    def handle(request: Request) -> None:
        if request.user == "U-veto":
            heard.set()
            return
        begun.release()
        assert go_on.wait(60)

    worker = InboxWorker(
        store.inbox, store.outbox, Clock(), handle, Arrivals(),
        on_answer=lambda: None, may_be_lost=lambda _delivery: False,
        threads=2, most_threads=MOST,
    )  # fmt: skip
    worker.start()
    try:
        for each in range(SLOW):
            store.inbox.put(typed(f"slow-{each}", "U1"))
            worker.wake()
        assert all(begun.acquire(timeout=30) for _ in range(SLOW))

        store.inbox.put(typed("veto", "U-veto"))
        worker.wake()

        assert heard.wait(30)
        go_on.set()
        until = time.monotonic() + 30
        while len(worker._threads) > 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert 2 == len(worker._threads)
    finally:
        go_on.set()
        worker.close()
        store.close()
