"""What a responder says when the recovery itself was wrong, and how maintenance stands still meanwhile."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.incident.entries import EffectEnded, ExecutionEnded, ExecutionStarted, ProposalMade
from bot.incident.journal import WATERLINE
from bot.incident.trust import TrustState
from bot.incident.trust_claims import corrections_due
from bot.incident.waterline import undo_left
from bot.observation.ids import IncidentId
from bot.slack.blocks.card import _step_buttons
from bot.workspace import SeenMessage
from tests.decisions import ANA, BEN, PROPOSAL
from tests.incidents import Story
from tests.published import UNDO, undo_of_the_rewind
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder, eventually
from tests.tables import ORDERS

WL = IncidentId("wl-1")


@pytest.fixture
def proven(collected: SeenMessage, ana: Responder, ben: Responder) -> SeenMessage:
    """A rewind that was carried out and proven."""
    ben.clicks("Approve", ana.proposes())
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    ana.sees("Verified at head")
    ana.sees_on_card("(trusted)")
    return ana.sees_on_proposal("Propose to undo it")


@pytest.mark.smoke
def test_an_undo_is_proposed_by_one_approved_by_another_and_ends_the_trust(
    proven: SeenMessage, ana: Responder, ben: Responder, orders: Orders
) -> None:
    """The table is as it was, with the fault; so the mark says under review again, and maintenance stays frozen."""
    told = ana.answer_to(lambda: ana.clicks("Propose to undo it", proven))
    asked = ana.sees_on_proposal("Undo: Roll back table and job")
    ben.clicks("Approve", asked)
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    ana.sees_on_card("under review")

    assert told == "The undo is proposed. Somebody else must approve it before anything changes."
    assert "A responder asks for it: no reason was given" in asked.plain.partition("What will happen")[0]
    assert "return to their earlier state, including the fault" in asked.plain
    eventually(lambda: len(orders.positions) > len(set(orders.positions)))
    assert orders.status == "under-review"
    assert orders.table.properties["gc.enabled"] == "false"


def test_trust_ends_before_main_moves(
    proven: SeenMessage, ana: Responder, ben: Responder, orders: Orders, bot: LittleBot
) -> None:
    """Between an undo and its proof nobody relies on the head: the mark says so in the commit that moves it."""
    ana.clicks("Propose to undo it", proven)
    ben.clicks("Approve", ana.sees_on_proposal("Undo: Roll back table and job"))
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    eventually(lambda: len(orders.marked_when_main_moved) == 2)
    rewind, undo = orders.marked_when_main_moved

    assert (rewind, undo) == ("under-review", "under-review")
    [_opened, trusted, again] = reversed(bot.services.trust.history(ORDERS))
    assert (trusted.state, again.state) == (TrustState.TRUSTED, TrustState.UNDER_REVIEW)
    assert again.sentence.startswith("Questioned again: the verified state is changing or was rolled back in ")


def test_consumers_who_were_told_that_all_is_well_are_told_that_it_is_not(
    proven: SeenMessage, ana: Responder, ben: Responder, dana: Responder, bot: LittleBot
) -> None:
    """The card shows that they are due, a person sends it; nobody can tell them the contrary before the next proof."""
    ana.opens_form("notify recovered")
    ana.submits()
    dana.sees("is verified again", "revenue-analytics")
    ana.clicks("Propose to undo it", proven)
    ben.clicks("Approve", ana.sees_on_proposal("Undo: Roll back table and job"))
    ana.clicks("Execute", ana.sees_on_proposal("Execute"))
    ana.clicks("Send a correction…", ana.sees_on_card("Need a correction"))
    ana.reads_form()
    ana.submits()
    taken_back = dana.sees("the table is under review again, because", "revenue-analytics")
    eventually(lambda: list(bot.services.store.get(WL).proposals.values())[-1].verified is not None)
    bot.services.reconciler.reconcile_all()

    ana.opens_form("notify recovered")
    refused = ana.modal.plain

    assert "an earlier message was wrong" in taken_back.plain
    assert "until its new state is verified" in refused
    told = [view.notice for view in bot.services.store.get(WL).notices.values() if view.notice.kind != "warning"]
    assert [each.kind for each in told if each.channel == "C0REVENUE2"] == ["recovered", "correction"]


def test_a_person_says_why_no_correction_is_sent(
    proven: SeenMessage, ana: Responder, dana: Responder, bot: LittleBot
) -> None:
    """The card shows the consumer as due until then, and the reason is on record."""
    ana.opens_form("notify recovered")
    ana.submits()
    dana.sees("is verified again", "revenue-analytics")
    services = bot.services
    trusted = services.store.get(WL).waterline
    assert trusted is not None
    doubted = trusted.model_copy(update={"status": "under-review"})
    services.store.write(WL, by=WATERLINE, decide=lambda _now: [doubted])

    ana.clicks("No correction…", ana.sees_on_card("Need a correction"))
    ana.fills_reason("They read it on Mondays only.")
    ana.sees("They read it on Mondays only.")

    services.reconciler.reconcile_all()
    incident = services.store.get(WL)
    assert () == corrections_due(incident)
    assert "correction" not in {view.notice.kind for view in incident.notices.values()}


def test_maintenance_comes_back_when_the_incident_is_closed(
    proven: SeenMessage, ana: Responder, orders: Orders, bot: LittleBot
) -> None:
    """Frozen by the proposal, unfrozen by the end; the timeline of the closed incident says so."""
    frozen = orders.table.properties.get("gc.enabled")

    told = ana.asks("close anyway, it is over.")
    bot.services.reconciler.reconcile_all()

    assert frozen == "false"
    assert "because undo ends with the incident." in told
    eventually(lambda: "gc.enabled" not in orders.table.properties)
    eventually(lambda: not bot.services.store.get(WL).is_frozen)


def test_freeze_and_thaw_answer_with_what_they_did(collected: SeenMessage, ana: Responder, orders: Orders) -> None:
    """At once, without a proposal: nothing is lost by it, and it can be taken back."""
    frozen = ana.asks("freeze")
    properties = orders.table.properties
    unfrozen = ana.asks("unfreeze")

    assert "Maintenance of sales.orders is frozen until wl-1 is closed" in frozen
    assert (properties["gc.enabled"], properties["waterline.maintenance"]) == ("false", "frozen")
    assert "gc.enabled is not set again" in unfrozen
    assert "waterline.maintenance" not in orders.table.properties


def test_an_action_can_be_asked_for_by_name_and_an_unknown_one_is_answered(
    collected: SeenMessage, ana: Responder
) -> None:
    """The answer to a mistyped one lists them."""
    unknown = ana.asks("propose rollback")
    known = ana.asks("propose")

    assert "Waterline has no action for “rollback”" in unknown
    assert "roll_back_table_and_restore_job" in unknown
    assert "Somebody else must approve it" in known
    assert ana.sees_on_proposal("Roll back table and job")


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """A rewind is approved."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens().answers().proposes().approves()


