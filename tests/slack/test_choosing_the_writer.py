"""People say in Slack which of two writers stays: by a button of the proposal, or by a word of the command."""

import pytest

from bot.domain.diagnosis import Diagnosis, Matches, Mode, ModeResult, Remedy
from bot.domain.effects import StopFork
from bot.domain.entries import Diagnosed
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId
from bot.domain.journal import WATERLINE
from bot.workspace import SeenMessage
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder
from tests.tables import job

WL1 = IncidentId("wl-1")


@pytest.fixture
def forked(collected: SeenMessage, bot: LittleBot) -> None:
    """A second run is alive; the diagnosis takes run b for the fork."""
    bot.flink.submit(job("a"), at_checkpoint=6)
    mode = Mode(code="F0", name="told", title="told by the test", needs=(), false_positives=(), neighbours=())
    fork = Matches(
        headline="Two runs write.", reasons=(), rows=(), last_good=None, wrong_run=job("b"), remedy=Remedy.RESOLVE_FORK
    )
    told = Diagnosed(diagnosis=Diagnosis(results=(ModeResult(mode=mode, examined=fork),)))
    bot.services.store.write(WL1, by=WATERLINE, decide=lambda _incident: [told])


@pytest.mark.usefixtures("forked")
def test_the_other_run_is_kept_by_a_click(ana: Responder, ben: Responder, bot: LittleBot) -> None:
    """The first proposal is turned down and the other is made, both by who clicked; somebody else approves."""
    ana.types("/waterline propose resolve_fork", "orders-oncall")
    asked = ana.sees_on_proposal("Keep run bbbbbb instead")
    told = ben.answer_to(lambda: ben.clicks("Keep run bbbbbb instead", asked))
    first, second = bot.services.store.get(WL1).proposals.values()

    assert told == "Rejected. The new proposal keeps run bbbbbb. Somebody else must approve it."
    assert (ProposalState.REJECTED, ProposalState.PROPOSED) == (first.state, second.state)
    [stop] = [effect for effect in second.proposal.effects if isinstance(effect, StopFork)]
    assert (job("a"), job("b")) == (stop.job_id, stop.keeps)
    assert second.proposal.proposed_by == first.ended_by


@pytest.mark.usefixtures("forked")
def test_where_the_other_stop_cannot_be_proposed_the_no_is_told(ana: Responder, ben: Responder, bot: LittleBot) -> None:
    """Nobody takes the rejection for a proposal; what to type then proposes it."""
    ana.types("/waterline propose resolve_fork", "orders-oncall")
    asked = ana.sees_on_proposal("Keep run bbbbbb instead")
    bot.flink.is_down = True
    told = ben.answer_to(lambda: ben.clicks("Keep run bbbbbb instead", asked))
    states = [view.state for view in bot.services.store.get(WL1).proposals.values()]
    bot.flink.is_down = False
    ben.types("/waterline propose resolve_fork keep=bbbbbb", "orders-oncall")
    ben.sees_on_proposal("Keep run aaaaaa instead")

    assert [ProposalState.REJECTED] == states
    assert "is rejected, but nothing else is proposed yet" in told
    assert "type /waterline propose resolve_fork keep=bbbbbb" in told


@pytest.mark.usefixtures("forked")
def test_the_run_to_keep_is_named_in_the_command(ana: Responder, bot: LittleBot) -> None:
    """By its first digits; an action that chooses none says so."""
    refused = ana.answer_to(lambda: ana.types("/waterline propose take_savepoint keep=bbbb", "orders-oncall"))
    ana.types("/waterline propose resolve_fork keep=bbbb it has the newer code", "orders-oncall")
    ana.sees_on_proposal("Keep run aaaaaa instead")
    incident = bot.services.store.get(WL1)

    assert "does not choose between runs" in refused
    assert incident.kept_run == job("b")
