"""Consumers answer, and it leads back into the incident; what a policy holds is sent when others agree."""

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.entries import NoticeQueued
from bot.domain.notice import Notice
from bot.domain.reads import Consumer
from bot.workspace import Workspace
from tests.slack.little_bot import LittleBot, as_time_goes_on, nothing_waits
from tests.slack.people import Responder, eventually


@pytest.mark.smoke
def test_what_a_consumer_answers_leads_back_into_the_incident(ana: Responder, dana: Responder, bot: LittleBot) -> None:
    """Seen and help wanted: in the record, on the card, and the responder is asked by name; also after the end."""
    ana.opens_form()
    ana.submits()
    ana.reads_form()
    ana.submits()
    warning = dana.sees("under review", "revenue-analytics")

    dana.clicks("Acknowledge", warning)
    ana.sees_on_card("seen by")
    dana.clicks("I need help…", dana.sees("seen by", "revenue-analytics"))
    dana.fills_reason("The 9:00 board report stands still.")
    asked = ana.sees("asks for help")
    ana.asks("close anyway, they know that nothing was wrong.")
    dana.clicks("I need help…", dana.sees("help wanted by", "revenue-analytics"))
    dana.fills_reason("And the 10:00 one.")

    ana.sees("And the 10:00 one.")
    assert "revenue_daily asks for help: The 9:00 board report stands still." in asked.plain
    assert "please look" in asked.plain
    [told] = [v for v in bot.services.store.all()[0].notices.values() if v.notice.consumer == "revenue_daily"]
    assert [answer.answer for answer in told.answers] == ["acknowledged", "needs-help", "needs-help"]
    assert {answer.by for answer in told.answers} == {dana.person.id}


def test_a_changed_severity_is_told_again(ana: Responder, dana: Responder, bot: LittleBot) -> None:
    """Whoever was told sev2 hears of sev1, without being asked for."""
    ana.opens_form()
    ana.submits()
    ana.reads_form()
    ana.submits()
    dana.sees("under review", "revenue-analytics")

    ana.asks("severity sev1 Finance reports from it.")

    dana.sees("The severity changed from sev2 to sev1.", "revenue-analytics")
    ana.sees_on_card("Sev 1")


def test_a_correction_says_what_the_responder_says(ana: Responder, dana: Responder) -> None:
    """Without words it is not sent; with them it is previewed as it is sent."""
    ana.opens()
    ana.opens_form("tell correction")
    refused = ana.modal.plain
    ana.dismisses()

    ana.opens_form("tell correction Only checkpoint 6 is concerned.")
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
        held = setup.model_copy(update={"policies": {**setup.policies, "notice:first_warning": notice_policy}})
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
        assert not bot.services.telling.owes_first_warning(incident)
        [name] = incident.previews.keys() & incident.held.keys()
        sent = [view.notice for view in bot.services.store.get(incident.id).notices.values()]
        assert list(incident.previews[name]) == sent


@pytest.mark.parametrize("consumers", [(Consumer(name="nobody_here", channel="C0GONE0001"),)])
def test_a_channel_that_is_gone_is_said_aloud(ana: Responder, bot: LittleBot, consumers: tuple[Consumer, ...]) -> None:
    """Somebody is asked to call whom no message reaches; the card goes on saying so."""
    ana.opens_form()
    ana.submits()
    ana.reads_form()
    ana.submits()

    ana.sees("please call them")
    ana.sees_on_card("could not be reached, call them")
