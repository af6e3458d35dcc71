"""The inbox: stored once, worked on once, and not lost with the worker."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from threading import Barrier

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from bot.adapters.journal_sql import Store, open_store
from bot.incident.entries import NoteAdded
from bot.incident.journal import WATERLINE
from bot.observation.errors import CouldNotKeep, JournalMoved
from bot.ports import Delivery
from tests.decisions import ANA
from tests.incidents import Story
from tests.orders_table import NINE


def _delivery(key: str, *, seconds: int = 0) -> Delivery:
    at = NINE + timedelta(seconds=seconds)
    return Delivery(key=key, kind="block_actions", payload='{"user": "U1"}', received_at=at)


def test_a_redelivery_is_the_same_row(store: Store) -> None:
    """The same thing delivered three times is worked on once, also when it comes after the work was done."""
    first = store.inbox.put(_delivery("click-1"))
    second = store.inbox.put(_delivery("click-1", seconds=1))
    claimed = store.inbox.claim(NINE)
    store.inbox.done(claimed)
    late = store.inbox.put(_delivery("click-1", seconds=300))

    assert (first, second, late) == (True, False, False)
    assert claimed == _delivery("click-1").model_copy(update={"attempts": 1, "claim": claimed.claim})
    assert store.inbox.claim(NINE + timedelta(hours=1)) is None


def test_a_click_that_arrives_twice_at_once_is_stored_once(url: str) -> None:
    """Two sockets that deliver the same click at the same moment make one row."""
    stores = [open_store(url) for _ in range(4)]
    together = Barrier(4)

    def put(store: Store) -> bool:
        together.wait()
        return store.inbox.put(_delivery("click-1"))

    with ThreadPoolExecutor(4) as threads:
        stored = list(threads.map(put, stores))

    assert sorted(stored) == [False, False, False, True]
    for each in stores:
        each.close()


def test_the_oldest_comes_first(store: Store) -> None:
    """Deliveries are worked on in the order in which they arrived."""
    for second in (3, 1, 2):
        store.inbox.put(_delivery(f"at {second}", seconds=second))

    order = [claimed.key for _ in range(3) if (claimed := store.inbox.claim(NINE))]

    assert order == ["at 1", "at 2", "at 3"]


def test_no_delivery_is_claimed_twice(store: Store) -> None:
    """Four threads empty the inbox without taking the same delivery."""
    keys = [f"k{n:02d}" for n in range(40)]
    for key in keys:
        store.inbox.put(_delivery(key))

    def work(_thread: int) -> list[str]:
        taken = []
        while delivery := store.inbox.claim(NINE):
            taken.append(delivery.key)
        return taken

    with ThreadPoolExecutor(4) as threads:
        taken = [key for each in threads.map(work, range(4)) for key in each]

    assert sorted(taken) == keys


def test_what_is_written_for_a_delivery_is_counted_with_it(store: Store, url: str) -> None:
    """A delivery whose work was cut short says how many entries of people it has led to, an opening among them; others
    do not. What the bot writes on the way does not show that a click was carried out."""
    keys = ("form", "begun", "looked first", "other")
    for second, key in enumerate(keys):
        store.inbox.put(_delivery(key, seconds=second))
    form, begun, looked_first, _other = (store.inbox.claim(NINE) for _ in keys)

    with store.inbox.tied(form):
        story = Story(store.journal).opens(trusted=None)
    opened = len(story.incident.entries)
    with store.inbox.tied(begun):
        story.says(NoteAdded(text="one"), NoteAdded(text="two"), by=ANA).says(NoteAdded(text="three"), by=ANA)
        with pytest.raises(JournalMoved):
            store.journal.append(story.id, 1, [NoteAdded(text="late")], by=ANA, at=NINE)
    with store.inbox.tied(looked_first):
        story.says(NoteAdded(text="the end of a hold"), by=WATERLINE)
    story.says(NoteAdded(text="by nobody's click"))
    store.close()

    with closing(open_store(url)) as restarted:
        again = [restarted.inbox.claim(NINE) for _ in keys]
        assert {each.key: each.written for each in again} == {
            "form": opened, "begun": 3, "looked first": 0, "other": 0,
        }  # fmt: skip


def test_a_finished_delivery_keeps_its_payload_only_with_its_problem(store: Store) -> None:
    """Slack's tokens in a payload do not outlive the work, unless somebody has to look into it."""
    store.inbox.put(_delivery("broken"))
    store.inbox.put(_delivery("fine", seconds=1))
    broken, fine = store.inbox.claim(NINE), store.inbox.claim(NINE)
    assert broken is not None
    assert fine is not None

    store.inbox.done(fine)
    store.inbox.done(broken, "ref 9f: no such table")
    with store.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT key, payload, problem FROM inbox ORDER BY key").all()

    assert [tuple(row) for row in rows] == [("broken", '{"user": "U1"}', "ref 9f: no such table"), ("fine", "", None)]


def test_deliveries_that_share_a_commit_are_each_told_the_truth(store: Store) -> None:
    """A burst over many threads: every key is new for exactly one of those who brought it."""
    together = Barrier(16)

    def put(number: int) -> bool:
        together.wait()
        return store.inbox.put(_delivery(f"click-{number % 8}"))

    with ThreadPoolExecutor(16) as threads:
        stored = list(threads.map(put, range(16)))

    claimed = [each.key for _ in range(9) if (each := store.inbox.claim(NINE))]
    assert sum(stored) == 8
    assert sorted(claimed) == [f"click-{number}" for number in range(8)]


def test_a_commit_that_fails_is_told_to_everyone_in_it(store: Store) -> None:
    """Nobody hears that a delivery is stored when the database refused it."""
    with store.engine.begin() as connection:
        connection.execute(text("DROP TABLE inbox"))

    def put(number: int) -> str:
        try:
            store.inbox.put(_delivery(f"click-{number}"))
        except (DBAPIError, CouldNotKeep):
            return "refused"
        return "stored"

    with ThreadPoolExecutor(8) as threads:
        told = list(threads.map(put, range(8)))

    assert told == ["refused"] * 8


def test_what_was_begun_often_comes_after_all_others(store: Store) -> None:
    """It may be what ends the process at each start: the others are done before."""
    for key, attempts in (("often", 4), ("first", 3), ("later", 0)):
        at = NINE + timedelta(seconds=len(key))
        store.inbox.put(Delivery(key=key, kind="command", payload="{}", received_at=at, attempts=attempts))

    claimed = [each.key for each in (store.inbox.claim(NINE) for _ in range(3)) if each is not None]

    assert claimed == ["first", "later", "often"]
