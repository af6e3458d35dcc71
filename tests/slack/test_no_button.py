"""What people have to stop by hand has no button; that of the next fault stays."""

import pytest

from bot.diagnosis import another_writer_changed_rows
from bot.domain.diagnosis import Diagnosis, Matches, ModeResult, Remedy
from bot.domain.entries import Diagnosed
from bot.domain.ids import IncidentId
from bot.domain.journal import WATERLINE
from bot.workspace import SeenMessage
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder

WL = IncidentId("wl-1")
FIRST = "F21 matches as well. Act on it before this is approved: stop the other writer"


@pytest.fixture
def beside(collected: SeenMessage, ana: Responder, orders: Orders, bot: LittleBot) -> None:
    """Another engine wrote (F21) above a restore from an older savepoint (F2); the evidence knows it."""
    orders.spark_appends()
    for task in ("ledger", "checkpoint_pairing"):
        bot.services.desk.run_now(WL, task, None)
    ana.clicks("Diagnose again", ana.card)
    ana.sees("Act on F21, then F2")


def test_where_there_is_no_button_the_walk_goes_on_to_what_people_do(
    collected: SeenMessage, ana: Responder, bot: LittleBot
) -> None:
    """Another engine wrote, and nothing else is wrong: stopping it is nothing that Waterline can do, and the card says
    so at once."""
    match = Matches(
        headline="Another engine wrote.", reasons=(), rows=(), last_good=None, wrong_run=None,
        remedy=Remedy.STOP_CULPRIT,
    )  # fmt: skip
    only = Diagnosis(results=(ModeResult(mode=another_writer_changed_rows.MODE, examined=match),))
    bot.services.store.write(WL, by=WATERLINE, decide=lambda _incident: [Diagnosed(diagnosis=only)])
    bot.services.diagnoses.settle(WL)

    card = ana.sees_on_card("Do what the diagnosis asks, by hand")

    assert "Waterline has no action for “stop the other writer, then decide which of its changes stay”" in card.plain


@pytest.mark.usefixtures("beside")
def test_the_button_proposes_what_the_next_fault_asks_for(ana: Responder) -> None:
    """It was hidden behind the fault without one. The rows of the other writer are asked about, as ever."""
    card = ana.card

    refused = ana.answer_to(lambda: ana.clicks("Propose", card))

    assert "drop_others=yes" in refused


@pytest.mark.usefixtures("beside")
def test_who_approves_it_reads_what_comes_first(ana: Responder, bot: LittleBot) -> None:
    """The order is told in the preview, too."""
    ana.types("/waterline propose rewind_table_and_job drop_others=yes", "orders-oncall")
    ana.sees_on_proposal("Approve")

    [view] = bot.services.store.get(WL).proposals.values()
    assert any(sentence.startswith(FIRST) for sentence in view.proposal.preview.sentences)
