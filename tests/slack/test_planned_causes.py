"""*This was planned…* on a diagnosis: who says so is on record, and wrong rows are repaired all the same."""

import pytest

from bot.diagnosis import another_writer_changed_rows
from bot.incident.diagnosis import Diagnosis, Matches, ModeResult, Remedy
from bot.incident.entries import Diagnosed
from bot.incident.journal import WATERLINE
from bot.observation.ids import IncidentId
from bot.workspace import SeenMessage
from tests.little_flink import JOB
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder
from tests.tables import job

WL = IncidentId("wl-1")
PLAN, WITHDRAW = "This was planned…", "Withdraw the plan…"


def match_of(bot: LittleBot, code: str) -> Matches:
    diagnosis = bot.services.store.get(WL).diagnosis
    found = [match for mode, match in diagnosis.matches if mode.code == code] if diagnosis is not None else []
    assert found, f"{code} is not found"
    return found[0]


def declares(who: Responder, code: str, what: str, reason: str) -> None:
    """Clicks the button beside that failure mode, and fills in the form."""
    name = f"this-was-planned:{code}"
    who.clicks(name, who.waits_for(lambda m: m.control(name) is not None))
    who.reads_form()
    who.fills({"what": what})
    who.fills_reason(reason)


@pytest.mark.smoke
def test_a_planned_replay_that_doubled_rows_is_still_taken_back(
    collected: SeenMessage, ana: Responder, bot: LittleBot
) -> None:
    """The diagnosis is made again. It names who planned it, and asks for the same; the entry is in the record."""
    before = match_of(bot, "F2")

    declares(ana, "F2", "Announced replay", "Replay of Monday, ticket 4711")
    told = ana.sees("Planned by")
    line = ana.sees("F2 was planned (Announced replay): Replay of Monday, ticket 4711.")

    after = match_of(bot, "F2")
    assert "Planned by @Ana" in told.plain
    assert "A plan does not make rows right: " in told.plain
    assert (before.remedy, before.how) == (after.remedy, after.how) == (Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, None)
    assert line.thread_ts == collected.ts


def test_a_plan_is_withdrawn_by_anybody_with_a_reason(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """Said twice, it is on record once. The next diagnosis says nothing of it any more."""
    declares(ana, "F2", "Announced replay", "I take it for the replay of Monday")
    shown = ben.waits_for(lambda m: WITHDRAW in m.buttons)
    [plan] = bot.services.store.get(WL).planned.values()
    bot.services.diagnoses.declare_planned(WL, plan.code, plan.what, plan.reason, by=plan.by)

    ben.clicks(WITHDRAW, shown)
    ben.fills_reason("That replay was on another table")
    ben.sees("F2 was not planned after all: That replay was on another table.")
    again = ben.waits_for(lambda m: PLAN in m.buttons, after=shown)

    entries = bot.services.store.get(WL).entries
    assert "Planned by" not in again.plain
    assert [entry.body.kind for entry in entries if "plan-" in entry.body.kind] == ["plan-declared", "plan-withdrawn"]


def test_a_button_of_a_closed_incident_declares_nothing(collected: SeenMessage, ana: Responder, bot: LittleBot) -> None:
    """The form says so before anybody fills it in."""
    shown = ana.waits_for(lambda m: PLAN in m.buttons)
    bot.services.closing.close(WL, "Anyway: it is over.", by=bot.services.store.get(WL).opened_by)

    ana.clicks(PLAN, shown)
    told = ana.reads_form()

    assert "Incident wl-1 is closed." in told
    assert bot.services.store.get(WL).planned == {}


def test_a_planned_change_is_verified_by_the_step_that_would_stop_its_writer(
    collected: SeenMessage, ana: Responder, ben: Responder, orders: Orders, bot: LittleBot
) -> None:
    """Spark took the copies out, as planned, and the rows are right: the table is proven as it is, once somebody else
    has approved."""
    bot.flink.stop(JOB, job("b"))
    orders.somebody_mends()
    for task in ("duplicate_rows", "missing_positions"):
        bot.services.evidence.run_now(WL, task, None)
    match = Matches(
        headline="Spark wrote, as planned.", reasons=(), remedy=Remedy.VERIFY_CURRENT_STATE,
    )  # fmt: skip
    only = Diagnosis(results=(ModeResult(mode=another_writer_changed_rows.MODE, examined=match),))
    bot.services.store.write(WL, by=WATERLINE, decide=lambda _incident: [Diagnosed(diagnosis=only)])

    ana.clicks("Propose", ana.sees_on_card("have the table verified as it is"))
    ben.clicks("Approve", ana.sees_on_proposal("Trust the table as it is"))
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    ana.sees_on_card("(trusted)")

    assert (orders.waterline, orders.status) == (orders.head, "trusted")
