"""A JobManager comes back without its memory in the middle of a stop: people settle what nobody else can tell."""

import pytest

from bot.domain.errors import OutcomeUnknown
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId, JobId
from bot.ports import Stopped
from bot.workspace import SeenMessage
from tests.slack.little_bot import Cluster, LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder, eventually

WL = IncidentId("wl-1")


@pytest.fixture
def unknown(collected: SeenMessage, ana: Responder, ben: Responder, flink: Cluster) -> SeenMessage:
    """A rewind whose stop got no answer, of a run that Flink does not know any more."""
    stop = flink.stop

    def lost(job: str, job_id: JobId, **how: bool) -> Stopped:
        stop(job, job_id, **how)
        flink.forgets(job_id)
        raise OutcomeUnknown("Flink did not answer.", "Expected an answer; the connection was cut.", "Look.")

    flink.stop = lost  # type: ignore[method-assign]
    ben.clicks("Approve", ana.proposes())
    execute = ana.sees_on_proposal("Execute")
    ana.answer_to(lambda: ana.clicks("Execute", execute))
    return ana.sees_on_proposal("Settle: it happened…")


def test_an_approver_settles_that_it_happened_and_the_execution_goes_on(
    unknown: SeenMessage, ana: Responder, ben: Responder, orders: Orders
) -> None:
    """The message says what can be seen; the proposer is refused; afterwards it shows who said what, and why."""
    ana.clicks("Settle: it happened…", unknown)
    own = ana.answer_to(lambda: ana.fills_reason("It is gone."))
    ben.clicks("Settle: it happened…", unknown)
    settled = ben.answer_to(lambda: ben.fills_reason("No process of it on any host."))
    shown = ana.sees_on_proposal("and verified at head")

    assert "Flink does not know run bbbbbb any more, and no history server is configured." in unknown.plain
    assert "an approver settles it with the buttons on the proposal" in unknown.plain
    assert "somebody else must settle whether it happened" in own
    assert settled == "Settled: it happened. The execution continues; follow it in the proposal's thread."
    assert "Step 2 happened, settled by @Ben Okafor at" in shown.plain
    assert "No process of it on any host." in shown.plain
    assert orders.positions == list(range(70))


def test_an_approver_settles_that_it_did_not_happen_and_something_else_can_be_proposed(
    unknown: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, orders: Orders
) -> None:
    """Before that a second proposal is refused with the way out; the execution ends, and nothing is repeated."""
    head = orders.head
    offered = ana.card.buttons
    refused = ana.asks("propose rewind_table_and_job")
    ben.clicks("Settle: it did not happen…", unknown)
    settled = ben.answer_to(lambda: ben.fills_reason("It writes on, under the old JobManager."))
    shown = ana.sees_on_proposal("Refused at execution")

    assert "Nothing can be proposed while the outcome of" in refused
    assert "settles it with the buttons on the proposal" in refused
    assert "Propose again" not in offered
    assert "Settled: it did not happen. The execution has ended" in settled
    assert "It writes on, under the old JobManager." in shown.plain
    assert "Settle" not in " ".join(shown.buttons)
    view = bot.services.store.get(WL).current_proposal
    assert view is not None
    eventually(lambda: view.state is ProposalState.REFUSED)
    assert orders.head == head
    assert "Nothing can be proposed while" not in ana.asks("propose rewind_table_and_job")
