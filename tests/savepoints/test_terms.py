"""The terms of a planned savepoint: shown whole before a yes, covered by it, and changed by nobody afterwards."""

import pytest

from bot.actions import take_savepoint
from bot.domain.errors import Refused
from bot.domain.execution import ProposalView
from bot.domain.proposal import Proposal
from bot.slack.blocks.proposal import proposal_message
from tests.rewound import BEN
from tests.savepoints.world import WEEK, World
from tests.tables import ORDERS


def _terms(proposal: Proposal) -> dict[str, str]:
    return {term.name: term.says for term in proposal.preview.recorded}


def test_the_preview_shows_the_whole_plan(world: World) -> None:
    """Reason, code, snapshots, retention, until when."""
    world.plans()
    proposal, plan = world.savepoint()

    terms = _terms(proposal)

    assert plan.planned is not None
    head = world.scene.snapshot("a", 5)
    day = f"{plan.planned.until:%Y-%m-%d}"
    assert terms == {
        "Reason": "New pricing.",
        "Code": "1.4 before, 1.5 after. But Flink says that test runs now.",
        "Snapshots": f"{head} is the head now, schema 0. The snapshot that the stop commits is added later.",
        "Retention": f"The tag keeps the snapshot until {day}, or until the table has no open incident. "
        "The contract names no retention.",
        "Authoritative": f"until {day}. A proposal that starts from another point names both.",
    }


def test_people_are_asked_with_every_term_in_the_message(world: World) -> None:
    """Nobody is mentioned, whatever the reason says."""
    world.plans(reason=f"New pricing, asked for by <@{BEN}>.")
    made = world.proposes(*world.savepoint())
    view = ProposalView(proposal=made, step=None)

    _text, blocks = proposal_message(world.scene.store.get(world.scene.incident), view, {})

    shown = str([block.to_dict() for block in blocks])
    assert "*Terms*" in shown
    assert f"asked for by &lt;@{BEN}&gt;." in shown


def test_the_digest_covers_the_terms(world: World) -> None:
    """A yes to one reason is no yes to another."""
    world.plans()
    one, plan = world.savepoint()
    assert plan.planned is not None

    other = take_savepoint.propose(
        plan.model_copy(update={"planned": plan.planned.model_copy(update={"reason": "Something else."})})
    )

    assert one.digest != other.digest


def test_a_plan_is_not_changed_under_its_proposal(world: World) -> None:
    """With the proposal rejected, it can be planned anew."""
    world.plans()
    made = world.proposes(*world.savepoint())

    with pytest.raises(Refused, match=r"A savepoint is already proposed.*Reject it first"):
        world.plans(reason="Another.")
    with pytest.raises(Refused, match="A savepoint is already proposed"):
        world.savepoints.offer(ORDERS)
    world.approvals.reject(world.scene.incident, made.id, "Not today.", by=BEN)
    world.plans(reason="Another.")

    plan = world.scene.store.get(world.scene.incident).plan
    assert plan is not None
    assert plan.reason == "Another."


def test_what_is_kept_has_the_terms_that_were_approved(world: World) -> None:
    """A plan that is written afterwards is for the next savepoint."""
    world.plans()
    world.takes_it()
    world.plans(reason="Another.", until=4 * WEEK)

    _kept, counts, _left, _hidden = world.savepoints.catalogue(ORDERS)

    assert counts is not None
    assert counts.plan is not None
    assert counts.plan.reason == "New pricing."


def test_a_plan_whose_day_has_passed_is_not_proposed(world: World) -> None:
    """It would count for nobody; the refusal says how to plan anew."""
    world.plans()

    with pytest.raises(Refused, match=r"The day of the planned savepoint has passed.*/waterline savepoint"):
        world.savepoint(at=world.scene.plan().at + 2 * WEEK)
