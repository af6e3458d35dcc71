"""A private incident is shown in its channel, and nowhere else."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from bot.incident.effects import KeepSavepoint
from bot.incident.entries import Body, EffectEnded, ExecutionStarted, ProposalMade, SavepointPlanned
from bot.observation.ids import IncidentId, JobId, UserId
from bot.ports import Delivery
from bot.workspace import SeenMessage
from tests.decisions import PROPOSAL, rewind
from tests.little_flink import JOB
from tests.security.conftest import ANA, QUIET
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import PATIENCE_S, Responder, eventually, is_card
from tests.tables import ORDERS


@pytest.fixture
def private(ana: Responder) -> SeenMessage:
    """The card of a private incident on `sales.orders`, in the private channel."""
    opens_private(ana, QUIET)
    return ana.waits_for(lambda m: is_card(m) and "under review" in m.plain, QUIET, timeout=PATIENCE_S)


def opens_private(who: Responder, channel: str) -> str:
    """Fills the form with the box ticked, and says what it becomes."""
    who.types("/waterline open", channel)
    who.reads_form()
    who.fills({"runbook": "duplicate-rows", "private": ["private"]})
    who.submits()
    told = who.reads_form()
    who.dismisses()
    return told


def test_it_cannot_be_opened_where_everyone_can_read(ana: Responder, bot: LittleBot) -> None:
    """In a public channel nothing is opened, and the form says what to do instead."""
    told = opens_private(ana, "orders-oncall")

    assert "A private incident cannot be opened here." in told
    assert "Create a private channel" in told
    assert bot.services.store.all() == ()


def test_its_form_says_that_nobody_is_told(ana: Responder, bot: LittleBot) -> None:
    """No preview of a warning is pushed at the responder; the form says who sees the incident."""
    told = opens_private(ana, QUIET)

    assert "wl-1 is open, and private" in told
    assert "No consumer was warned" in told
    assert bot.services.store.all()[0].is_private


@pytest.mark.smoke
def test_status_names_it_in_its_own_channel_only(private: SeenMessage, ana: Responder, finn: Responder) -> None:
    """Elsewhere one learns that the table is under review, which the table says itself, and no more."""
    invited, outsider = ana.asks("status", QUIET), finn.asks("status")
    home = ana.home()

    assert "wl-1 sales.orders" in invited
    assert outsider.startswith("sales.orders: under review since")
    assert "a private incident" in outsider.lower()
    assert "wl-1" not in outsider
    assert len(outsider.splitlines()) == 1
    assert "wl-1" not in home.plain
    assert QUIET not in home.plain + str(home.blocks)


def test_opening_a_second_one_tells_neither_id_nor_channel(private: SeenMessage, finn: Responder) -> None:
    """The table has one incident at a time: that there is one is told, and whom to ask."""
    finn.opens_form()

    assert "An incident is open on sales.orders already." in finn.modal.plain
    assert "ask its owners to invite you" in finn.modal.plain
    assert "wl-1" not in finn.modal.plain


def test_consumers_are_not_told_unless_somebody_asks(
    private: SeenMessage, ana: Responder, dana: Responder, bot: LittleBot, orders: Orders
) -> None:
    """No timer warns them; the mark on the table stands all the same; a responder who asks is obeyed."""
    bot.clock.advances(timedelta(hours=1))
    bot.services.reconciler.reconcile_all()
    eventually(lambda: orders.status == "under-review")
    unasked = dana.messages("revenue-analytics")

    ana.clicks("Warn consumers…", private)
    ana.reads_form()
    ana.submits()
    dana.sees("under review", "revenue-analytics")

    assert unasked == []


@pytest.mark.parametrize("action", ["take-incident", "export-record", "diagnose", "plan-savepoint"])
def test_a_click_from_outside_finds_no_such_incident(
    private: SeenMessage, finn: Responder, bot: LittleBot, action: str
) -> None:
    """A button that reached somebody else (a copied message, a forged request) is answered as for an unknown id."""
    before = bot.services.store.get(IncidentId("wl-1")).seq

    told = finn.answer_to(lambda: bot.store.inbox.put(forged(finn.id, action, "wl-1", bot)))
    unknown = finn.answer_to(lambda: bot.store.inbox.put(forged(finn.id, action, "wl-9", bot)))

    assert told == unknown.replace("wl-9", "wl-1")
    assert "There is no incident wl-1." in told
    assert bot.services.store.get(IncidentId("wl-1")).seq == before


def forged(user: str, action: str, incident: str, bot: LittleBot) -> Delivery:
    """A click that Slack's screen would not have offered this person."""
    body = {
        "type": "block_actions",
        "user": {"id": user},
        "channel": {"id": "C0ONCALL01"},
        "actions": [{"action_id": action, "value": incident}],
        "trigger_id": f"{action}.{incident}",
    }
    key = f"block_actions/{action}.{incident}"
    return Delivery(key=key, kind="block_actions", payload=json.dumps(body), received_at=bot.clock.now())


def test_the_list_of_savepoints_tells_outsiders_no_plan_of_it(
    private: SeenMessage, ana: Responder, finn: Responder, bot: LittleBot
) -> None:
    """Which point pairs with which snapshot everybody reads who may have to restore the job."""
    plan = SavepointPlanned(
        reason="A breach.", code_before="1.4", code_after="1.5",
        until=datetime.now(UTC) + timedelta(days=2),
    )  # fmt: skip
    effect = KeepSavepoint(table=ORDERS, job=JOB, job_id=JobId("a" * 32), tagged="20261103", plan=plan)
    result = {"savepoint": "s3://flink/s-9", "checkpoint": "9", "snapshot": "1", "tag": "savepoint-9", "code": "1.4"}
    made: list[Body] = [
        ProposalMade(step=None, proposal=rewind(datetime.now(UTC)).model_copy(update={"effects": (effect,)})),
        ExecutionStarted(proposal=PROPOSAL),
        EffectEnded(proposal=PROPOSAL, index=0, how="done", detail="Kept.", result=result),
    ]
    bot.services.store.write(IncidentId("wl-1"), by=UserId(ANA), decide=lambda _now: made)

    invited, outsider = ana.asks("status sales.orders", QUIET), finn.asks("status sales.orders")

    assert "A breach." in invited
    assert "Taken in a private incident." in outsider
    assert "s3://flink/s-9" in outsider
    assert not any(each in outsider for each in ("A breach.", "1.4", ANA, "@ana"))
