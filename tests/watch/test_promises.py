"""Promises are kept in mind: reminded of once, later if somebody asks, after a restart too; and handed over."""

from datetime import datetime, timedelta

import pytest

from bot.adapters.scheduler import SchedulerTimers
from bot.domain.entries import Finding, HandoverTaken, PromiseReminded, ReviewOpened
from bot.domain.ids import IncidentId, UserId
from bot.domain.promises import reminders
from bot.domain.review_items import ReviewItem, open_items
from bot.workspace import SeenMessage, Workspace
from tests.slack.people import ONCALL, Responder
from tests.watch.watching_bot import WatchingBot

ONE = IncidentId("wl-1")


@pytest.fixture
def ben(slack: Workspace, bot: WatchingBot) -> Responder:
    """Comes on duty later."""
    return Responder(slack.url, slack.person("ben").person)


@pytest.fixture
def warned(ana: Responder, bot: WatchingBot) -> datetime:
    """wl-1 is open, and consumers were promised word within 30 minutes; when they were."""
    ana.opens_form()
    ana.submits()
    ana.reads_form()
    ana.submits()
    ana.sees("Notice “first warning” for fraud_model was delivered")
    return max(view.queued_at for view in bot.services.store.get(ONE).notices.values())


def reminded(bot: WatchingBot) -> list[str]:
    """Kinds of entries about promises, in order."""
    kinds = (entry.body.kind for entry in bot.services.store.get(ONE).entries)
    return [kind for kind in kinds if kind.startswith("promise-")]


def comes(bot: WatchingBot, minutes: float) -> None:
    """Time passes, and every replica looks what is due."""
    bot.clock.advances(timedelta(minutes=minutes))
    for _ in range(2):
        bot.services.promises.settle(ONE)


