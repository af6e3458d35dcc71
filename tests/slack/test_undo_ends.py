"""Undo ends with the incident: whoever closes it is told, where something could still be undone."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import EffectEnded, ExecutionEnded, ExecutionStarted, ProposalMade
from bot.domain.waterline import undo_left
from bot.slack.blocks.card import _step_buttons
from tests.decisions import ANA, BEN, PROPOSAL
from tests.incidents import Story
from tests.published import UNDO, undo_of_the_rewind


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
    assert "After that, “Rewind table and job: back to checkpoint 10” cannot be undone." in after


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
