"""Several bots on one record: one works, and the others stand by."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DatabaseError, InternalError, NotSupportedError, OperationalError
from sqlalchemy.exc import TimeoutError as NoneFree

from bot.adapters.journal_sql import Store, open_store
from bot.adapters.journal_sql.engine import create, reading, writing
from bot.adapters.journal_sql.membership import give_back
from bot.incident.entries import NoteAdded
from bot.incident.journal import WATERLINE
from bot.observation.errors import BadConfiguration, CouldNotKeep
from bot.ports import Delivery, Post
from tests.decisions import ANA
from tests.incidents import Story
from tests.orders_table import NINE
from tests.postgres import Postgres
from tests.slack.people import eventually

on_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
SOON_S = 60
"""What a busy machine takes."""


@contextmanager
def replica(url: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Another process on the record, and what it has taken; killed at the end at the latest."""
    command = [sys.executable, "-m", "tests.journal.writers", url, "take"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().split()
        finally:
            process.kill()


@pytest.fixture
def pair(url: str) -> Iterator[tuple[Store, Store]]:
    """Two replicas in this process; the first works, the second stands by."""
    with ExitStack() as stack:
        first, second = [stack.enter_context(closing(open_store(url))) for _ in range(2)]
        first.presence.join()
        yield first, second


def cut_sessions(store: Store) -> None:
    """Every connection of everybody but this one, as a database does that restarts them."""
    with store.engine.begin() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND datname = current_database()"
            )
        )


def _fill(store: Store, keys: int = 1) -> None:
    for n in range(keys):
        store.inbox.put(Delivery(key=f"d{n:02d}", kind="command", payload="{}", received_at=NINE))
        store.outbox.put(Post(key=f"p{n:02d}", incident=None, channel=f"C{n}", text="Hello."))


@on_postgresql
def test_what_a_killed_replica_had_taken_is_taken_over(store: Store, url: str) -> None:
    """Deliveries, posts and all other work, without a restart of anybody."""
    _fill(store)
    with replica(url) as (process, taken):
        while_it_lived = store.presence.is_leader()

        os.kill(process.pid, signal.SIGKILL)
        eventually(store.presence.join_alone)
        delivery, post = store.inbox.claim(NINE), store.outbox.claim(NINE)
        afterwards = store.presence.is_leader()

    assert taken == ["d00", "p00", "True"]
    assert (while_it_lived, afterwards) == (False, True)
    assert (delivery.key, delivery.attempts) == ("d00", 2)
    assert (post.key, post.tries, post.problem) == ("p00", 2, "interrupted")


@on_postgresql
def test_who_stands_by_takes_nothing_and_works_on_nothing(pair: tuple[Store, Store]) -> None:
    """However long the other one takes."""
    first, second = pair
    _fill(first)
    first.inbox.claim(NINE)

    with pytest.raises(CouldNotKeep, match="Another replica of Waterline works on the record"):
        second.inbox.claim(NINE)
    with pytest.raises(CouldNotKeep, match="Another replica"):
        second.outbox.claim(NINE)

    assert (first.presence.is_leader(), second.presence.is_leader()) == (True, False)


@on_postgresql
def test_who_leaves_hands_on_at_once(pair: tuple[Store, Store]) -> None:
    """Whoever stands by hears of an orderly end, and has what was taken."""
    first, second = pair
    _fill(first)
    first.inbox.claim(NINE)
    waits: list[float] = []

    def other_ends(seconds: float) -> bool:
        waits.append(seconds)
        first.presence.leave()
        return len(waits) > SOON_S

    assert second.presence.take_over(other_ends)
    assert waits
    assert second.inbox.claim(NINE) is not None


@on_postgresql
def test_who_stands_by_and_is_stopped_takes_nothing_over(pair: tuple[Store, Store]) -> None:
    """It ends as it is asked to."""
    assert not pair[1].presence.take_over(lambda _: True)


@on_postgresql
def test_a_replica_whose_session_was_cut_comes_back_and_keeps_what_it_had(pair: tuple[Store, Store]) -> None:
    """A database that restarts its connections takes nothing from who is back first."""
    first, second = pair
    _fill(first)
    first.inbox.claim(NINE)
    cut_sessions(second)

    eventually(first.presence.join_alone)

    assert first.inbox.claim(NINE) is None
    assert not second.presence.join_alone()


@on_postgresql
def test_who_was_cut_off_and_taken_over_works_no_more(pair: tuple[Store, Store]) -> None:
    """Two would answer the same click."""
    first, second = pair
    _fill(first)
    first.inbox.claim(NINE)
    cut_sessions(second)
    eventually(second.presence.join_alone)

    mine = first.presence.is_leader()
    with pytest.raises(CouldNotKeep, match="Another replica"):
        first.inbox.claim(NINE)

    assert not mine
    assert second.inbox.claim(NINE) is not None


@on_sqlite
def test_a_second_bot_on_a_sqlite_file_is_refused(store: Store, url: str) -> None:
    """It says who is there and what to do, and takes nothing."""
    _fill(store)
    store.presence.join()

    with closing(open_store(url)) as second, pytest.raises(BadConfiguration) as refusal:
        second.presence.join()

    assert f"process {os.getpid()} holds record.db.lock" in str(refusal.value)
    assert "Stop the other one" in refusal.value.remedy
    assert store.inbox.claim(NINE) is not None