def test_the_next_word_is_reminded_of_before_it_is_due_and_when_it_is(
    ana: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """Five minutes before, and once more when nobody has told them; each once."""
    comes(bot, 20)
    early = reminded(bot)
    comes(bot, 6)
    first = ana.sees("expect word by")
    comes(bot, 5)
    overdue = ana.sees("Overdue.")
    comes(bot, 30)

    assert early == []
    assert f"{warned + timedelta(minutes=30):%H:%M} UTC" in first.plain
    assert first.buttons == ("Preview an update…", "In 15 minutes")
    assert f"<@{ana.id}>" in str(overdue.blocks)
    assert reminded(bot) == ["promise-reminded"] * 2


def test_a_snooze_puts_the_reminder_off_and_not_the_promise(ana: Responder, bot: WatchingBot, warned: datetime) -> None:
    """The button answers with the time; nothing comes before it."""
    comes(bot, 26)
    answer = ana.answer_to(lambda: ana.clicks("In 15 minutes", ana.sees("expect word by")))
    ana.sees("wants to be reminded again at")
    comes(bot, 10)
    meanwhile = reminded(bot)

    comes(bot, 6)

    assert "You are reminded again at" in answer
    assert meanwhile == ["promise-reminded", "promise-snoozed"]
    assert reminded(bot) == ["promise-reminded", "promise-snoozed", "promise-reminded"]
    assert "Overdue." in ana.sees("Overdue.").plain


def test_an_incident_is_not_closed_over_a_promise_unless_somebody_says_so(
    ana: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """Who closes is told what to send first; closed all the same, the reminder loses its buttons and says it."""
    comes(bot, 26)
    ana.sees("expect word by")

    refused = ana.asks("close it was nothing")
    closed = ana.asks("close Anyway, nobody reads it")

    assert "Consumers wait for word about wl-1" in refused
    assert "/waterline tell recovered, or no_action_needed" in refused
    assert "wl-1 is closed." in closed
    assert ana.sees("wl-1 was closed without this word.").buttons == ()


def test_what_fell_due_while_the_bot_was_down_is_late_and_not_lost(
    ana: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """Timers are rebuilt from the journal; of two missed reminders the last one is given."""
    bot.watch.close()
    bot.close()
    bot.clock.advances(timedelta(minutes=45))
    bot.start()
    timers = SchedulerTimers(bot.clock)
    timers.start()

    bot.services.promises.start(timers)
    told = ana.sees("Overdue.")

    timers.close()
    assert "In 15 minutes" in told.buttons
    assert reminded(bot) == ["promise-reminded"]


def test_a_handover_tells_the_next_one_where_it_stands(
    ana: Responder, ben: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """Step, trust, promise and the last entries, in the channel, where a mention is heard."""
    refused = ana.asks("handover somebody")

    answer = ana.asks(f"handover <@{ben.id}> the savepoint of 14:00 is the good one")
    told = ben.sees("is yours now")

    assert "Expected a mention like @ben" in refused
    assert "@Ben Okafor is the responder of wl-1 now" in answer
    assert "The savepoint of 14:00 is the good one." in told.plain
    assert "consumers expect word by" in told.plain
    assert bot.services.store.get(ONE).responder == ben.id
    assert told.ts in [message.ts for message in ben.messages(ONCALL)]


def of_kind(bot: WatchingBot, what: str) -> list[PromiseReminded]:
    """The reminders of one kind, in order."""
    bodies = (entry.body for entry in bot.services.store.get(ONE).entries)
    return [body for body in bodies if isinstance(body, PromiseReminded) and body.what == what]


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

        told = ben.sees("the review of wl-1 said that this is mended by")
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
            bot.services.reviews.settle(ONE, item.number, "mended", "It was mended.", by=UserId(ana.id))

        comes(bot, 14 * 24 * 60 + 1)

        [reminder] = of_kind(bot, "review")
        ben.sees("the review of wl-1 said that this is mended by")
        bot.services.reviews.settle(ONE, items[0].number, "mended", "It was mended.", by=UserId(ben.id))
        assert (reminder.people, reminder.terms) == ((ben.id,), (items[0].finding.term,))
        assert "is settled" in ben.sees("What was due on").plain


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


def asked_to_thaw(bot: WatchingBot) -> int:
    """How often."""
    entries = bot.services.store.get(ONE).entries
    return sum(isinstance(entry.body, PromiseReminded) and entry.body.what == "thaw" for entry in entries)


def test_a_freeze_that_was_forgotten_is_asked_about(ana: Responder, bot: WatchingBot) -> None:
    """After eight hours, then a day later and no earlier; once it is thawed, the question says so and nobody asks."""
    ana.opens()
    ana.asks("freeze")
    times = []
    for hours in (7.9, 0.2, 23, 1.1):
        comes(bot, hours * 60)
        times.append(asked_to_thaw(bot))
    told = ana.sees("frozen for 32 h")
    answer = ana.asks("thaw")
    comes(bot, 60 * 24 * 3)

    assert times == [0, 1, 1, 2]
    assert f"<@{ana.id}>" in str(told.blocks)
    assert "type /waterline thaw, or close the incident" in told.plain
    assert "out of its freeze" in answer
    assert "is out of its freeze." in ana.sees(":white_check_mark: Maintenance of").plain
    assert asked_to_thaw(bot) == 2


def test_a_bot_that_was_down_for_days_asks_once_about_a_freeze(ana: Responder, bot: WatchingBot) -> None:
    """Late rather than never, and not once for each day; a second freeze does not begin it anew."""
    ana.opens()
    ana.asks("freeze")
    comes(bot, 60 * 4)
    ana.asks("freeze")

    comes(bot, 60 * 24 * 3)

    assert asked_to_thaw(bot) == 1
    assert "frozen for 76 h" in ana.sees("frozen for 76 h").plain


def test_an_incident_that_froze_nothing_is_not_asked(ana: Responder, bot: WatchingBot) -> None:
    """However long it is open."""
    ana.opens()

    comes(bot, 60 * 24 * 3)

    assert asked_to_thaw(bot) == 0
