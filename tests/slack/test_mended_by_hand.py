"""What people mend by hand is trusted when it is proven, and not before."""

import pytest

from bot.domain.ids import IncidentId
from bot.domain.trust import TrustState
from bot.workspace import SeenMessage
from tests.little_flink import JOB
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder
from tests.tables import ORDERS, job

WL = IncidentId("wl-1")
PROPOSE = "propose trust_present_state Ben and I took the copies out by hand."


@pytest.fixture
def by_hand(collected: SeenMessage, orders: Orders, bot: LittleBot) -> IncidentId:
    """The wrong run is stopped and its copies are gone; Waterline did none of it. Two consumers read, one too early."""
    orders.read_by("revenue_daily", "run-7", orders.head)
    bot.flink.stop(JOB, job("b"))
    orders.read_by("fraud_model", "run-9", orders.somebody_mends())
    return WL


def test_nobody_is_told_that_it_recovered_before_it_is_proven(by_hand: IncidentId, ana: Responder) -> None:
    """The refusal names the way."""
    ana.opens_form("tell recovered")

    assert "The table is not verified yet" in ana.modal.plain
    assert "/waterline propose trust_present_state" in ana.modal.plain


def test_a_repair_by_hand_is_proven_approved_and_told(
    by_hand: IncidentId, ana: Responder, ben: Responder, dana: Responder, eli: Responder, orders: Orders, bot: LittleBot
) -> None:
    """The same evidence, another person's yes, the waterline on the proven head, and then the all-clear: whoever read
    the copies is asked to run again, and nobody else."""
    for task in ("duplicate_rows", "missing_positions"):
        bot.services.desk.run_now(by_hand, task, None)
    ana.types(f"/waterline {PROPOSE}")
    asked = ana.sees_on_proposal("Trust the table as it is")
    ben.clicks("Approve", asked)
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    ana.sees_on_card("(trusted)")
    ana.opens_form("tell recovered")
    ana.submits()
    told = dana.sees("is verified again", "revenue-analytics")
    other = eli.sees("is verified again", "fraud-ml")
    trust = bot.services.trust.trust(ORDERS)

    assert "Neither main nor the job is changed." in asked.plain
    assert "took the copies out by hand" in asked.plain
    assert (orders.waterline, orders.status) == (orders.head, "trusted")
    assert (trust.state, trust.snapshot) == (TrustState.TRUSTED, orders.head)
    assert "run-7" in told.plain
    assert "Please run again: revenue_daily read rows that were wrong." in told.plain
    assert "You need not do anything." in other.plain


def test_a_table_that_still_counts_copies_cannot_be_trusted(collected: SeenMessage, ana: Responder) -> None:
    """The evidence at hand is named, and what to do."""
    told = ana.asks(PROPOSE)

    assert "The table cannot be trusted as it is." in told
    assert "run this evidence again" in told
