"""Consumers are notified, answer, and are notified again; planned work and the review."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import open_store
from bot.adapters.journal_sql.store import Store
from bot.incident.approval import ApprovalPolicy
from bot.incident.entries import (
    Finding,
    IncidentClosed,
    NoticeEnded,
    NoticeQueued,
    NoticeRetried,
    ReviewOpened,
    WaterlineMoved,
)
from bot.incident.journal import WATERLINE
from bot.incident.notice import Notice, NoticeData
from bot.incident.review import open_items
from bot.observation.ids import IncidentId
from bot.observation.readers import Consumer
from bot.service.diagnosing import OtherDoubts
from bot.service.incident_store import IncidentStore
from bot.service.notices.dispatcher import Deliveries
from bot.service.notices.policy import is_warning_due
from bot.service.timeline import sentence
from bot.slack import sender
from bot.slack.projection import Projection
from bot.workspace import SeenMessage, Workspace
from tests import orders_table as orders
from tests.incidents import Story
from tests.slack.little_bot import LittleBot, as_time_goes_on, nothing_waits
from tests.slack.people import Responder, eventually


@pytest.mark.smoke
def test_what_a_consumer_answers_leads_back_into_the_incident(ana: Responder, dana: Responder, bot: LittleBot) -> None:
    """Seen and help wanted: in the record, on the card, and the responder is asked by name; also after the end."""
    ana.opens_and_warns()
    warning = dana.sees("under review", "revenue-analytics")

    dana.clicks("Acknowledge", warning)
    ana.sees_on_card(":white_check_mark: revenue_daily")
    dana.clicks("I need help…", dana.sees("seen by", "revenue-analytics"))
    dana.fills_reason("The 9:00 board report stands still.")
    asked = ana.sees("asks for help")
    ana.sees_on_card(":mega: revenue_daily")
    ana.asks("close anyway, they know that nothing was wrong.")
    dana.clicks("I need help…", dana.sees("help wanted by", "revenue-analytics"))
    dana.fills_reason("And the 10:00 one.")

    ana.sees("And the 10:00 one.")
    assert "revenue_daily asks for help: The 9:00 board report stands still." in asked.plain
    assert "please look" in asked.plain
    [told] = [v for v in bot.services.store.all()[0].notices.values() if v.notice.consumer == "revenue_daily"]
    assert [answer.answer for answer in told.answers] == ["acknowledged", "needs-help", "needs-help"]
    assert {answer.by for answer in told.answers} == {dana.person.id}


def raises_severity(ana: Responder) -> None:
    """By the card's button and its form."""
    ana.clicks("Change severity…", ana.card)
    ana.fills({"severity": "sev1"})
    ana.fills_reason("Finance reports from it.")
    ana.sees("wl-1 is sev1 now. Consumers who still wait get an update.")


def test_a_changed_severity_is_told_again(ana: Responder, dana: Responder, bot: LittleBot) -> None:
    """Whoever was told sev2 hears of sev1, without being asked for."""
    ana.opens_and_warns()
    dana.sees("under review", "revenue-analytics")

    raises_severity(ana)

    dana.sees("The severity changed from 2 to 1", "revenue-analytics")
    ana.sees_on_card("Sev 1")


def test_a_correction_says_what_the_responder_says(ana: Responder, dana: Responder) -> None:
    """Without words it is not sent; with them it is previewed as it is sent."""
    ana.opens()
    ana.opens_form("notify correction")
    refused = ana.modal.plain
    ana.dismisses()

    ana.opens_form("notify correction Only checkpoint 6 is concerned.")
    ana.submits()

    dana.sees("What is right: Only checkpoint 6 is concerned.", "revenue-analytics")
    assert "needs your text" in refused


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_long_notice_shows_its_answers_and_is_told_as_delivered(
    ana: Responder, dana: Responder, slack: Workspace, bot: LittleBot, is_lost: bool
) -> None:
    """Slack posts ten times as many characters as it takes for an update, which an answer needs, and a post whose
    answer `is_lost`."""
    text = "\n".join(
        ["It was wrong.", *(f"Partition {n:04} &amp; what was read of it." for n in range(130)), "The end."]
    )
    notice = Notice(kind="correction", revision=1, consumer="revenue_daily", channel="C0REVENUE2", text=text,
                    answers=("acknowledged",))  # fmt: skip
    ana.opens()
    [incident] = bot.services.store.all()
    eventually(lambda: nothing_waits(bot))
    if is_lost:
        slack.faults.fails_after_effect("chat.postMessage", "internal_error")

    bot.services.store.write(incident.id, by=ana.person.id, decide=lambda _now: [NoticeQueued(notice=notice)])
    dana.sees("It was wrong.", "revenue-analytics")
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))
    dana.clicks("Acknowledge", dana.sees("It was wrong.", "revenue-analytics"))

    answered = dana.sees("seen by", "revenue-analytics")
    [told] = bot.services.store.get(incident.id).notices.values()
    assert told.ended is not None
    assert told.ended.how == "delivered"
    assert "The end." in answered.plain
    assert len([each for each in dana.messages("revenue-analytics") if "It was wrong." in each.plain]) == 1


