"""A promise is kept in mind where no timer tells of it: the replica that had set it is dead, or the record was away."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.domain.entries import Finding, PromiseReminded, ReviewOpened
from bot.domain.ids import IncidentId, UserId
from tests.slack.people import Responder, eventually
from tests.watch.watching_bot import WatchingBot

ONE = IncidentId("wl-1")
Arrange = Callable[[Responder, WatchingBot], None]


def reminded(bot: WatchingBot) -> list[str]:
    """What people were reminded of, in order."""
    bodies = (entry.body for entry in bot.services.store.get(ONE).entries)
    return [body.what for body in bodies if isinstance(body, PromiseReminded)]


def freezes(ana: Responder, bot: WatchingBot) -> None:
    """Maintenance of an open incident stands still."""
    ana.opens()
    ana.asks("freeze")


def leaves_a_review(ana: Responder, bot: WatchingBot) -> None:
    """The incident has ended, and Ana is to mend something within an hour."""
    ana.opens()
    due = bot.clock.now() + timedelta(hours=1)
    kept = Finding(
        contract="state", term="Savepoints are kept.", observed="They were not.", holds=False, action="Keep them.",
        owner=UserId(ana.id), due=due,
    )  # fmt: skip
    bot.services.store.write(ONE, by=ana.id, decide=lambda _incident: [ReviewOpened(findings=(kept,))])
    ana.asks("close told and mended")


@pytest.mark.parametrize(("arrange", "what"), [(freezes, "thaw"), (leaves_a_review, "review")])
def test_what_no_timer_tells_is_reminded_of_all_the_same(
    ana: Responder, bot: WatchingBot, arrange: Arrange, what: str
) -> None:
    """Once, by what looks at all incidents again and again; also of one that has ended."""
    arrange(ana, bot)
    bot.services.duties.settle_all()
    early = reminded(bot)
    bot.clock.advances(timedelta(hours=9))

    bot.services.duties.settle_all()

    eventually(lambda: what in reminded(bot))
    bot.services.duties.settle_all()
    assert what not in early
    assert 1 == reminded(bot).count(what)
