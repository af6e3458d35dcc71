"""An incident is opened: the form is filled, the card appears, the table is marked, consumers are warned."""

from datetime import timedelta

import pytest

from bot.domain.ids import SnapshotId, TableName, short
from bot.domain.table import Window
from bot.service.opening import Offer
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder


@pytest.mark.smoke
def test_the_form_proposes_the_window_and_what_to_trust(ana: Responder, orders: Orders) -> None:
    """The form arrives filled: the last good snapshot, the window above it, and why."""
    good = orders.commit_of("a", 5)

    ana.opens_form()

    assert f"Last snapshot with no known problem: {short(good)}" in ana.modal.plain
    assert "Proposed window: 5 commits" in ana.modal.plain
    assert "was restored from checkpoint 3" in ana.modal.plain


def test_a_window_from_the_first_commit_says_so() -> None:
    """Nothing comes before it."""
    window = Window(since=None, until=SnapshotId(5447865766088436071))
    offer = Offer(
        table=TableName("sales.orders"), window=window, trusted=None, because="", commits=1, metadata_location=""
    )

    assert offer.window_in_words == "1 commit, from the first one up to …436071"


@pytest.mark.smoke
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
    ana.sees_on_card(":white_check_mark: fraud_model")

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
    """A last good snapshot that the table does not list is refused, with the words that were typed; a listed one
    counts."""
    ana.opens_form()
    ana.fills({"since": "123", "summary": "Dana sees too much revenue."})
    ana.submits()
    refused = ana.reads_form()
    ana.dismisses()
    chosen = orders.commit_of("a", 2)

    ana.opens_form()
    ana.fills({"since": str(chosen)})
    ana.submits()
    ana.sees_on_card("under review")

    assert "lists no snapshot 123." in refused
    assert "Dana sees too much revenue." in refused
    assert orders.waterline == chosen
    assert len(bot.services.store.all()) == 1


def test_what_is_no_snapshot_id_is_told_at_its_field(ana: Responder, orders: Orders, bot: LittleBot) -> None:
    """The form stays open with all that was typed, as often as it is submitted; mended there, it opens the incident."""
    chosen = orders.commit_of("a", 2)
    ana.opens_form()
    ana.fills({"since": "yesterday", "summary": "Dana sees too much revenue."})

    told = [ana.submits().errors for _ in range(2)]
    ana.fills({"since": str(chosen)})
    ana.submits()
    ana.sees_on_card("under review")

    assert told[0] == told[1]
    assert "This is not a snapshot id." in told[0]["since"]
    assert [each.opened.summary for each in bot.services.store.all()] == ["Dana sees too much revenue."]


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

    assert "This table has no declared consumers, so nobody is notified." in told