class TestHeld:
    """Where the table's policy asks for approval of notices."""

    @pytest.fixture
    def notice_policy(self) -> ApprovalPolicy:
        """One of the approvers."""
        return ApprovalPolicy(groups=("S0APPROVE1",))

    def test_notices_that_need_a_second_person_are_sent_by_one(
        self, ana: Responder, ben: Responder, dana: Responder, bot: LittleBot, notice_policy: ApprovalPolicy
    ) -> None:
        """Whoever wrote them cannot; what is sent is what was previewed; the bot does not ask for the same."""
        setup = next(iter(bot.services.observer.tables.values()))
        held = setup.model_copy(update={"policies": {**setup.policies, "notice:warning": notice_policy}})
        bot.services.observer.tables = {setup.name: held}
        ana.opens_form()
        ana.submits()
        ana.reads_form()
        ana.submits()
        waiting = ana.sees("please read and send it")
        ana.clicks("Read and send…", waiting)
        ana.reads_form()
        refused = ana.answer_to(ana.submits)
        nothing = dana.messages("revenue-analytics")
        [incident] = bot.services.store.all()

        ben.clicks("Read and send…", waiting)
        ben.reads_form()
        ben.submits()

        dana.sees("under review", "revenue-analytics")
        ana.sees("sent by")
        assert "somebody else must send them" in refused
        assert nothing == []
        assert not is_warning_due(incident, bot.services.observer.setup(orders.TABLE), bot.clock.now())
        [name] = incident.previews.keys() & incident.held.keys()
        sent = [view.notice for view in bot.services.store.get(incident.id).notices.values()]
        assert list(incident.previews[name]) == sent


@pytest.mark.parametrize("consumers", [(Consumer(name="nobody_here", channel="C0GONE0001"),)])
def test_a_channel_that_is_gone_is_said_aloud(ana: Responder, bot: LittleBot, consumers: tuple[Consumer, ...]) -> None:
    """Somebody is asked to call whom no message reaches; the card goes on saying so, while the bot tries again."""
    ana.opens_and_warns()

    ana.sees("please call them")
    ana.sees_on_card("it waits, call them")


REVENUE = "revenue-analytics"