@on_sqlite
def test_the_lock_of_a_killed_bot_is_no_hindrance(store: Store, url: str) -> None:
    """Kill -9 leaves a file, and no lock: the next start has all that was taken."""
    _fill(store)
    with replica(url) as (process, taken):
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    delivery, post = store.inbox.claim(NINE), store.outbox.claim(NINE)

    assert taken == ["d00", "p00", "True"]
    assert (delivery.attempts, post.tries) == (2, 2)


@on_sqlite
def test_reading_the_record_takes_no_part_in_the_work(store: Store, url: str) -> None:
    """`waterline record` beside a running bot is refused nothing and disturbs nothing."""
    store.presence.join()

    with closing(open_store(url)) as reader:
        faults = reader.journal.verify()

    assert faults == ()


def test_who_joins_alone_does_so_only_while_nobody_else_works(url: str) -> None:
    """On either database: a command takes the work of a bot that is gone, and none of one that lives."""
    with closing(open_store(url)) as bot, closing(open_store(url)) as command:
        bot.presence.join()
        beside = command.presence.join_alone()
        bot.presence.leave()

        assert not beside
        eventually(command.presence.join_alone)  # PostgreSQL ends a session a moment after its end was asked for
        assert command.presence.join_alone()


@contextmanager
def lost_answer(engine: Engine) -> Iterator[None]:
    """Of the commit that is made in the block, which must raise CouldNotKeep."""
    real = engine.dialect.do_commit

    def commit(connection):  # type: ignore[no-untyped-def]
        engine.dialect.do_commit = real  # type: ignore[method-assign]
        real(connection)
        raise OperationalError("COMMIT", {}, Exception("server closed the connection unexpectedly"))

    engine.dialect.do_commit = commit  # type: ignore[method-assign]
    with pytest.raises(CouldNotKeep, match="closed the connection"):
        yield


@pytest.fixture
def joined(store: Store) -> Store:
    """Works on the record, with one delivery and one post of the same channel as another."""
    store.presence.join()
    _fill(store)
    store.outbox.put(Post(key="p01", incident=None, channel="C0", text="Hello."))
    return store


def test_a_delivery_whose_claim_was_not_answered_is_claimed_again(joined: Store) -> None:
    """Else an acknowledged click is never answered until the process ends."""
    with lost_answer(joined.engine):
        joined.inbox.claim(NINE)

    delivery = joined.inbox.claim(NINE)

    assert (delivery.key, delivery.attempts) == ("d00", 2)


def test_a_post_whose_claim_was_not_answered_is_claimed_again(joined: Store) -> None:
    """Else its channel is mute until the process ends."""
    with lost_answer(joined.engine):
        joined.outbox.claim(NINE)

    post = joined.outbox.claim(NINE)

    assert (post.key, post.tries) == ("p00", 2)


def test_what_is_worked_on_is_not_given_back(joined: Store) -> None:
    """Another thread's claim raised meanwhile: what is in hand stays there."""
    assert joined.inbox.claim(NINE) is not None
    assert joined.outbox.claim(NINE) is not None
    joined.inbox.put(Delivery(key="d01", kind="command", payload="{}", received_at=NINE))
    with lost_answer(joined.engine):
        joined.inbox.claim(NINE)

    again = joined.inbox.claim(NINE)

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
    give_back(joined.engine, None)
    second = joined.inbox.claim(NINE)
    assert second is not None

    with joined.inbox.tied(first), pytest.raises(CouldNotKeep, match="Another process now works on this request"):
        story.says(NoteAdded(text="typed once"), by=ANA)
    with joined.inbox.tied(second):
        story.says(NoteAdded(text="typed once"), by=ANA)

    notes = [entry for entry in joined.journal.entries(story.id, 0) if isinstance(entry.body, NoteAdded)]
    assert len(notes) == 1


MINUTE = timedelta(minutes=1)


class Machine:
    """A machine whose clock is off."""

    def __init__(self, ahead: timedelta = timedelta()) -> None:
        self.ahead = ahead

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.mark.parametrize(("ahead", "found"), [(MINUTE, "ahead of"), (-MINUTE, "behind")])
def test_a_machine_whose_clock_is_off_does_not_open_a_shared_record(
    postgres: Postgres, ahead: timedelta, found: str
) -> None:
    """It would end a hold or a proposal early, or too late."""
    url = postgres.new_database()

    with pytest.raises(BadConfiguration, match=f"60.0 s {found} the database's") as refused:
        open_store(url, machine=Machine(ahead))

    assert "NTP" in refused.value.remedy


def test_a_machine_whose_clock_is_set_works_no_more_until_it_is_right(postgres: Postgres) -> None:
    """Another one takes over, or it goes on by itself."""
    machine = Machine()
    with closing(open_store(postgres.new_database(), machine=machine)) as store:
        _fill(store, keys=2)
        store.inbox.claim(NINE)

        machine.ahead = MINUTE
        with pytest.raises(CouldNotKeep, match="clock is off"):
            store.inbox.claim(NINE)
        mine = store.presence.is_leader()
        machine.ahead = timedelta()

        assert not mine
        assert store.inbox.claim(NINE).key == "d01"


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
