"""Who was named and does not answer is asked, then everybody; any act of theirs answers."""

from datetime import datetime, timedelta

import pytest

from bot.domain.entries import HandoverTaken
from bot.domain.ids import UserId
from bot.domain.promises import reminders
from bot.workspace import SeenMessage
from tests.slack.people import ONCALL, Responder
from tests.watch.promised import ONE, ben, comes, of_kind, warned
from tests.watch.watching_bot import WatchingBot

__all__ = ["ben", "warned"]


class TestAHandoverThatNobodyAnswers:
    """Whoever was named is asked, then everybody; any act of theirs answers."""

    @pytest.fixture
    def handed(self, ana: Responder, ben: Responder, bot: WatchingBot) -> SeenMessage:
        """Ana has handed wl-1 to Ben; what he is told."""
        ana.opens()
        ana.asks(f"handover <@{ben.id}>")
        return ben.sees("is yours now")

    def test_who_is_silent_is_asked_and_then_the_channel(
        self, ana: Responder, ben: Responder, bot: WatchingBot, handed: SeenMessage
    ) -> None:
        """After ten minutes in the thread, after twenty in the channel, with whoever handed it over; each once."""
        comes(bot, 9)
        early = of_kind(bot, "handover")
        comes(bot, 2)
        asked = ben.sees("do you have it?")
        comes(bot, 10)
        aloud = ana.sees("Who goes on?")
        comes(bot, 60)

        first, second = of_kind(bot, "handover")
        in_channel = [message.ts for message in ana.messages(ONCALL)]
        assert early == []
        assert (first.people, second.people) == ((ben.id,), (ben.id, ana.id))
        assert asked.buttons == aloud.buttons == handed.buttons == ("Take it",)
        assert (asked.ts in in_channel, aloud.ts in in_channel) == (False, True)
        assert "nothing was heard for 21 min" in aloud.plain

    def test_the_button_answers(self, ana: Responder, ben: Responder, bot: WatchingBot, handed: SeenMessage) -> None:
        """It is on record, every message shows it, and nobody is asked any more."""
        comes(bot, 11)
        asked = ben.sees("do you have it?")

        answer = ben.answer_to(lambda: ben.clicks("Take it", asked))
        again = ben.answer_to(lambda: ben.clicks("Take it", handed))

        comes(bot, 60)
        kinds = [entry.body.kind for entry in bot.services.store.get(ONE).entries]
        assert answer == again == "You are the responder of wl-1."
        assert kinds.count("handover-taken") == 1
        assert len(of_kind(bot, "handover")) == 1
        assert "@Ben Okafor has it since" in ben.sees("has it since").plain
        assert "@Ben Okafor goes on." in ben.sees("goes on.").plain

    def test_any_act_of_theirs_answers(self, ben: Responder, bot: WatchingBot, handed: SeenMessage) -> None:
        """Whoever works on it need not say so; what others do says nothing."""
        comes(bot, 5)
        ben.asks("note looking at it")

        comes(bot, 60)

        assert of_kind(bot, "handover") == []
        assert "has it since" in ben.sees("has it since").plain

    def test_somebody_else_may_take_it(
        self, ana: Responder, ben: Responder, bot: WatchingBot, handed: SeenMessage
    ) -> None:
        """Then nobody waits for the one who was named; a note by the one who handed it over is no answer."""
        ana.asks("note ben should be there by now")
        bot.services.promises.take_over(ONE, by=UserId(ana.id))
        comes(bot, 21)
        aloud = ana.sees("Who goes on?")

        ana.clicks("Take it", aloud)

        assert "@Ana Ribeiro goes on." in ana.sees("goes on.").plain
        assert bot.services.store.get(ONE).responder == ana.id
        comes(bot, 60)
        assert len(of_kind(bot, "handover")) == 1
        assert not any(isinstance(entry.body, HandoverTaken) for entry in bot.services.store.get(ONE).entries)

    def test_consumers_are_not_forgotten_meanwhile(
        self, ana: Responder, ben: Responder, bot: WatchingBot, warned: datetime
    ) -> None:
        """While nobody has answered, whoever handed it over is reminded of the next word, too."""
        ana.asks(f"handover <@{ben.id}>")

        comes(bot, 26)
        ben.asks("note I have it")
        comes(bot, 5)

        before, after = of_kind(bot, "next-update")
        assert (before.people, after.people) == ((ben.id, ana.id), (ben.id,))

    def test_a_table_may_do_without(self, ben: Responder, bot: WatchingBot, handed: SeenMessage) -> None:
        """`handover_minutes: 0`."""
        [setup] = bot.services.observer.tables.values()
        incident = bot.services.store.get(ONE)

        quiet = reminders(incident, setup.model_copy(update={"handover_after": timedelta(0)}))

        assert [each.what for each in reminders(incident, setup)] == ["handover", "handover"]
        assert quiet == ()
