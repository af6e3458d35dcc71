"""Several bots on one record: one works, the others stand by, and all go by one clock."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from bot.adapters.journal_sql import Store, open_store
from bot.adapters.journal_sql.engine import TOLERATED, DatabaseClock
from bot.adapters.journal_sql.membership import give_back
from bot.bootstrap import build
from bot.cli.doctor import clock_beside_record
from bot.cli.options import NobodyThere
from bot.incident.approval import VetoRule
from bot.incident.entries import NoteAdded, ProposalMade
from bot.incident.execution import ProposalState
from bot.observation.errors import BadConfiguration, CouldNotKeep, Refused
from bot.observation.ids import IncidentId
from bot.ports import Delivery, Post
from bot.service.incident_store import IncidentStore
from bot.service.proposals.approving import Approvals
from bot.settings import Settings
from tests.approval.desk import DANA
from tests.approval.test_at_once import CROWD, POLICY, NoGroups, World
from tests.decisions import ANA, PROPOSAL, rewind
from tests.incidents import Story
from tests.journal.replicas import WORK
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
    command = [sys.executable, "-m", "tests.journal.replicas", url]
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
        with store.presence.alone_with(WORK) as while_it_lived:
            pass

        os.kill(process.pid, signal.SIGKILL)
        eventually(store.presence.join_alone)
        delivery, post = store.inbox.claim(NINE), store.outbox.claim(NINE)
        with store.presence.alone_with(WORK) as afterwards:
            pass

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
    with first.presence.alone_with(WORK) as mine, second.presence.alone_with(WORK) as theirs:
        pass

    assert (mine, theirs) == (True, False)


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

    with first.presence.alone_with(WORK) as mine:
        pass
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
HALF = VetoRule(users=(DANA,), hold=MINUTE / 2)
WL = IncidentId("wl-1")


class Machine:
    """A machine whose clock is off."""

    def __init__(self, ahead: timedelta = timedelta()) -> None:
        self.ahead = ahead

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def opened(postgres: Postgres) -> Iterator[Callable[[Machine], Store]]:
    """Replicas on one database, each on a machine of its own."""
    url = postgres.new_database()
    with ExitStack() as stack:
        yield lambda machine: stack.enter_context(closing(open_store(url, machine=machine)))


def approvals_of(store: Store) -> tuple[IncidentStore, Approvals]:
    """What one replica decides with."""
    incidents = IncidentStore(store.journal, store.clock)
    return incidents, Approvals(incidents, World(), NoGroups(), store.clock)  # type: ignore[arg-type]


def proposed(store: Store, term: timedelta, veto: VetoRule | None = None) -> str:
    """Ana proposes now, and so long it can be approved; the digest."""
    policy = POLICY.model_copy(update={"required": 1, "expires_after": term, "veto": veto})
    now = store.clock.now()
    story = Story(store.journal, start=now - timedelta(hours=1)).opens()
    changed = {"policy": policy, "proposed_by": ANA, "expires_at": now + term}
    proposal = rewind(now).model_copy(update=changed)
    story.says(ProposalMade(step=None, proposal=proposal), by=ANA)
    return proposal.digest


def test_a_machine_that_is_a_minute_ahead_ends_no_hold_early(opened: Callable[[Machine], Store]) -> None:
    """The veto has its half minute, whichever replica looks first."""
    right, fast = opened(Machine()), opened(Machine(MINUTE))
    digest = proposed(right, 30 * MINUTE, HALF)
    record, approvals = approvals_of(right)
    approvals.approve(WL, PROPOSAL, digest=digest, by=CROWD[0])

    _record, theirs = approvals_of(fast)
    theirs.settle(WL)
    with pytest.raises(Refused, match="veto window ends"):
        theirs.may_begin(WL, PROPOSAL, CROWD[0])

    assert record.get(WL).proposals[PROPOSAL].state is ProposalState.HELD


def test_a_machine_that_is_a_minute_ahead_ends_no_proposal_early(opened: Callable[[Machine], Store]) -> None:
    """Nor does one that is behind let it be approved a minute too late."""
    right, fast, slow = opened(Machine()), opened(Machine(MINUTE)), opened(Machine(-MINUTE))
    proposed(right, MINUTE / 2)

    approvals_of(fast)[1].settle(WL)

    assert approvals_of(right)[0].get(WL).proposals[PROPOSAL].state is ProposalState.PROPOSED
    for store in (fast, slow):
        assert abs(store.clock.now() - right.clock.now()) < TOLERATED


def test_a_clock_that_is_set_meanwhile_moves_nothing(opened: Callable[[Machine], Store]) -> None:
    """Between two comparisons, too: time goes on by a counter that nobody sets."""
    machine = Machine()
    store = opened(machine)
    before = store.clock.now()

    machine.ahead = MINUTE

    assert timedelta() <= store.clock.now() - before < MINUTE / 2


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux has it")
def test_a_machine_that_slept_knows_how_late_it_is(
    opened: Callable[[Machine], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux's monotonic clock stands still meanwhile: an expired approval would count until the next comparison."""
    clock, real = opened(Machine()).clock, time.clock_gettime
    before = clock.now()

    monkeypatch.setattr(time, "clock_gettime", lambda which: real(which) + 3600 * (which == time.CLOCK_BOOTTIME))

    assert clock.now() - before >= 60 * MINUTE


