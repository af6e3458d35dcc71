"""Who works on one PostgreSQL goes by its clock, whatever the own machine's shows."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from bot.adapters.journal_sql import Store, open_store
from bot.adapters.journal_sql.database_clock import TOLERATED, DatabaseClock
from bot.bootstrap import build
from bot.cli.doctor import clock_beside_record
from bot.cli.options import NobodyThere
from bot.domain.approval import VetoRule
from bot.domain.entries import ProposalMade
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId
from bot.service.approving import Approvals
from bot.service.incident_store import IncidentStore
from bot.settings import Settings
from tests.approval.desk import ANA, DANA
from tests.approval.test_at_once import CROWD, POLICY, NoGroups, World
from tests.decisions import PROPOSAL, rewind
from tests.incidents import Story
from tests.postgres import Postgres

MINUTE = timedelta(minutes=1)
HALF = VetoRule(users=(DANA,), hold=MINUTE / 2)
WL = IncidentId("wl-1")


class Machine:
    """A machine whose clock is off."""

    def __init__(self, ahead: timedelta = timedelta()) -> None:
        self.ahead = ahead

    def now(self) -> datetime:
        """See the port."""
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
