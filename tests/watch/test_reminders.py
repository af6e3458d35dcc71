"""Promises and terms of a review are reminded of on their day, once."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from bot.incident.entries import Finding, PromiseReminded, ReviewOpened
from bot.incident.review import ReviewItem, open_items
from bot.observation.ids import IncidentId, UserId
from tests.slack.people import ONCALL, Responder, eventually
from tests.watch.promised import ONE, ben, comes, of_kind, reminded, warned
from tests.watch.watching_bot import WatchingBot

__all__ = ["ben", "warned"]


def test_the_next_update_is_reminded_of_once_before_it_is_due(
    ana: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """Five minutes before, with a button that previews it."""
    comes(bot, 20)
    early = reminded(bot)
    comes(bot, 6)
    told = ana.sees("the next update on")
    comes(bot, 45)

    assert early == []
    assert f"{warned + timedelta(minutes=30):%H:%M} UTC" in told.plain
    assert told.buttons == ("Send update…",)
    assert f"<@{ana.id}>" in str(told.blocks)
    assert reminded(bot) == ["promise-reminded"]


def test_an_incident_is_not_closed_over_a_promise_unless_somebody_says_so(
    ana: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """Who closes is told what to send first; closed all the same, the reminder loses its buttons and says it."""
    comes(bot, 26)
    ana.sees("the next update on")

    refused = ana.asks("close it was nothing")
    closed = ana.asks("close Anyway, nobody reads it")

    assert "Consumers were promised an update by" in refused
    assert "wl-1 is closed." in closed
    assert ana.sees("wl-1 was closed without this update.").buttons == ()


def test_what_fell_due_while_the_bot_was_down_is_late_and_not_lost(
    ana: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """What is due is read from the journal."""
    bot.watch.close()
    bot.close()
    bot.clock.advances(timedelta(minutes=45))
    bot.start()

    bot.services.reconciler.reconcile_due()
    told = ana.sees("was due at")

    assert "Send update…" in told.buttons
    assert reminded(bot) == ["promise-reminded"]


def test_whoever_is_assigned_is_notified_in_the_channel(ana: Responder, ben: Responder, bot: WatchingBot) -> None:
    """With the note; who takes it without being named needs no mention."""
    ana.opens()

    answer = ana.asks(f"assign <@{ben.id}> the savepoint of 14:00 is the good one")
    told = ben.waits_for(lambda m: f"<@{ben.id}>" in str(m.blocks) and "14:00 is the good one" in m.plain)

    assert "@Ben Okafor is the responder of wl-1" in answer
    assert bot.services.store.get(ONE).responder == ben.id
    assert told.ts in [message.ts for message in ben.messages(ONCALL)]


FOUND_ONE = IncidentId("wl-1")
Arrange = Callable[[Responder, WatchingBot], None]


def found_reminded(bot: WatchingBot) -> list[str]:
    """What people were reminded of, in order."""
    bodies = (entry.body for entry in bot.services.store.get(FOUND_ONE).entries)
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
    bot.services.store.write(FOUND_ONE, by=ana.id, decide=lambda _incident: [ReviewOpened(findings=(kept,))])
    ana.asks("close told and mended")


@pytest.mark.parametrize(("arrange", "what"), [(freezes, "unfreeze"), (leaves_a_review, "review")])
def test_what_no_timer_tells_is_reminded_of_all_the_same(
    ana: Responder, bot: WatchingBot, arrange: Arrange, what: str
) -> None:
    """Once, by what looks at all incidents again and again; also of one that has ended."""
    arrange(ana, bot)
    bot.services.reconciler.reconcile_all()
    early = found_reminded(bot)
    bot.clock.advances(timedelta(hours=9))

    bot.services.reconciler.reconcile_all()

    eventually(lambda: what in found_reminded(bot))
    bot.services.reconciler.reconcile_all()
    assert what not in early
    assert 1 == found_reminded(bot).count(what)


class TestAReviewThatIsDue:
    """Terms that a review handed to somebody are reminded of on their day."""

    @pytest.fixture
    def items(self, ana: Responder, ben: Responder, bot: WatchingBot) -> tuple[ReviewItem, ...]:
        """The review found two terms, one for Ben and one for Ana; the incident is closed."""
        ana.opens()
        due = bot.clock.now() + timedelta(days=14)
        opened = ReviewOpened(
            findings=tuple(
                Finding(
                    contract="state", term=term, observed="It was not so.", holds=False, action="Mend it.",
                    owner=UserId(owner.id), due=due
                )
                for term, owner in (("Restores start from a paired point.", ben), ("Savepoints are kept.", ana))
            )
        )  # fmt: skip
        bot.services.store.write(ONE, by=ana.id, decide=lambda _incident: [opened])
        ana.asks("close told and mended")
        return open_items(bot.services.store.get(ONE))

    def test_its_owners_are_reminded_on_the_day_and_once(
        self, ana: Responder, ben: Responder, bot: WatchingBot, items: tuple[ReviewItem, ...]
    ) -> None:
        """Everybody who mends something that day, with the terms, also when the incident has long ended."""
        comes(bot, 13 * 24 * 60)
        early = of_kind(bot, "review")

        comes(bot, 24 * 60 + 1)

        told = ben.sees("items of the review of wl-1 are due by")
        [reminder] = of_kind(bot, "review")
        assert early == []
        assert set(reminder.people) == {ana.id, ben.id}
        assert reminder.terms == tuple(item.finding.term for item in open_items(bot.services.store.get(ONE)))
        assert f"<@{ben.id}>" in str(told.blocks)
        assert f"<@{ana.id}>" in str(told.blocks)
        assert items[0].finding.term.rstrip(".") in told.plain

    def test_what_is_settled_is_not_reminded_of_and_is_taken_from_the_message(
        self, ana: Responder, ben: Responder, bot: WatchingBot, items: tuple[ReviewItem, ...]
    ) -> None:
        """Nobody is asked for what is done."""
        for item in items[1:]:
            bot.services.reviews.settle(ONE, item.number, "fixed", "It was fixed.", by=UserId(ana.id))

        comes(bot, 14 * 24 * 60 + 1)

        [reminder] = of_kind(bot, "review")
        ben.sees("items of the review of wl-1 are due by")
        bot.services.reviews.settle(ONE, items[0].number, "fixed", "It was fixed.", by=UserId(ben.id))
        assert (reminder.people, reminder.terms) == ((ben.id,), (items[0].finding.term,))
        assert "The items due on" in ben.sees("are done.").plain