def test_a_clock_that_is_off_is_told_once(opened: Callable[[Machine], Store]) -> None:
    """And again when it has been right in between."""
    machine = Machine(MINUTE)
    clock = opened(machine).clock
    assert isinstance(clock, DatabaseClock)

    with capture_logs() as told:
        for ahead in (MINUTE, MINUTE, timedelta(), -MINUTE):
            machine.ahead = ahead
            clock.compare()

    assert ["60.0 s ahead of the database's", "60.0 s behind the database's"] == [each["found"] for each in told]


def test_a_comparison_that_took_too_long_is_not_believed(opened: Callable[[Machine], Store]) -> None:
    """Nor does one that fails end anything."""
    machine, seconds = Machine(), iter(range(0, 1000, 5))
    store = opened(machine)
    slow = DatabaseClock(store.engine, machine, counter=lambda: float(next(seconds)))
    machine.ahead = MINUTE

    slow.compare()

    assert abs(slow.ahead) < TOLERATED


def test_what_is_built_on_a_shared_record_goes_by_its_clock(
    opened: Callable[[Machine], Store], tmp_path: object
) -> None:
    """Services, timers and all."""
    store = opened(Machine(MINUTE))
    settings = Settings.model_validate(
        {
            "home": str(tmp_path),
            "catalog": {"name": "lake", "properties": {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db"}},
            "tables": {"sales.orders": {"contract": {}, "policies": {"default": {"users": ["U0BEN00002"]}}}},
        }
    )

    with build(settings, NobodyThere(), record=store) as built:
        assert built.services.clock is store.clock


def test_the_doctor_says_how_far_the_clocks_differ(postgres: Postgres, tmp_path: object) -> None:
    """And nothing where the record is a file on this machine."""
    url = postgres.new_database()

    [right] = clock_beside_record(url)
    [off] = clock_beside_record(url, Machine(MINUTE))
    [away] = clock_beside_record(postgres.url("nowhere"))

    assert right[:2] == ("clock", True)
    assert off[1:3] == (False, "60.0 s ahead of the database's")
    assert "NTP" in off[3]
    assert "did not answer" in away[2]
    assert [] == list(clock_beside_record(f"sqlite:///{tmp_path}/journal.db"))


@pytest.mark.parametrize("url", ["nonsense", "postgres://orders/record"])
def test_an_address_that_names_no_database_is_told_and_not_raised(url: str) -> None:
    """`waterline doctor` goes on with what else it looks at."""
    [(_, is_good, found, to_do)] = clock_beside_record(url)

    assert not is_good
    assert "The record's URL cannot be used." in found
    assert "postgresql+psycopg://" in to_do