@pytest.fixture
def for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Slack refuses, it refuses for a reason that nobody can mend."""
    monkeypatch.setattr(sender, "may_mend", lambda _code: False)


@pytest.fixture
def unreached(for_good: None, slack: Workspace, ana: Responder) -> None:
    """The first warning was refused for good."""
    slack.faults.removes(REVENUE)
    ana.opens_and_warns()
    ana.sees("please call them")
    ana.sees_on_card("Try again")


def ends(bot: LittleBot) -> list[str]:
    """How each sending to revenue_daily ended."""
    [incident] = bot.services.store.all()
    bodies = (entry.body for entry in incident.entries)
    return [body.how for body in bodies if isinstance(body, NoticeEnded) and "/revenue_daily/" in body.key]


def asked(bot: LittleBot) -> list[str]:
    """Who had it sent once more, each time."""
    [incident] = bot.services.store.all()
    return [entry.by for entry in incident.entries if isinstance(entry.body, NoticeRetried)]


@pytest.mark.usefixtures("unreached")
def test_an_invited_bot_tells_the_same_once(
    slack: Workspace, ana: Responder, ben: Responder, dana: Responder, bot: LittleBot
) -> None:
    """Before the invitation it fails again, aloud; after it a double click sends one message, and a late one none."""
    old = ana.sees_on_card("Try again")
    ana.answer_to(lambda: ana.clicks("Try again", old))
    eventually(lambda: ends(bot) == ["failed", "failed"])
    card = ana.sees_on_card("Try again")
    slack.faults.adds(REVENUE)
    slack.faults.doubles_clicks()

    ana.clicks("Try again", card)

    told = dana.sees("under review", REVENUE)
    ana.sees("already on its way")
    eventually(lambda: ends(bot) == ["failed", "failed", "delivered"])
    late = ben.answer_to(lambda: ben.clicks("Try again", card))
    assert "has this notice already" in late
    assert [told.ts] == [message.ts for message in dana.messages(REVENUE)]
    assert "may appear twice" not in told.plain
    assert asked(bot) == [ana.person.id] * 2
    assert sum("please call them" in message.plain for message in ana.messages()) == 2


@pytest.mark.usefixtures("unreached")
def test_a_command_tells_whom_nothing_reached(
    slack: Workspace, ana: Responder, dana: Responder, eli: Responder, bot: LittleBot
) -> None:
    """Only them, with the text of then, also after a restart; a second time there is nothing left."""
    slack.faults.adds(REVENUE)
    bot.restart()
    eventually(lambda: slack.connected == 1)

    answer = ana.asks("notify again")

    dana.sees("under review", REVENUE)
    eventually(lambda: ends(bot) == ["failed", "delivered"])
    [incident] = bot.services.store.all()
    told = next(view.notice for view in incident.notices.values() if view.notice.consumer == "revenue_daily")
    assert "“Warning” for revenue_daily" in answer
    assert not ana.has_modal
    assert told.text.split("\n")[0].strip("*") in dana.messages(REVENUE)[0].plain
    assert len(eli.messages("fraud-ml")) == 1
    assert "Nothing to send again" in ana.asks("notify again")


@pytest.mark.usefixtures("unreached")
def test_what_was_overtaken_has_no_button_and_is_refused(slack: Workspace, ana: Responder, bot: LittleBot) -> None:
    """The severity changed since: the newer notice says it better."""
    old = ana.sees_on_card("Try again")
    raises_severity(ana)
    eventually(lambda: ends(bot) == ["failed", "failed"])
    slack.faults.adds(REVENUE)

    answer = ana.answer_to(lambda: ana.clicks("Try again", old))

    assert "was sent something newer" in answer
    assert asked(bot) == []


@pytest.mark.usefixtures("for_good")
@pytest.mark.parametrize(
    "consumers", [(Consumer(name="both_gone", channel="C0GONE0001", email=("gone@acme.example",)),)]
)
def test_of_two_ways_that_failed_each_has_a_button(
    ana: Responder, bot: LittleBot, consumers: tuple[Consumer, ...]
) -> None:
    """Only the way that is mended is tried again."""
    ana.opens_and_warns()
    ana.sees("please call them")
    [incident] = bot.services.store.all()
    [view] = incident.notices.values()
    lost = NoticeEnded(key=view.key, how="failed", detail="550 no such mailbox.", to="email:gone@acme.example")
    bot.services.store.write(incident.id, by=WATERLINE, decide=lambda _now: [lost])

    ana.clicks("Try again by e-mail", ana.sees_on_card("Try again by e-mail"))

    ana.sees_on_card("by e-mail on its way once more")
    ways = bot.services.store.get(incident.id).notices[view.key].deliveries.values()
    assert [way.has_failed for way in ways] == [True, False]


WL = IncidentId("wl-1")


@pytest.mark.usefixtures("collected")
def test_a_recovery_is_told_from_its_proposal(ana: Responder, dana: Responder) -> None:
    """While it waits; what is previewed is what arrives. When it is over the button is gone."""
    ana.clicks("Tell consumers…", ana.proposes())
    shown = ana.reads_form()
    ana.submits()

    told = dana.sees("A fix is proposed and waits for approval:", REVENUE)
    ana.clicks("Reject…", ana.proposal)
    ana.fills_reason("The job goes on by itself.")
    over = ana.sees_on_proposal("Rejected")
    assert told.plain.splitlines()[0] in shown
    assert "Tell consumers…" not in over.buttons


@pytest.mark.usefixtures("collected")
def test_a_review_is_told_from_the_review(ana: Responder, dana: Responder, bot: LittleBot) -> None:
    """With the lines to add to the contract, which stay with the responders."""
    finding = Finding(contract="table", term="The key is unique.", observed="220 live twice.", holds=False, action="")
    opened = ReviewOpened(findings=(finding,), snippet="schema: []  # <why>")
    bot.services.store.write(WL, by=ana.person.id, decide=lambda _now: [opened])
    review = ana.sees("schema: []")
    ana.clicks("Send the review to consumers…", review)
    ana.reads_form()
    ana.submits()
    dana.sees("220 live twice", REVENUE)


CONSUMERS = ("revenue_daily", "ml_features")
UNDER_REVIEW = WaterlineMoved(snapshot=orders.GOOD, status="under-review")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The record and its outbox."""
    made = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    yield made
    made.close()


