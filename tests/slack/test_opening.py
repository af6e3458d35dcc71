"""An incident is opened: the form is filled, the card appears, the table is marked, consumers are warned."""

from datetime import timedelta

import pytest

from bot.domain.ids import short
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder


def test_the_form_proposes_the_window_and_what_to_trust(ana: Responder, orders: Orders) -> None:
    """The form arrives filled: the last good snapshot, the window above it, and why."""
    good = orders.commit_of("a", 5)

    ana.opens_form()

    assert f"Trusted until proven otherwise: {short(good)}" in ana.modal.plain
    assert "Proposed window: 5 commits" in ana.modal.plain
    assert "was restored from checkpoint 3" in ana.modal.plain


def test_opening_marks_the_table_and_shows_the_first_warning(ana: Responder, dana: Responder, orders: Orders) -> None:
    """The tag stays on what is trusted; what consumers would be told is shown before anybody is told."""
    ana.opens_form()
    ana.submits()
    preview = ana.reads_form()
    ana.sees_on_card("under review")

    assert "sales.orders is under review" in preview
    assert ana.modal.submit == "Send to 2 consumers"
    assert dana.messages("revenue-analytics") == []
    assert orders.waterline == orders.commit_of("a", 5)
    assert orders.status == "under-review"


def test_each_consumer_is_warned_with_its_own_reading_once(
    ana: Responder, dana: Responder, eli: Responder, orders: Orders, bot: LittleBot
) -> None:
    """Who read above the trusted snapshot is named in their own warning only; no timer repeats it."""
    orders.read_by("revenue_daily", "run-7", orders.head)
    ana.opens_form()
    ana.submits()
    preview = ana.reads_form()

    ana.submits()
    warning = dana.sees("under review", "revenue-analytics")
    other = eli.sees("under review", "fraud-ml")
    bot.clock.advances(timedelta(minutes=5))
    bot.services.duties.settle_all()
    ana.sees("Notice “first warning” for fraud_model was delivered.")

    assert warning.plain.partition("\nAcknowledge")[0] in preview
    assert {"Acknowledge", "I need help…"} <= set(warning.buttons)
    assert "run-7" in warning.plain
    assert "run-7" not in other.plain
    assert len(dana.messages("revenue-analytics")) == 1
    assert len(eli.messages("fraud-ml")) == 1


def test_a_warning_that_nobody_sends_goes_out_by_itself(ana: Responder, dana: Responder, bot: LittleBot) -> None:
    """Consumers do not wait for a responder who closed the form."""
    ana.opens()
    before = dana.messages("revenue-analytics")

    bot.clock.advances(timedelta(minutes=2))
    bot.services.duties.settle_all()
    dana.sees("under review", "revenue-analytics")

    assert before == []
    assert len(dana.messages("revenue-analytics")) == 1


def test_another_window_is_taken_only_from_the_ledger(ana: Responder, orders: Orders, bot: LittleBot) -> None:
    """A last good snapshot that is no number, or that the table does not list, is refused; a listed one counts."""
    answers = []
    for since in ("yesterday", "123"):
        ana.opens_form()
        ana.fills({"since": since})
        ana.submits()
        answers.append(ana.reads_form())
        ana.dismisses()
    chosen = orders.commit_of("a", 2)

    ana.opens_form()
    ana.fills({"since": str(chosen)})
    ana.submits()
    ana.sees_on_card("under review")

    assert "“yesterday” is no snapshot id." in answers[0]
    assert "lists no snapshot 123." in answers[1]
    assert orders.waterline == chosen
    assert len(bot.services.store.all()) == 1


def test_a_last_good_snapshot_is_named_as_the_ledger_shows_it(ana: Responder, orders: Orders) -> None:
    """Slack shows the last six digits of an id: they are enough to type."""
    chosen = orders.commit_of("a", 2)

    ana.opens_form()
    ana.fills({"since": short(chosen)})
    ana.submits()
    ana.sees_on_card("under review")

    assert orders.waterline == chosen


@pytest.mark.parametrize("consumers", [()])
def test_without_declared_consumers_nobody_is_told_and_that_is_said(ana: Responder) -> None:
    """An incident opens without consumers; the form says that nobody is told."""
    ana.opens_form()
    ana.submits()
    told = ana.reads_form()
    ana.sees_on_card("under review")

    assert "No consumer of this table is declared, so nobody is told." in told
