"""Two replicas whose clocks differ work on one record: what stands in it decides, and its times never run back.

On PostgreSQL they go by the database's clock, so that theirs differ by little: `tests/journal/test_replicas.py`.
"""

from datetime import UTC, datetime, timedelta

import pytest

from bot.adapters.journal_sql.store import Store
from bot.incident.approval import VetoRule
from bot.incident.decisions import Approve, Veto
from bot.incident.entries import NoteAdded, ProposalMade
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.journal import WATERLINE
from bot.observation.errors import Refused
from bot.observation.ids import IncidentId
from bot.service.incident_store import IncidentStore
from bot.service.proposals.approving import Approvals
from tests.approval.desk import ANA, DANA
from tests.approval.test_at_once import CROWD, POLICY, Clock, NoGroups, World
from tests.decisions import PROPOSAL, rewind
from tests.incidents import Story

HOLD = timedelta(minutes=5)
TERM = timedelta(minutes=30)
HELD = POLICY.model_copy(update={"required": 1, "expires_after": TERM, "veto": VetoRule(users=(DANA,), hold=HOLD)})


class Replica:
    """A process on the record, whose clock is off by `ahead`."""

    def __init__(self, record: Store, true: Clock, ahead: timedelta) -> None:
        self._true, self._ahead = true, ahead
        self.store = IncidentStore(record.journal, self)
        self.approvals = Approvals(self.store, World(), NoGroups(), self)  # type: ignore[arg-type]

    def now(self) -> datetime:
        """What its clock shows."""
        return self._true.now() + self._ahead

    def yes(self) -> None:
        view = self.view
        self.approvals.act(IncidentId("wl-1"), PROPOSAL, Approve(digest=view.proposal.digest), by=CROWD[0])

    @property
    def view(self) -> ProposalView:
        """The proposal as the record tells it."""
        return self.store.get(IncidentId("wl-1")).proposals[PROPOSAL]


class Pair:
    """One replica is right and made the proposal, the other is ten minutes ahead or behind."""

    def __init__(self, record: Store) -> None:
        self.clock, self.record = Clock(), record
        self.clock.time = datetime(2026, 5, 4, 9, tzinfo=UTC)
        story = Story(record.journal, start=self.clock.time).opens()
        proposal = rewind(self.clock.time).model_copy(update={"policy": HELD, "proposed_by": ANA})
        story.says(ProposalMade(step=None, proposal=proposal), by=ANA)
        self.expires_at = proposal.expires_at
        self.right = Replica(record, self.clock, timedelta())
        self.ahead = Replica(record, self.clock, timedelta(minutes=10))
        self.behind = Replica(record, self.clock, timedelta(minutes=-10))


@pytest.fixture
def pair(record: Store) -> Pair:
    """Nobody has decided."""
    return Pair(record)


def test_what_one_has_expired_the_other_does_not_accept(pair: Pair) -> None:
    """The replica ahead ends it; the one behind, by whose clock there is time, finds it ended, also where it asked
    first."""
    pair.clock.time = pair.expires_at - timedelta(minutes=8)

    assert pair.behind.view.state is ProposalState.PROPOSED
    pair.ahead.approvals.expire_due(IncidentId("wl-1"))

    with pytest.raises(Refused, match="expired"):
        pair.behind.yes()
    assert pair.behind.view.state is ProposalState.EXPIRED
    assert [] == pair.behind.view.approvals


def test_what_one_has_begun_to_decide_late_is_expired_for_both(pair: Pair) -> None:
    """An entry written after the term proves that the term is over, whatever the clock of the replica behind shows."""
    pair.clock.time = pair.expires_at + timedelta(minutes=1)
    pair.right.store.write(IncidentId("wl-1"), by=WATERLINE, decide=lambda _now: [_note()])

    with pytest.raises(Refused, match="expired"):
        pair.behind.yes()
    with pytest.raises(Refused):
        pair.behind.approvals.may_begin(IncidentId("wl-1"), PROPOSAL, CROWD[0])
    assert pair.right.view.state is ProposalState.EXPIRED


def test_a_hold_that_one_behind_begins_is_not_over_for_the_other(pair: Pair) -> None:
    """Counted from no earlier than the entry before it: the veto has its five minutes."""
    pair.behind.yes()

    pair.right.approvals.expire_due(IncidentId("wl-1"))

    assert pair.right.view.state is ProposalState.HELD
    pair.right.approvals.act(IncidentId("wl-1"), PROPOSAL, Veto(reason="Not now."), by=DANA)
    assert pair.behind.view.state is ProposalState.VETOED


def test_times_of_the_record_never_run_back(pair: Pair) -> None:
    """What the one behind writes after the one ahead bears the same time, so each span in between is none or more."""
    for replica in (pair.ahead, pair.behind, pair.right):
        replica.store.write(IncidentId("wl-1"), by=WATERLINE, decide=lambda _now: [_note()])

    times = [entry.at for entry in pair.right.store.get(IncidentId("wl-1")).entries]
    assert sorted(times) == times


def _note() -> NoteAdded:
    return NoteAdded(text="Somebody says something.")