@pytest.fixture
def story(store: Store) -> Story:
    """Ana responds; the table is proven, and its consumers are about to be told."""
    told = Story(store.journal).opens().says(WaterlineMoved(snapshot=orders.GOOD, status="trusted"))
    for consumer in CONSUMERS:
        told.says(NoticeQueued(notice=notice(consumer)))
    return told


def notice(consumer: str) -> Notice:
    """That the table recovered, in a channel of theirs."""
    data = NoticeData(stage="proven", trusted_snapshot=orders.GOOD)
    return Notice(
        kind="recovered", revision=1, consumer=consumer, channel="C0REVENUE2", text="*x*", title="Recovered", data=data
    )


def gives_up(store: Store, story: Story, consumer: str) -> NoticeEnded:
    """Its turn in Slack comes while the table is in doubt."""
    kept = IncidentStore(story.journal, SystemClock())
    key = notice(consumer).key(story.id)
    Deliveries(kept, OtherDoubts(kept, None)).overtaken(story.id, key)
    [way] = story.incident.notices[key].deliveries.values()
    assert way.ended is not None
    return way.ended


def aloud(store: Store, story: Story) -> list[str]:
    """What stands in the channel itself about what was given up."""
    projection = Projection(IncidentStore(story.journal, SystemClock()), store.outbox, store.cursor)
    projection.catch_up_all()
    ends = [entry for entry in story.incident.entries if isinstance(entry.body, NoticeEnded)]
    posts = [(entry, store.outbox.find(f"{story.id}/line/{entry.seq}")) for entry in ends]
    return [sentence(entry) for entry, post in posts if post is not None and post.thread_of is None]


def test_what_another_incident_has_stopped_is_told_aloud_once(store: Store, story: Story) -> None:
    """The responder reads whom, why, and what to type once the other one is over; of the others in the thread."""
    story.says(IncidentClosed(reason="Proven."))
    Story(store.journal, start=story.now).opens()
    first = gives_up(store, story, "revenue_daily")
    gives_up(store, story, "ml_features")

    [message] = aloud(store, story)

    assert first.asks == story.incident.responder
    assert f"<@{first.asks}>" in message
    assert "for revenue_daily is not sent" in message
    assert "incident wl-2 questions the table" in message
    assert "When that is resolved: /waterline notify again revenue_daily" in message


def test_what_came_in_doubt_again_is_previewed_anew(store: Store, story: Story) -> None:
    """The text is out of date: it is not sent once more as it is."""
    story.says(UNDER_REVIEW)
    gives_up(store, story, "revenue_daily")

    [message] = aloud(store, story)

    assert "You cannot send an all-clear" in message
    assert "When that is resolved: /waterline notify recovered" in message


def test_what_something_newer_has_overtaken_needs_nobody(store: Store, story: Story) -> None:
    """A correction followed it."""
    story.says(NoticeQueued(notice=notice("revenue_daily").model_copy(update={"kind": "correction"})))
    ended = gives_up(store, story, "revenue_daily")

    assert (ended.how, ended.asks) == ("overtaken", None)
    assert aloud(store, story) == []


