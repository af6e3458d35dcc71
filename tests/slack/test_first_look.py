"""What the bot looks at of its own accord, before anybody asks."""

import threading
from functools import partial

import pytest

from bot.incident.entries import Body, StepDone
from bot.incident.incident import Incident
from bot.incident.runbook import DecisionStep
from bot.observation.ids import IncidentId, UserId
from bot.service.runbook_steps import current_step
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import PATIENCE_S, Responder, eventually

WL_1 = IncidentId("wl-1")


@pytest.fixture
def looks_first() -> bool:
    """As `waterline serve` does."""
    return True


@pytest.mark.smoke
def test_an_incident_comes_to_the_proposal_without_a_click(ana: Responder, bot: LittleBot) -> None:
    """One message tells what reads no rows, trouble first; then rows are read; then it is named. Nothing changes."""
    before = bot.flink.calls

    ana.opens()
    named = ana.sees_on_card("Propose")

    answers = ana.sees("As of ").plain
    assert "Evidence: 2 troubles found" in answers
    assert "Duplicate rows: " in answers
    assert 1 == sum("Evidence: " in reply.plain for reply in ana.card.replies)
    assert "F2: " in named.plain
    incident = bot.services.store.get(WL_1)
    first = [run for run in incident.runs.values() if run.is_first_look]
    later = [run for run in incident.runs.values() if run.step is not None and not run.is_first_look]
    assert "ledger" in {run.task for run in first}
    assert not {run.task for run in first if bot.services.tasks[run.task].reads in {"listing", "rows"}}
    assert ["duplicate_rows", "missing_positions"] == sorted(run.task for run in later)
    assert not incident.proposals
    assert bot.flink.calls == before


def test_a_diagnosis_looks_again_when_the_table_has_moved_on(ana: Responder, bot: LittleBot, orders: Orders) -> None:
    """What was seen at opening is not taken for what is there now."""
    ana.opens()
    ana.sees("Evidence: ")
    orders.spark_appends()

    bot.services.diagnostician.diagnose(WL_1)

    ledger = bot.services.store.get(WL_1).latest["ledger"].evidence
    assert ledger is not None
    assert ledger.head == orders.head


def test_who_asks_while_a_diagnosis_is_made_gets_that_one(
    ana: Responder, ben: Responder, bot: LittleBot, orders: Orders
) -> None:
    """Both are answered at once, and nobody else waits; one look is taken, and one end is told."""
    ana.opens()
    card = ana.collects_evidence()
    orders.spark_appends()
    looks: list[str] = []
    go_on = threading.Event()

    def look(_incident: IncidentId) -> None:
        looks.append("looked")
        go_on.wait(3 * PATIENCE_S)

    bot.services.diagnostician.look_first = look

    first = ana.answer_to(lambda: ana.clicks("Diagnose again", card))
    second = ben.answer_to(lambda: ben.clicks("Diagnose again", card))
    other = ben.answer_to(lambda: ben.clicks("Take over", card))
    looking = bot.services.store.get(WL_1).diagnosis_asked
    go_on.set()
    eventually(lambda: bot.services.store.get(WL_1).diagnosis_asked is None)

    assert "Checking the table and the job." in first
    assert "Checking the table and the job." in second
    assert "You are the responder" in other
    assert looking is not None
    assert ["looked"] == looks
    assert ["diagnosis-ended"] == [kind for kind in kinds(bot) if kind == "diagnosis-ended"]


def test_a_diagnosis_that_was_asked_for_before_a_crash_is_made_after_it(ana: Responder, bot: LittleBot) -> None:
    """The request is on record; each start and each look around finds what is owed, and does it once."""
    ana.opens()
    ana.sees("Evidence: ")
    bot.services.diagnoses.request(WL_1, by=UserId(ana.id))

    bot.restart()
    bot.services.reconciler.reconcile_all()
    eventually(lambda: bot.services.store.get(WL_1).diagnosis_asked is None)
    bot.services.reconciler.reconcile_all()

    ana.sees("F2: Run")
    assert ["diagnosis-requested", "diagnosis-ended"] == [kind for kind in kinds(bot) if kind.startswith("diagnosis-")]


def test_a_step_that_needs_nobody_is_taken_after_a_crash_before_it(ana: Responder, bot: LittleBot) -> None:
    """A kill between the end of one step and the automatic next one leaves nothing to be clicked."""
    ana.opens()
    runbook = bot.services.store.get(WL_1).opened.runbook
    decision = next(step for step in runbook.steps if isinstance(step, DecisionStep) and step.on == "remedy")
    for step in runbook.steps[: runbook.steps.index(decision)]:
        done = StepDone(step=step.id, key="confirmed", why="as a killed bot left it")
        bot.services.store.write(WL_1, by="waterline", decide=partial(says, done))
    assert current_step(bot.services.store.get(WL_1)) == decision

    bot.services.reconciler.reconcile_all()
    eventually(lambda: decision.id in bot.services.store.get(WL_1).outcomes)
    bot.services.reconciler.reconcile_all()
    bot.close()

    ends = [entry.body for entry in bot.services.store.get(WL_1).entries if isinstance(entry.body, StepDone)]
    assert [decision.id] == [end.step for end in ends if end.step == decision.id]


def test_a_closed_incident_owes_no_diagnosis(ana: Responder, bot: LittleBot) -> None:
    """Who asked and then closed it is told nothing more, and no step is taken."""
    ana.opens()
    bot.services.diagnoses.request(WL_1, by=UserId(ana.id))
    ana.asks("close A false alarm.")
    eventually(lambda: not bot.services.store.get(WL_1).is_open)
    closed = kinds(bot).index("incident-closed")

    bot.services.diagnoses.diagnose_due(WL_1)

    assert not {"diagnosed", "diagnosis-ended", "step-done"} & set(kinds(bot)[closed:])


def says(body: Body, _incident: Incident) -> list[Body]:
    """One entry."""
    return [body]


def kinds(bot: LittleBot) -> list[str]:
    """Of the incident's entries."""
    return [entry.body.kind for entry in bot.services.store.get(WL_1).entries]
