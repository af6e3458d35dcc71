"""The approved rewind is carried out once, proven, and told to each consumer once."""

import pytest

from bot.domain.ids import IncidentId
from bot.workspace import SeenMessage, Workspace
from tests.rewound import WRONG_RUN
from tests.slack.little_bot import Cluster, LittleBot
from tests.slack.orders import Orders
from tests.slack.people import PATIENCE_S, Responder, eventually

WL = IncidentId("wl-1")


@pytest.fixture
def approved(collected: SeenMessage, ana: Responder, ben: Responder) -> SeenMessage:
    """A rewind that Ana proposed and Ben approved."""
    ben.clicks("Approve", ana.proposes())
    return ana.sees_on_proposal("Execute")


@pytest.fixture
def recovered(approved: SeenMessage, ana: Responder) -> SeenMessage:
    """The card after the proof and the two looks at the new head: consumers are to be told."""
    ana.clicks("Execute", approved)
    ana.sees("Verified at head")
    for title in ("Look again: missing positions", "Tell consumers"):
        ana.clicks("Run evidence", ana.sees_on_card("Run evidence"))
        ana.sees_on_card(f": {title}")
    return ana.sees_on_card("Preview and send…")


@pytest.mark.smoke
def test_the_rewind_is_proven_and_the_waterline_moves(
    approved: SeenMessage, ana: Responder, orders: Orders, flink: Cluster
) -> None:
    """Stop, move, start, once each; every position exactly once; the table says that it is trusted."""
    before = len(flink.calls)

    ana.clicks("Execute", approved)
    proven = ana.sees("Verified at head")
    ana.sees_on_card("(trusted)")

    assert [call.split()[0] for call in flink.calls[before:]] == ["stop", "start"]
    assert flink.calls[before] == f"stop {WRONG_RUN}"
    assert orders.positions == list(range(70))
    assert orders.status == "trusted"
    assert orders.waterline == orders.head
    assert "The first commit is of a later checkpoint than 5" in proven.plain
    assert "No duplicate rows" in proven.plain
    assert "No missing rows" in proven.plain
    assert proven.thread_ts == approved.ts


@pytest.mark.smoke
def test_execute_clicked_twice_and_by_two_people_is_done_once(
    approved: SeenMessage, ana: Responder, ben: Responder, orders: Orders, flink: Cluster, slack: Workspace
) -> None:
    """One click starts it; every other one hears who started it and when."""
    before = len(flink.calls)
    slack.faults.doubles_clicks()

    ana.clicks("Execute", approved)
    ana.sees("Started.")
    late = ben.answer_to(lambda: ben.clicks("Execute", approved))
    ana.sees("Verified at head")

    assert "was started by @Ana Ribeiro at" in late
    assert [call.split()[0] for call in flink.calls[before:]] == ["stop", "start"]
    assert orders.positions == list(range(70))
    mine = [m.plain for m in ana.messages() if m.is_ephemeral]
    assert sum("Started." in told for told in mine) == 1
    assert sum("was started by" in told for told in mine) == 1


def test_an_outsider_does_not_carry_it_out(
    approved: SeenMessage, cleo: Responder, finn: Responder, flink: Cluster
) -> None:
    """Only the proposer and who approved may start it, not even another approver."""
    calls = flink.calls

    approver = cleo.answer_to(lambda: cleo.clicks("Execute", approved))
    outsider = finn.answer_to(lambda: finn.clicks("Execute", approved))

    assert "Only the proposer or an approver may run it." in approver
    assert "Only the proposer or an approver may run it." in outsider
    assert flink.calls == calls


def test_what_was_previewed_is_what_is_sent(
    recovered: SeenMessage, ana: Responder, dana: Responder, orders: Orders, bot: LittleBot
) -> None:
    """The form shows each consumer's very text; after sending, each has it once."""
    ana.clicks("Preview and send…", recovered)
    preview = ana.reads_form()
    ana.submits()
    told = dana.sees("proven again", "revenue-analytics")
    ana.sees_on_card("Open the review")

    assert told.plain.partition("\nAcknowledge")[0] in preview
    assert {"Acknowledge", "I need help…"} <= set(told.buttons)
    assert f"{orders.head}" in told.plain
    assert not ana.has_modal


def test_a_form_that_is_submitted_twice_sends_once(
    recovered: SeenMessage, ana: Responder, ben: Responder, dana: Responder, eli: Responder, slack: Workspace
) -> None:
    """Two people preview and send, and one submission is redelivered: each consumer is told once."""
    for person in (ana, ben):
        person.clicks("Preview and send…", recovered)
        person.reads_form()

    slack.faults.doubles_deliveries()
    sent = ana.answer_to(ana.submits)
    again = ben.answer_to(ben.submits)
    slack.faults.redelivers()
    ana.sees_on_card("Open the review")

    assert "Sent to revenue_daily, fraud_model." in sent
    assert "These notices were already sent." in again
    for reader, channel in ((dana, "revenue-analytics"), (eli, "fraud-ml")):
        reader.sees("proven again", channel)
        assert sum("proven again" in m.plain for m in reader.messages(channel)) == 1


@pytest.mark.smoke
def test_the_walk_ends_with_review_and_a_whole_record(
    recovered: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Told, reviewed, closed; the chain of the record is whole, and the record comes as files."""
    ana.clicks("Preview and send…", recovered)
    ana.reads_form()
    ana.submits()
    ana.clicks("Open the review", ana.sees_on_card("Open the review"))
    ana.clicks("Close…", ana.sees_on_card("Close…"))
    ana.fills_reason("Recovered and verified.")
    ana.sees_on_card("Closed by @Ana Ribeiro: Recovered and verified.")

    ana.clicks("Export the record", recovered)
    eventually(lambda: len(slack.wire("api", "files.completeUploadExternal")) == 1, PATIENCE_S)

    assert bot.store.journal.verify() == ()
    assert not bot.services.store.get(WL).is_open
