"""What waits for the record is worked on by one thread, however many look for it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.adapters.journal_sql.inbox import SqlInbox
from bot.domain.errors import CouldNotKeep
from bot.ports import Delivery
from bot.slack.front_door import Arrivals
from bot.slack.requests import Request
from bot.slack.worker import InboxWorker
from tests.orders_table import NINE


class Watched(SqlInbox):
    """Lets something happen while the first is given back."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)
    given = 0

    def give_back(self, delivery: Delivery, *, was_tried: bool) -> None:
        """See the port."""
        self.given += 1
        if self.given == 1:
            self.meanwhile()
        super().give_back(delivery, was_tried=was_tried)


class Clock:
    """Nine o'clock."""

    def now(self):  # type: ignore[no-untyped-def]
        """See the port."""
        return NINE


def away(_request: Request) -> str:
    """The record cannot be written."""
    raise CouldNotKeep("Waterline's record cannot be written now.", "", "")


def test_it_is_given_back_once(tmp_path: Path) -> None:
    """Two threads find it waiting at the same moment: given back twice, it would be worked on twice at once."""
    store = open_store(f"sqlite:///{tmp_path}/journal.db")
    inbox = Watched(store.engine, store.presence)
    worker = InboxWorker(
        inbox, store.outbox, Clock(), away, Arrivals(),
        on_answer=lambda: None, may_be_lost=lambda _delivery: False, is_lost=lambda _channel: False,
    )  # fmt: skip
    home = json.dumps({"event": {"type": "app_home_opened", "user": "U1"}})
    inbox.put(Delivery(key="home", kind="event_callback", payload=home, received_at=NINE))
    delivery = inbox.claim(NINE)
    assert delivery is not None
    with pytest.raises(CouldNotKeep):
        worker.work(delivery)
    inbox.meanwhile = worker._give_back

    worker._give_back()

    assert 1 == inbox.given
    assert inbox.claim(NINE) is not None
    store.close()


@pytest.mark.parametrize(("times", "is_done"), [(50, True), (51, False)])
def test_what_has_ended_the_process_again_and_again_is_answered_and_not_tried(
    tmp_path: Path, times: int, is_done: bool
) -> None:
    """Else it would be the first thing after each start, for ever."""
    store, done = open_store(f"sqlite:///{tmp_path}/journal.db"), list[str]()

    def handle(_request: Request) -> str:
        done.append("it")
        return "Done."

    worker = InboxWorker(
        store.inbox, store.outbox, Clock(), handle, Arrivals(),
        on_answer=lambda: None, may_be_lost=lambda _delivery: False, is_lost=lambda _channel: False,
    )  # fmt: skip
    command = json.dumps(
        {"command": "/waterline", "text": "status", "user_id": "U1", "channel_id": "C1", "trigger_id": "1.2"}
    )
    store.inbox.put(Delivery(key="typed", kind="command", payload=command, received_at=NINE, attempts=times - 1))
    delivery = store.inbox.claim(NINE)
    assert delivery is not None

    worker.work(delivery)

    post = store.outbox.claim(NINE)
    assert done == (["it"] if is_done else [])
    assert post is not None
    assert ("This request crashed me 50 times" in post.text) is not is_done
    assert store.inbox.claim(NINE) is None
    store.close()
