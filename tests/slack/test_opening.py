"""An incident is opened: the form is filled, the card appears, the table is marked, consumers are warned."""

from bot.workspace import Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder, eventually


def test_the_form_proposes_the_window_and_what_to_trust(ana: Responder, orders: Orders) -> None:
    """The form arrives filled: the last good snapshot, the window above it, and why."""
    good = orders.commit_of("a", 5)

    ana.opens_form()

    assert f"({good})" in ana.modal.plain
    assert "Proposed window: 5 commits" in ana.modal.plain
    assert "was restored from checkpoint 3" in ana.modal.plain


def test_opening_marks_the_table_and_warns_each_consumer_once(
    ana: Responder, dana: Responder, eli: Responder, orders: Orders, bot: LittleBot, slack: Workspace
) -> None:
    """Each consumer is told its own reading, once; the tag stays on what is trusted."""
    orders.read_by("revenue_daily", "run-7", orders.head)

    ana.opens()
    warning = dana.sees("under review", "revenue-analytics")
    other = eli.sees("under review", "fraud-ml")
    bot.services.duties.settle_all()
    ana.sees_on_card("under-review")

    assert "run-7" in warning.plain
    assert "run-7" not in other.plain
    assert orders.waterline == orders.commit_of("a", 5)
    assert orders.status == "under-review"
    eventually(lambda: len(slack.wire("api", "chat.postMessage")) > 0)
    assert len(dana.messages("revenue-analytics")) == 1
    assert len(eli.messages("fraud-ml")) == 1