def reviewed(ana: Responder) -> SeenMessage:
    """The review's message."""
    return ana.sees("Contract review:")


def changes_first_item(who: Responder) -> None:
    """Opens its form."""
    review = reviewed(who)
    who.clicks(next(label for label in review.buttons if label.startswith("Change ")), review)


def test_a_term_is_handed_on_and_settled_after_the_incident_has_ended(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """Closing opens the review; its owner is told at Home until he has settled it, with a reason."""
    ana.asks("close anyway: the consumers can wait.")
    [broken, *_] = open_items(bot.services.store.get(WL))
    changes_first_item(ana)
    ana.reads_form()
    ana.fills({"owner": "ben", "due": datetime.now(UTC).date() + timedelta(days=40)})
    handed = ana.answer_to(ana.submits)
    due_at_home = ben.home().plain

    changes_first_item(ben)
    ben.reads_form()
    ben.fills({"way": "It is fixed", "reason": "The deployment checks the pair."})
    settled = ben.answer_to(ben.submits)

    term = broken.finding.term.rstrip(".")
    assert f"“{term}” is assigned to @Ben" in handed
    assert f"fix “{term}”, wl-1" in due_at_home
    assert settled == f"“{term}” is fixed."
    assert "Fixed: The deployment checks the pair." in ben.sees("Fixed: The deployment checks the pair.").plain
    assert f"fix “{term}”" not in ben.home().plain


def test_a_term_is_not_settled_without_a_sentence(collected: SeenMessage, ana: Responder, bot: LittleBot) -> None:
    """The refusal says what is missing; the term stays open."""
    ana.asks("close anyway: the consumers can wait.")
    before = open_items(bot.services.store.get(WL))

    changes_first_item(ana)
    ana.reads_form()
    ana.fills({"way": "It is accepted as it is"})
    answer = ana.answer_to(ana.submits)

    assert "A reason is missing." in answer
    assert open_items(bot.services.store.get(WL)) == before


@pytest.fixture
def planned_work(ana: Responder) -> SeenMessage:
    """It is open; its card."""
    return ana.opens_planned_work()


@pytest.mark.smoke
def test_a_savepoint_is_planned_in_a_form_and_stops_nothing(
    planned_work: SeenMessage, ana: Responder, bot: LittleBot
) -> None:
    """The plan is on record with its end; the job goes on, and the catalogue is empty. App Home has the same form."""
    told = list(bot.flink.calls)
    ana.home()
    ana.clicks("Plan a savepoint in wl-1…", "home")
    ana.reads_form()
    at_home = ana.modal.plain
    ana.dismisses()

    ana.clicks("Plan a savepoint…", planned_work)
    ana.reads_form()
    terms = {"reason": "New pricing.", "before": "1.4", "after": "1.5"}
    ana.fills({**terms, "over": "2099-12-01 14:10"})
    answer = ana.answer_to(ana.submits)
    listed = ana.asks("status sales.orders")

    plan = bot.services.store.get(WL).plan
    assert plan is not None
    assert (plan.reason, plan.code_before, plan.code_after) == ("New pricing.", "1.4", "1.5")
    assert str(plan.over_by) == "2099-12-01 14:10:00+00:00"
    assert "Plan saved in wl-1. Nothing is stopped" in answer
    assert "Savepoint planned, from code 1.4 to 1.5: New pricing." in ana.sees("Savepoint planned").plain
    assert "newest checkpoint" in at_home
    assert "is kept." in listed
    assert bot.flink.calls == told


def test_a_time_that_is_none_is_told_at_its_field(planned_work: SeenMessage, ana: Responder) -> None:
    """The form stays open with the plan that was typed, and takes the time when it is one."""
    ana.clicks("Plan a savepoint…", planned_work)
    ana.reads_form()
    ana.fills({"reason": "New pricing.", "before": "1.4", "after": "1.5", "over": "after lunch"})

    told = ana.submits().errors
    ana.fills({"over": "14:10"})
    answer = ana.answer_to(ana.submits)

    assert "“after lunch” is not a time. Expected 14:10 (the next one)" in told["over"]
    assert "Plan saved in wl-1." in answer
