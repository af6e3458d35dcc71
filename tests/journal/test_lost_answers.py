"""The answer to COMMIT is lost: the database has done it, and whoever asked does not know."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from bot.adapters.journal_sql import Store
from bot.adapters.journal_sql.membership import give_back
from bot.domain.entries import NoteAdded
from bot.domain.errors import CouldNotKeep
from bot.ports import Delivery, Post
from tests.decisions import ANA
from tests.incidents import Story
from tests.journal.test_replicas import ROBBED_AFTER_S, _fill, _soon
from tests.orders_table import NINE


@contextmanager
def lost_answer(engine: Engine) -> Iterator[None]:
    """Of the commit that is made in the block, which must raise CouldNotKeep. Whoever keeps presence may not be the
    one to lose it: it only reads, and a read in the block would take the loss on itself."""
    real = engine.dialect.do_commit

    def commit(connection):  # type: ignore[no-untyped-def]
        engine.dialect.do_commit = real  # type: ignore[method-assign]
        real(connection)
        raise OperationalError("COMMIT", {}, Exception("server closed the connection unexpectedly"))

    engine.dialect.do_commit = commit  # type: ignore[method-assign]
    with pytest.raises(CouldNotKeep, match="closed the connection"):
        yield


@pytest.fixture
def joined(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Works on the record, with one delivery and one post of the same channel as another."""
    monkeypatch.setattr("bot.adapters.journal_sql.membership.takers", lambda _engine: frozenset())
    store.presence.join()
    _fill(store)
    store.outbox.put(Post(key="p01", incident=None, channel="C0", text="Hello."))
    return store


def test_a_delivery_whose_claim_was_not_answered_is_claimed_again(
    joined: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else an acknowledged click is never answered until the process ends."""
    with lost_answer(joined.engine):
        joined.inbox.claim(NINE)
    monkeypatch.undo()

    delivery = _soon(lambda: joined.inbox.claim(NINE))

    assert (delivery.key, delivery.attempts) == ("d00", 2)


def test_a_post_whose_claim_was_not_answered_is_claimed_again(joined: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its channel is mute on every replica until the process ends."""
    with lost_answer(joined.engine):
        joined.outbox.claim(NINE)
    monkeypatch.undo()

    post = _soon(lambda: joined.outbox.claim(NINE))

    assert (post.key, post.tries) == ("p00", 2)


def test_what_is_worked_on_is_not_given_back(joined: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread's claim raised meanwhile: what is in hand stays there."""
    assert joined.inbox.claim(NINE) is not None
    assert joined.outbox.claim(NINE) is not None
    joined.inbox.put(Delivery(key="d01", kind="command", payload="{}", received_at=NINE))
    with lost_answer(joined.engine):
        joined.inbox.claim(NINE)
    monkeypatch.undo()
    time.sleep(ROBBED_AFTER_S)

    again = _soon(lambda: joined.inbox.claim(NINE))

    assert again.key == "d01"
    assert joined.inbox.claim(NINE) is None
    assert joined.outbox.claim(NINE + timedelta(hours=1)) is None


def test_what_was_let_go_of_is_in_no_hand(joined: Store) -> None:
    """However it ended: claims do not pile up in memory."""
    first = joined.inbox.claim(NINE)
    assert first is not None
    joined.inbox.give_back(first, was_tried=True)
    second = joined.inbox.claim(NINE)
    assert second is not None
    joined.inbox.done(second)
    for end in (
        lambda: joined.outbox.postpone("p00", NINE, "network", whole_channel=False),
        lambda: joined.outbox.sent("p00", 1, "1.1"),
        lambda: joined.outbox.failed("p01", 1, "invalid_blocks"),
    ):
        assert joined.outbox.claim(NINE) is not None
        end()
    assert joined.inbox.claim(NINE) is None
    assert joined.outbox.claim(NINE) is None

    assert joined.presence.hands._claims == set()


def test_a_claim_is_not_given_back_by_one_before_it(joined: Store) -> None:
    """The first giving back was done, and its answer lost: a second one would have two threads work on it at once."""
    first = joined.inbox.claim(NINE)
    assert first is not None
    with lost_answer(joined.engine):
        joined.inbox.give_back(first, was_tried=False)
    second = joined.inbox.claim(NINE)
    assert second is not None

    joined.inbox.give_back(first, was_tried=False)
    joined.inbox.done(first)

    assert joined.inbox.claim(NINE) is None
    joined.inbox.give_back(second, was_tried=False)
    assert joined.inbox.claim(NINE) is not None


def test_two_threads_of_one_process_do_not_both_write_what_was_asked_once(joined: Store) -> None:
    """It was taken over and given back, and another thread of the same process has it now."""
    story = Story(joined.journal).opens()
    first = joined.inbox.claim(NINE)
    assert first is not None
    give_back(joined.engine, {joined.presence.name})
    second = joined.inbox.claim(NINE)
    assert second is not None

    with joined.inbox.tied(first), pytest.raises(CouldNotKeep, match="Another process now works on this request"):
        story.says(NoteAdded(text="typed once"), by=ANA)
    with joined.inbox.tied(second):
        story.says(NoteAdded(text="typed once"), by=ANA)

    notes = [entry for entry in joined.journal.entries(story.id, 0) if isinstance(entry.body, NoteAdded)]
    assert len(notes) == 1
