"""A replica in a process of its own, to be killed: `python -m tests.journal.replicas URL`.

It takes a delivery and a post, says their keys and whether it leads, and stays.
"""

import sys
import threading
from datetime import timedelta

from bot.adapters.journal_sql import open_store
from tests.orders_table import NINE


def take_and_wait(url: str) -> None:
    """Hold a delivery and a post for ever."""
    store = open_store(url)
    delivery = store.inbox.claim(NINE)
    post = store.outbox.claim(NINE + timedelta(hours=1))
    print(f"{delivery and delivery.key} {post and post.key} {store.presence.is_leader()}", flush=True)  # noqa: T201
    threading.Event().wait()


if __name__ == "__main__":
    take_and_wait(sys.argv[1])
