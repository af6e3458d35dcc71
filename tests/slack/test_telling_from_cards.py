"""What consumers are told beside the runbook's steps is offered where it comes up: on the proposal, on the review."""

from contextlib import closing
from pathlib import Path

import pytest
from slack_sdk.models.blocks import Block

from bot.adapters.journal_sql import open_store
from bot.domain.effects import ReplayRows
from bot.domain.entries import Finding, ReviewOpened
from bot.domain.ids import IncidentId
from bot.domain.replay import PositionRange, Replay, ReplayRange, ReplayRecipe
from bot.slack.blocks.proposal import proposal_message
from tests import orders_table as orders
from tests.decisions import PROPOSAL
from tests.incidents import Story
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder

REVENUE = "revenue-analytics"
WL = IncidentId("wl-1")


@pytest.mark.usefixtures("collected")
def test_a_recovery_is_told_from_its_proposal(ana: Responder, dana: Responder) -> None:
    """While it waits; what is previewed is what arrives. When it is over the button is gone."""
    ana.clicks("Tell consumers…", ana.proposes())
    shown = ana.reads_form()
    ana.submits()

    told = dana.sees("recovery", REVENUE)
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


def test_a_replay_is_announced_from_its_proposal(tmp_path: Path) -> None:
    """Rows come again with their old times: whoever reads incrementally has to know before."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        incident = Story(store.journal).opens().diagnoses().proposes().incident
    view = incident.proposals[PROPOSAL]
    before = labels(proposal_message(incident, view, {})[1])
    recipe, bounds = (
        ReplayRecipe(sql="SELECT 1", source="orders in Kafka"),
        ReplayRange(positions=(PositionRange(first=30, last=39),)),
    )
    replay = Replay(
        recipe=recipe, bounds=bounds, key=("order_id",), position="source_position", position_partition=None,
        event_time=None, rows=10, digest="4c1f",
    )  # fmt: skip
    rows = ReplayRows(table=orders.TABLE, branch="recovery-wl-1", incident=WL, why="Replay", replay=replay)
    view.proposal = view.proposal.model_copy(update={"effects": (rows,)})

    after = labels(proposal_message(incident, view, {})[1])

    assert after == [*before, "Announce backfill…"]


def labels(blocks: list[Block]) -> list[str]:
    """Of the buttons, in order."""
    return [
        each["text"]["text"] for b in blocks for each in b.to_dict().get("elements", []) if each["type"] == "button"
    ]
