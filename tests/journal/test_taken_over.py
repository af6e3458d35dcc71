"""A replica that was cut off, or not heard of for seconds: it comes back, and writes nothing of what others took."""

import threading
import time
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy.exc import DatabaseError, InternalError, NotSupportedError
from sqlalchemy.exc import TimeoutError as NoneFree

from bot.adapters.journal_sql import Store
from bot.adapters.journal_sql.engine import create, reading, writing
from bot.adapters.journal_sql.membership import give_back
from bot.domain.entries import NoteAdded
from bot.domain.errors import CouldNotKeep
from bot.domain.journal import WATERLINE
from tests.decisions import ANA
from tests.incidents import Story
from tests.journal.test_replicas import (
    LOOK_EVERY_S,
    ROBBED_AFTER_S,
    SOON_S,
    _fill,
    _soon,
    cut_sessions,
    on_postgresql,
    pair,
)
from tests.orders_table import NINE

__all__ = ["pair"]


@on_postgresql
def test_a_cut_session_that_is_asked_for_a_lock_comes_back(pair: tuple[Store, Store]) -> None:
    """Whoever asks first hears that the record is away; nobody robs it, and its thread lives."""
    first, second = pair
    _fill(first)
    first.inbox.claim(NINE)
    cut_sessions(second)
    said = []
    for _ in range(3):
        try:
            with first.presence.alone_with("wl-1/a") as mine:
                said.append(str(mine))
        except CouldNotKeep as cut:
            said.append(str(cut))

    def works() -> bool | None:
        with first.presence.alone_with("wl-1/b") as mine:
            return mine or None

    _soon(works)
    time.sleep(ROBBED_AFTER_S)

    assert any("the session with the record's database was cut" in each for each in said)
    assert second.inbox.claim(NINE) is None
    with first.presence.alone_with("wl-1/a") as mine, second.presence.alone_with("wl-1/a") as same:
        assert (mine, same) == (True, False)


@on_postgresql
def test_who_was_taken_over_gives_nothing_back_that_another_works_on(pair: tuple[Store, Store]) -> None:
    """Its machine was asleep: the delivery and the post are another's by now."""
    first, second = pair
    _fill(first)
    ours = first.inbox.claim(NINE)
    assert ours is not None
    first.outbox.claim(NINE)
    give_back(second.engine, {first.presence.name})
    theirs, post = second.inbox.claim(NINE), second.outbox.claim(NINE)
    assert theirs is not None
    assert post is not None

    first.inbox.give_back(ours, was_tried=True)
    first.inbox.done(ours)
    first.outbox.postpone("p00", NINE + timedelta(seconds=1), "late", whole_channel=False)
    first.outbox.failed("p00", 1, "late")

    assert first.inbox.claim(NINE) is None
    assert first.outbox.claim(NINE + timedelta(minutes=1)) is None
    second.inbox.give_back(theirs, was_tried=True)
    again = first.inbox.claim(NINE)
    assert again is not None
    assert again.attempts == theirs.attempts + 1


@on_postgresql
def test_who_was_taken_over_writes_nothing_in_that_persons_name(pair: tuple[Store, Store]) -> None:
    """Else what one person typed once would be on record twice."""
    first, second = pair
    story = Story(first.journal).opens()
    _fill(first)
    delivery = first.inbox.claim(NINE)
    assert delivery is not None
    give_back(second.engine, {first.presence.name})
    second.inbox.claim(NINE)
    before = len(first.journal.entries(story.id, 0))

    with first.inbox.tied(delivery), pytest.raises(CouldNotKeep, match="Another process now works on this request"):
        story.says(NoteAdded(text="typed once"), by=ANA)
    with first.inbox.tied(delivery):
        story.says(NoteAdded(text="the bot's own"), by=WATERLINE)

    assert len(first.journal.entries(story.id, 0)) == before + 1


@on_postgresql
def test_work_alone_stays_alone_when_sessions_are_cut(pair: tuple[Store, Store]) -> None:
    """The next session locks it again, however deep the block, and lets go of it at the block's end."""
    first, second = pair
    with first.presence.alone_with("wl-1/a") as mine, first.presence.alone_with("wl-1/a") as within:
        before = first.presence._session
        cut_sessions(second)
        _soon(lambda: first.presence._session not in (None, before) or None)

        during = _asked(second)

    after = _asked(second)
    assert (mine, within, during, after) == (True, True, False, True)


@on_postgresql
def test_work_that_another_began_while_the_session_was_cut_is_left_to_it(pair: tuple[Store, Store]) -> None:
    """Who was too late unlocks nothing of the other's, and works on."""
    first, second = pair
    with first.presence.alone_with("wl-1/a") as mine:
        with first.presence._talking:
            first.presence._forget()
            _soon(lambda: _asked(second) or None)
            theirs = second.presence.alone_with("wl-1/a")
            is_theirs = theirs.__enter__()
        first.presence.join()

    with first.presence.alone_with("wl-1/a") as again:
        pass
    theirs.__exit__(None, None, None)
    assert (mine, is_theirs, again) == (True, True, False)


@on_postgresql
def test_a_pool_without_a_free_connection_costs_no_replica_its_locks(
    pair: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of this process have them all; its own session is well."""
    first, second = pair
    with first.presence.alone_with("wl-1/a"):
        before, looked = first.presence._session, threading.Event()

        def exhausted(_engine: object) -> frozenset[str]:
            looked.set()
            raise CouldNotKeep("Waterline's record cannot be read now.", "QueuePool limit reached", "")

        monkeypatch.setattr("bot.adapters.journal_sql.membership.takers", exhausted)
        assert looked.wait(SOON_S)
        time.sleep(2 * LOOK_EVERY_S)

        assert first.presence._session is before
        assert not _asked(second)


def _asked(store: Store) -> bool:
    try:
        with store.presence.alone_with("wl-1/a") as is_mine:
            return is_mine
    except CouldNotKeep:
        return False


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("what", [reading, writing])
@pytest.mark.parametrize("fault", [NotSupportedError, InternalError, DatabaseError])
def test_whatever_the_database_cannot_do_now_is_told_in_one_way(store: Store, what, fault) -> None:  # type: ignore[no-untyped-def]
    """A standby that is being promoted, a damaged file: who waits for the record waits, and loses nothing."""
    with pytest.raises(CouldNotKeep, match="read only for now"), what(store.engine):
        raise fault("UPDATE", {}, Exception("read only for now"))


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_no_free_connection_is_told_so_too(store: Store) -> None:
    """The pool is exhausted while the database is slow."""
    with pytest.raises(CouldNotKeep, match="QueuePool limit"), reading(store.engine):
        raise NoneFree("QueuePool limit reached")


@pytest.mark.parametrize(("query", "seconds"), [("", 5), ("?connect_timeout=30", 30)])
def test_a_connection_has_limits_unless_its_url_has_its_own(
    query: str, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host that vanishes without a word holds up nobody for minutes."""
    asked: list[dict[str, object]] = []

    def refuse(*_: object, **parameters: object) -> None:
        asked.append(parameters)
        raise psycopg.OperationalError("nobody answers")

    monkeypatch.setattr(psycopg, "connect", refuse)
    monkeypatch.setattr(psycopg.Connection, "connect", refuse)
    with pytest.raises(CouldNotKeep, match="nobody answers"), reading(create(f"postgresql+psycopg://x@h/d{query}")):
        pass

    assert int(str(asked[0]["connect_timeout"])) == seconds
    assert (asked[0]["keepalives_idle"], asked[0]["tcp_user_timeout"]) == (4, 10_000)
