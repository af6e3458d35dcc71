"""What cannot be read, as Slack's body is of a shape that is not known: who asked is told all the same."""

import pytest

from bot.adapters.journal_sql.inbox import SqlInbox
from bot.ports import Delivery
from tests.slack.little_bot import LittleBot, nothing_waits
from tests.slack.people import Responder, eventually
from tests.slack.test_lost_room import TO_ANA, direct

CLICK = '{"type": "block_actions", "user": {"id": "U0ANA00001", "name": "ana"}, "actions": [%s'


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("block_actions", CLICK % "]}"),
        ("block_actions", CLICK % ""),
        ("command", '{"text": "note \\"user_id\\": \\"U0BEN00002\\"", "user_id": "U0ANA00001"}'),
    ],
    ids=["no action", "cut off", "no channel"],
)  # fmt: skip
def test_who_asked_is_told_directly_that_it_went_wrong(ana: Responder, bot: LittleBot, kind: str, payload: str) -> None:
    """With the reference under which the log has the cause."""
    inbox = SqlInbox(bot.store.engine, bot.store.presence)

    inbox.put(Delivery(key="odd", kind=kind, payload=payload, received_at=bot.clock.now()))

    eventually(lambda: direct(ana, TO_ANA))
    assert ["Something went wrong on our side"] == [m.plain.partition(" (")[0] for m in direct(ana, TO_ANA)]


def test_what_asks_for_nothing_is_not_answered(ana: Responder, bot: LittleBot) -> None:
    """A form that was closed is no question."""
    closed = '{"type": "view_closed", "user": {"id": "U0ANA00001"}}'

    bot.store.inbox.put(
        Delivery(key="closed", kind="view_closed", payload=closed, received_at=bot.clock.now(), attempts=99)
    )
    ana.types("/waterline status")
    eventually(lambda: nothing_waits(bot))

    assert direct(ana, TO_ANA) == []
