"""The table's mark is put back when somebody takes it off, and never against a recovery that takes the trust away."""

from datetime import timedelta

import pytest

from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.workspace import SeenMessage
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder, eventually

WL = IncidentId("wl-1")
LOST = "Somebody changed the table's tag or property"


def test_a_mark_that_somebody_takes_off_is_back_at_the_next_look(
    collected: SeenMessage, ana: Responder, orders: Orders, bot: LittleBot
) -> None:
    """The thread says so; pipelines that ask the table are not misled for long."""
    with orders.table.transaction() as change:
        change.set_properties({"waterline.status": "trusted"})

    bot.services.duties.settle_all()
    ana.sees(LOST)

    assert orders.status == "under-review"


def test_nothing_is_put_back_while_a_recovery_takes_the_trust_away(
    collected: SeenMessage,
    ana: Responder,
    ben: Responder,
    orders: Orders,
    bot: LittleBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between the table's commit and its entry the two disagree: whoever looks then must not take it for a loss."""
    ben.clicks("Approve", ana.proposes())
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    ana.sees_on_card("(trusted)")
    services, commit = bot.services, bot.services.waterline._commit
    seen: list[str | None] = []

    def looked_at_meanwhile(incident: Incident, *what: object) -> bool:
        done = commit(incident, *what)  # type: ignore[arg-type]
        if what[1] == "under-review" and not seen:
            services.duties.settle_all()
            eventually(lambda: {work for _, work in services.background._under_way} == {"The recovery"})
            seen.append(orders.status)
        return done

    monkeypatch.setattr(services.waterline, "_commit", looked_at_meanwhile)
    ana.clicks("Propose to undo it", ana.sees_on_proposal("Propose to undo it"))
    ben.clicks("Approve", ana.sees_on_proposal("Undo: Rewind table and job"))
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    eventually(lambda: len(orders.marked_when_main_moved) == 2)

    assert seen == ["under-review"]
    assert orders.marked_when_main_moved == ["under-review", "under-review"]
    bot.clock.advances(timedelta(seconds=20))
    services.duties.settle_all()
    assert not any(LOST in str(entry.body) for entry in services.store.get(WL).entries)
