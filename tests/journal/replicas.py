"""A replica in a process of its own, to be killed: `python -m tests.journal.replicas URL`.

It takes a delivery, a post and a piece of work, says their keys and whether it is alone with the work, and stays.
"""

import sys
import threading
from datetime import timedelta

from bot.adapters.journal_sql import open_store
from tests.orders_table import NINE

WORK = "wl-1/The recovery"


def take_and_wait(url: str) -> None:
    """Hold a delivery, a post and a piece of work for ever."""
    store = open_store(url)
    delivery = store.inbox.claim(NINE)
    post = store.outbox.claim(NINE + timedelta(hours=1))
    with store.presence.alone_with(WORK) as is_mine:
        print(f"{delivery and delivery.key} {post and post.key} {is_mine}", flush=True)  # noqa: T201
        threading.Event().wait()


if __name__ == "__main__":
    take_and_wait(sys.argv[1])
