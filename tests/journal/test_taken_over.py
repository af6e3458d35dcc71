"""A replica that was cut off, or not heard of for seconds: it comes back, and writes nothing of what others took."""

from datetime import timedelta

import psycopg
import pytest
from sqlalchemy.exc import DatabaseError, InternalError, NotSupportedError
from sqlalchemy.exc import TimeoutError as NoneFree

from bot.adapters.journal_sql import Store
from bot.adapters.journal_sql.engine import create, reading, writing
from bot.incident.entries import NoteAdded
from bot.incident.journal import WATERLINE
from bot.observation.errors import CouldNotKeep
from tests.decisions import ANA
from tests.incidents import Story
from tests.journal.test_replicas import _fill, on_postgresql, pair
from tests.orders_table import NINE
from tests.slack.people import eventually

__all__ = ["pair"]


@on_postgresql
def test_who_was_taken_over_gives_nothing_back_that_another_works_on(pair: tuple[Store, Store]) -> None:
    """Its machine was asleep: the delivery and the post are another's by now."""
    first, second = pair
    _fill(first)
    ours = first.inbox.claim(NINE)
    assert ours is not None
    first.outbox.claim(NINE)
    first.presence._lock.release()
    eventually(second.presence.join_alone)
    theirs, post = second.inbox.claim(NINE), second.outbox.claim(NINE)
    assert post is not None

    first.inbox.give_back(ours, was_tried=True)
    first.inbox.done(ours)
    first.outbox.postpone("p00", NINE + timedelta(seconds=1), "late", whole_channel=False)
    first.outbox.failed("p00", 1, "late")

    assert second.inbox.claim(NINE) is None
    assert second.outbox.claim(NINE + timedelta(minutes=1)) is None
    second.inbox.give_back(theirs, was_tried=True)
    again = second.inbox.claim(NINE)
    assert again.attempts == theirs.attempts + 1


@on_postgresql
def test_who_was_taken_over_writes_nothing_in_that_persons_name(pair: tuple[Store, Store]) -> None:
    """Else what one person typed once would be on record twice."""
    first, second = pair
    story = Story(first.journal).opens()
    _fill(first)
    delivery = first.inbox.claim(NINE)
    assert delivery is not None
    first.presence._lock.release()
    eventually(second.presence.join_alone)
    second.inbox.claim(NINE)
    before = len(first.journal.entries(story.id, 0))

    with first.inbox.tied(delivery), pytest.raises(CouldNotKeep, match="Another process now works on this request"):
        story.says(NoteAdded(text="typed once"), by=ANA)
    with first.inbox.tied(delivery):
        story.says(NoteAdded(text="the bot's own"), by=WATERLINE)

    assert len(first.journal.entries(story.id, 0)) == before + 1


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
