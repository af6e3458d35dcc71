"""A table is trusted by evidence alone: a verification that asked none gives no trust, whatever the action says."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.effects import Effect, MarkTable, MoveTable
from bot.domain.entries import EffectEnded, EffectStarted, ExecutionEnded, ExecutionStarted, ProposalMade, Verified
from bot.domain.waterline import owed_waterline
from tests import orders_table as orders
from tests.decisions import ANA, BEN
from tests.incidents import PROVEN_BY, Story
from tests.published import MENDED, UNDO, publishes, undo_of_the_rewind

TAG = MarkTable(table=orders.TABLE, why="Tag the head", new_tags={"ours": orders.HEAD})
MOVE = MoveTable(table=orders.TABLE, to=orders.GOOD, keep_head_as="left-2")


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """Rows are there twice, and diagnosed."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens().answers().diagnoses()


def passes(story: Story, effect: Effect, moves_waterline: str, *, asked: bool = False) -> Story:
    """An action of one's own is carried out, and its verification passes."""
    made = undo_of_the_rewind(story.now).model_copy(update={"action": "ours", "effects": (effect,)})
    story.says(ProposalMade(step=None, proposal=made), by=ANA).says(ExecutionStarted(proposal=UNDO), by=BEN)
    story.says(EffectStarted(proposal=UNDO, index=0), EffectEnded(proposal=UNDO, index=0, how="done", detail="Done."))
    story.says(ExecutionEnded(proposal=UNDO, outcome="applied", sentence="It is done."))
    proof = Verified(proposal=UNDO, passed=True, checks=(), evidence=(PROVEN_BY,) if asked else (), head=orders.HEAD)
    return story.says(proof.model_copy(update={"moves_waterline": moves_waterline}))


def test_a_damaged_table_is_not_trusted_because_a_tag_was_set(story: Story) -> None:
    """What was found before still counts."""
    assert owed_waterline(passes(story, TAG, "trusted").incident) is None


def test_it_takes_no_trust_either(story: Story) -> None:
    """It changed no row: what was proven before stays proven."""
    owed = owed_waterline(passes(publishes(story), TAG, "trusted").incident)

    assert owed is not None
    assert (owed.status, owed.snapshot) == ("trusted", MENDED)


@pytest.mark.parametrize("moves_waterline", ["trusted", "no"])
def test_main_that_was_moved_stays_under_review_while_nobody_has_looked_at_its_rows(
    story: Story, moves_waterline: str
) -> None:
    """Also after a proof of what it was before."""
    owed = owed_waterline(passes(publishes(story), MOVE, moves_waterline).incident)

    assert owed is not None
    assert owed.status == "under-review"


def test_evidence_gives_it(story: Story) -> None:
    """The same, asked."""
    owed = owed_waterline(passes(story, MOVE, "trusted", asked=True).incident)

    assert owed is not None
    assert (owed.status, owed.snapshot) == ("trusted", orders.HEAD)
