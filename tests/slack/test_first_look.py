"""What the bot looks at of its own accord, before anybody asks."""

import threading

import pytest

from bot.domain.ids import IncidentId
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder

WL_1 = IncidentId("wl-1")


@pytest.fixture
def looks_first() -> bool:
    """As `waterline serve` does."""
    return True


def test_what_reads_no_rows_is_looked_at_when_the_incident_opens(ana: Responder, bot: LittleBot) -> None:
    """One message tells all of it, the trouble first; rows are read only when somebody asks."""
    ana.opens()

    told = ana.sees("First look, without reading rows")

    ana.sees("As of ")
    asked = {run.task for run in bot.services.store.get(WL_1).runs.values()}
    assert "*Ledger*" in told.plain or "Ledger" in told.plain
    assert "ledger" in asked
    assert not {task for task in asked if bot.services.tasks[task].reads in {"listing", "rows"}}


def test_a_diagnosis_looks_again_when_the_table_has_moved_on(ana: Responder, bot: LittleBot, orders: Orders) -> None:
    """What was seen at opening is not taken for what is there now."""
    ana.opens()
    ana.sees("First look, without reading rows")
    orders.spark_appends()

    bot.services.diagnostician.diagnose(WL_1)

    ledger = bot.services.store.get(WL_1).latest["ledger"].evidence
    assert ledger is not None
    assert ledger.head == orders.head


def test_who_asks_while_a_diagnosis_is_made_gets_that_one(ana: Responder, bot: LittleBot, orders: Orders) -> None:
    """A second diagnosis that ends later would take the step anew, under a proposal that rests on the first."""
    ana.opens()
    ana.collects_evidence()
    orders.spark_appends()
    looks: list[str] = []
    looking, go_on = threading.Event(), threading.Event()

    def look(_incident: IncidentId) -> None:
        looks.append("looked")
        looking.set()
        go_on.wait(10)

    bot.services.diagnostician.look_before(look)
    both = [threading.Thread(target=bot.services.walker.diagnose_again, args=(WL_1,)) for _ in range(2)]

    both[0].start()
    looking.wait(10)
    both[1].start()
    threading.Event().wait(0.3)
    go_on.set()
    for each in both:
        each.join(20)

    assert ["looked"] == looks