def confirmed(story: Story) -> str:
    """What the card's button asks at the runbook's end, before the form to close comes."""
    return str([each.to_dict() for each in _step_buttons(story.incident, None)])


def test_closing_says_what_cannot_be_undone_then(story: Story) -> None:
    """A recovery that was carried out; as long as nothing was, there is nothing to say."""
    before = confirmed(story)
    story.rewinds()

    after = confirmed(story)

    assert "cannot be undone" not in before
    assert "After that, “Roll back table and job to checkpoint 10” cannot be undone." in after


def test_a_recovery_that_was_taken_back_leaves_nothing_to_undo(story: Story) -> None:
    """The undo itself is not offered to be undone at the end."""
    undo = undo_of_the_rewind(story.rewinds().now).model_copy(update={"action": "undo_proposal"})
    story.says(ProposalMade(step=None, proposal=undo), by=ANA).says(ExecutionStarted(proposal=UNDO), by=BEN)
    story.says(EffectEnded(proposal=UNDO, index=0, how="done", detail="Moved main."))

    assert undo_left(story.incident) is None


def test_what_was_refused_before_its_first_step_leaves_nothing_to_undo(story: Story) -> None:
    """It did nothing."""
    story.says(ExecutionStarted(proposal=PROPOSAL), by=BEN)
    story.says(ExecutionEnded(proposal=PROPOSAL, outcome="refused", sentence="The head has moved."))

    assert undo_left(story.incident) is None
