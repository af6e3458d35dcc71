"""Messages for the outbox, and what it says of them."""

from datetime import timedelta

from bot.adapters.journal_sql import Store
from bot.domain.ids import IncidentId
from bot.ports import Post
from tests.orders_table import NINE

LATER = NINE + timedelta(seconds=30)


def card(key: str = "wl-1/card", **changes: object) -> Post:
    """A message into the incident's channel."""
    return Post(key=key, incident=IncidentId("wl-1"), channel="C0ORDERS01").model_copy(update=changes)


def sends(store: Store, ts: str | None = "1.1") -> Post:
    """The next message that is due arrives in Slack."""
    post = store.outbox.claim(NINE)
    assert post is not None
    store.outbox.sent(post.key, post.wanted, ts)
    return post


def state(store: Store, key: str = "wl-1/card") -> str:
    """How it stands with this message."""
    post = store.outbox.find(key)
    assert post is not None
    return post.state
