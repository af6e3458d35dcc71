"""Terms that a review handed to somebody are reminded of on their day, until they are settled."""

from datetime import timedelta

import pytest

from bot.domain.entries import Finding, ReviewOpened
from bot.domain.ids import UserId
from bot.domain.review import ReviewItem, open_items
from tests.slack.people import Responder
from tests.watch.promised import ONE, ben, comes, of_kind
from tests.watch.watching_bot import WatchingBot

__all__ = ["ben"]


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
                    owner=UserId(owner.id), due=due,
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
        assert "The items due on" in ben.sees("are settled").plain
