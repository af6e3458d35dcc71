"""A click that had written something before it was cut off is carried out all the same, once."""

import dataclasses
import json
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from bot.adapters.journal_sql.store import Store
from bot.domain.approval import ApprovalPolicy, VetoRule
from bot.domain.effects import StopFork
from bot.domain.entries import Body
from bot.domain.errors import CouldNotKeep
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId, ProposalId, UserId
from bot.domain.journal import Entry
from bot.ports import Delivery, Journal
from bot.slack.ids import Click
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually
from tests.slack.test_choosing_the_writer import forked
from tests.tables import job

WL1 = IncidentId("wl-1")
BEN, FINN = UserId("U0BEN00002"), UserId("U0FINN0006")
HOLD = timedelta(minutes=5)
HELD = ApprovalPolicy(users=(BEN,), expires_after=timedelta(hours=1), veto=VetoRule(users=(FINN,), hold=HOLD))
__all__ = ["forked"]


class Cut:
    """A record that does not take what is of one kind and says one word, once or for as long as the process lives."""

    def __init__(self, journal: Journal, kind: str, word: str, *, for_good: bool) -> None:
        self._journal, self._kind, self._word, self._for_good = journal, kind, word, for_good
        self.came = threading.Event()

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        """See the port."""
        is_cut = self._for_good or not self.came.is_set()
        if is_cut and any(body.kind == self._kind and self._word in body.model_dump_json() for body in bodies):
            self.came.set()
            raise CouldNotKeep("Waterline's record cannot be written now.", "The disk is broken.", "")
        return self._journal.append(incident, after_seq, bodies, by=by, at=at)

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)


class Interruption:
    """Cuts a click off before an entry: by a disk that recovers, or by the end of the process."""

    def __init__(self, bot: LittleBot, slack: Workspace, *, dies: bool) -> None:
        self._bot, self._slack, self._dies = bot, slack, dies
        self._cut: Cut

    def comes_before(self, kind: str, word: str = "") -> None:
        """The bot, started anew, will be cut off before it writes such an entry."""

        def change(store: Store) -> Store:
            self._cut = Cut(store.journal, kind, word, for_good=self._dies)
            return dataclasses.replace(store, journal=self._cut)  # type: ignore[arg-type]

        self._bot.close()
        eventually(lambda: self._slack.connected == 0)
        self._bot.start(change)
        eventually(lambda: self._slack.connected == 1)

    def passes(self) -> None:
        """It was cut off; then the record can be written again."""
        assert self._cut.came.wait(45)
        if self._dies:
            self._bot.close()
            self._bot.start()


@pytest.fixture(params=["broken disk", "dies"])
def interruption(request: pytest.FixtureRequest, bot: LittleBot, slack: Workspace) -> Interruption:
    """Both take the same path."""
    return Interruption(bot, slack, dies=request.param == "dies")


@pytest.mark.parametrize("policy", [HELD])
def test_what_was_held_is_begun(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, interruption: Interruption
) -> None:
    """The click's own look had written that the hold is over; it is begun nevertheless, and who clicked hears so."""
    ben.clicks("Approve", ana.proposes())
    held = ana.sees_on_proposal(":hourglass_flowing_sand: Approved")
    view = bot.services.store.get(WL1).current_proposal
    assert view is not None
    interruption.comes_before("execution-started")
    bot.clock.advances(HOLD)

    told = ana.answer_to(lambda: (executes(bot, ana, held, view.proposal.id), interruption.passes()))

    assert "Started." in told


def executes(bot: LittleBot, ana: Responder, message: SeenMessage, proposal: ProposalId) -> None:
    """A click that comes before the message shows the end of the hold has no button yet: it is put where clicks come
    in."""
    body = {
        "type": "block_actions", "user": {"id": ana.id}, "channel": {"id": message.channel}, "trigger_id": "t1",
        "actions": [{"action_id": Click.EXECUTE, "value": f"{WL1}/{proposal}", "action_ts": "1"}], "container": {},
    }  # fmt: skip
    click = Delivery(key="click", kind="block_actions", payload=json.dumps(body), received_at=bot.clock.now())
    assert bot.store.inbox.put(click)


@pytest.mark.usefixtures("forked")
def test_the_other_run_is_proposed(ana: Responder, ben: Responder, bot: LittleBot, interruption: Interruption) -> None:
    """The no was written; the other stop is proposed nevertheless, once."""
    ana.types("/waterline propose resolve_fork", "orders-oncall")
    asked = ana.sees_on_proposal("Keep run bbbbbb instead")
    interruption.comes_before("proposal-made")

    told = ben.answer_to(lambda: (ben.clicks("Keep run bbbbbb instead", asked), interruption.passes()))

    first, second = bot.services.store.get(WL1).proposals.values()
    [stop] = [effect for effect in second.proposal.effects if isinstance(effect, StopFork)]
    assert "Rejected. The new proposal keeps run bbbbbb." in told
    assert (ProposalState.REJECTED, ProposalState.PROPOSED) == (first.state, second.state)
    assert job("b") == stop.keeps


def test_what_looks_first_is_proposed(ana: Responder, bot: LittleBot, interruption: Interruption) -> None:
    """The evidence that it collects by itself was asked for; whoever proposed hears what became of the proposal."""
    ana.opens()
    interruption.comes_before("evidence-recorded")

    told = ana.answer_to(
        lambda: (ana.types("/waterline propose trust_present_state it is right"), interruption.passes())
    )

    assert "The table cannot be trusted as it is. The newest evidence says: 20 keys live more than once." in told


def test_a_freeze_is_made(collected: SeenMessage, ana: Responder, bot: LittleBot, interruption: Interruption) -> None:
    """That it is to be made was written; it is made nevertheless, and who asked hears so."""
    interruption.comes_before("maintenance-marked", '"status":"frozen"')

    told = ana.answer_to(lambda: (ana.types("/waterline freeze"), interruption.passes()))

    assert "Maintenance of sales.orders is frozen until wl-1 is closed" in told
