"""Planned work puts no table in doubt: nobody is warned, the mark stays away, until something is found."""

from datetime import timedelta

import pytest

from bot.incident.trust import Basis, TrustState
from bot.observation.ids import IncidentId
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder, eventually
from tests.tables import ORDERS

WL = IncidentId("wl-1")


@pytest.fixture
def planned(ana: Responder, bot: LittleBot) -> IncidentId:
    """A savepoint, planned in work that was opened for it."""
    ana.clicks("Plan a savepoint…", ana.opens_planned_work())
    ana.reads_form()
    ana.fills({"reason": "New pricing.", "before": "1.4", "after": "1.5"})
    ana.answer_to(ana.submits)
    ana.sees_on_card("planned work, no known problem")
    bot.clock.advances(timedelta(minutes=5))
    settles(bot)
    return WL


def settles(bot: LittleBot) -> None:
    """Every duty is looked at once, to its end."""
    bot.services.reconciler.reconcile_all()
    eventually(lambda: not bot.services.background._under_way)


@pytest.mark.smoke
def test_nobody_is_warned_of_planned_work(
    planned: IncidentId, ana: Responder, dana: Responder, orders: Orders, bot: LittleBot
) -> None:
    """Consumers go on reading; engines and pipelines are told the same as before."""
    trust = bot.services.trust.trust(ORDERS)

    assert dana.messages("revenue-analytics") == []
    assert (orders.waterline, orders.status) == (None, None)
    assert (trust.state, trust.basis) == (TrustState.TRUSTED, Basis.NEVER_QUESTIONED)
    assert "planned work, no known problem" in ana.asks("status")
    assert bot.services.store.get(planned).notices == {}


def test_what_is_found_on_the_way_is_told_like_any_incident(
    planned: IncidentId, dana: Responder, orders: Orders, bot: LittleBot
) -> None:
    """The first copies that are counted mark the table; after the usual minutes its consumers are warned."""
    bot.services.evidence.run_now(planned, "duplicate_rows", None)
    settles(bot)
    trust = bot.services.trust.trust(ORDERS)
    before = dana.messages("revenue-analytics")
    bot.clock.advances(timedelta(minutes=2))
    settles(bot)
    dana.sees("under review", "revenue-analytics")

    assert before == []
    assert orders.status == "under-review"
    assert (trust.state, trust.snapshot) == (TrustState.UNDER_REVIEW, orders.commit_of("a", 5))
    assert trust.incident == planned


def test_planned_work_that_is_opened_like_an_incident_says_what_it_is(
    ana: Responder, dana: Responder, bot: LittleBot
) -> None:
    """It stands last among the symptoms; no preview of a warning follows it."""
    ana.opens_form()
    symptoms = str(ana.modal.blocks)
    ana.fills({"runbook": "planned-savepoint"})
    ana.submits()
    told = ana.reads_form()

    assert symptoms.index("A savepoint before an upgrade") > symptoms.index("Two writers on one table")
    assert "wl-1 is open, as planned work" in told
    assert "planned work, no known problem" in ana.sees_on_card("planned work, no known problem").plain
    assert dana.messages("revenue-analytics") == []
