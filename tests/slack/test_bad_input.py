"""What the bot relies on is down or malformed: a clear answer, and the incident stays."""

import pytest

from bot.workspace import SeenMessage
from tests.slack.little_bot import Cluster, LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder


def test_without_flink_an_incident_still_opens_and_says_what_was_not_seen(ana: Responder, flink: Cluster) -> None:
    """The form proposes from the table alone and names what could not be asked."""
    flink.is_down = True

    ana.opens_form()

    assert "Flink was not asked" in ana.modal.plain
    assert ana.modal.submit == "Open"


def test_without_flink_nothing_is_proposed(collected: SeenMessage, ana: Responder, flink: Cluster) -> None:
    """A rewind needs to know what runs: what was expected, what was found, what to do."""
    flink.is_down = True

    answer = ana.answer_to(lambda: ana.clicks("Propose", collected))
    flink.is_down = False
    proposed = ana.proposes()

    assert "Nothing can be proposed about the job while Flink does not answer." in answer
    assert "the connection was refused" in answer
    assert "Approve" in proposed.buttons


def test_flink_that_goes_away_before_execute_leaves_the_approval_standing(
    collected: SeenMessage, ana: Responder, ben: Responder, orders: Orders, flink: Cluster
) -> None:
    """Not having looked is no reason to supersede: nothing is changed, and it can be carried out later."""
    ben.clicks("Approve", ana.proposes())
    approved = ana.sees_on_proposal("Execute")
    head, calls = orders.head, flink.calls

    flink.is_down = True
    answer = ana.answer_to(lambda: ana.clicks("Execute", approved))
    unchanged = (orders.head, flink.calls)
    flink.is_down = False
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    ana.sees("Verified at head")

    assert "Flink did not answer." in answer
    assert unchanged == (head, calls)
    assert orders.positions == list(range(70))


def test_a_table_that_cannot_be_read_is_said(ana: Responder, orders: Orders) -> None:
    """Form and ledger name the metadata that is gone; when it is back, the same commands work."""
    orders.loses_its_metadata()

    ana.opens_form()
    form = ana.modal.plain
    ana.dismisses()
    ledger = ana.asks("ledger")
    orders.finds_its_metadata()
    again = ana.asks("ledger")

    assert "could not be read" in form
    assert "could not be read" in ledger
    assert "The last commits of sales.orders" in again


def test_evidence_on_a_table_that_cannot_be_read_fails_and_can_be_run_again(ana: Responder, orders: Orders) -> None:
    """The step stays with its reason; the incident goes on when the table is back."""
    card = ana.opens()
    orders.loses_its_metadata()

    ana.clicks("Run evidence", card)
    failed = ana.sees_on_card("Run again")
    orders.finds_its_metadata()
    ana.clicks("Run again", failed)
    ana.sees_on_card("Step 2")

    assert "could not be read" in failed.plain


@pytest.mark.parametrize("line", ["{not json\n", '{"eventTime": "yesterday"}\n'])
def test_a_malformed_lineage_file_is_could_not_look(ana: Responder, dana: Responder, bot: LittleBot, line: str) -> None:
    """A consumer is told that it is not known whether it read, never that it did not; why is for responders."""
    bot.lineage.write_text(line)
    ana.opens_form()
    ana.submits()
    ana.reads_form()

    ana.submits()
    warning = dana.sees("under review", "revenue-analytics")

    assert "cannot tell whether" in warning.plain
    assert "lines are not" not in warning.plain
    assert "Others may have read it unobserved" in ana.sees_on_card("1 lines are not").plain


def test_the_preview_says_when_readers_are_not_known(collected: SeenMessage, ana: Responder, bot: LittleBot) -> None:
    """A proposal never shows an empty list of readers where nobody could look."""
    bot.lineage.unlink()

    proposed = ana.proposes()

    assert "Readers unknown" in proposed.plain
