"""Where the newest proof puts the waterline."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.effects import MarkTable, StartJob
from bot.domain.entries import (
    Body,
    EffectEnded,
    EffectStarted,
    ExecutionEnded,
    ExecutionStarted,
    ProposalMade,
    Verified,
    WaterlineMoved,
)
from bot.domain.ids import CheckpointId
from bot.domain.waterline import owed_waterline
from tests import orders_table as orders
from tests.decisions import ANA, BEN
from tests.incidents import Story
from tests.published import MENDED, UNDO, UNDO_PROOF, publishes, undo_of_the_rewind, undoes_the_rewind


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """An incident that is not opened yet."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal)


def test_without_a_proof_nothing_is_said(story: Story) -> None:
    """Opening put it where it is."""
    assert owed_waterline(story.opens().incident) is None


def test_a_second_repair_of_an_incident_takes_the_waterline_along(story: Story) -> None:
    """The state that was trusted first had to be mended again: it is trusted no more."""
    story.opens()
    story.says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))

    publishes(story)

    assert owed_waterline(story.incident) == WaterlineMoved(snapshot=MENDED, status="trusted")


def test_an_undo_takes_it_back(story: Story) -> None:
    """The fault is there again."""
    undoes_the_rewind(publishes(story.opens()))

    assert owed_waterline(story.incident) == WaterlineMoved(snapshot=orders.GOOD, status="under-review")


@pytest.mark.parametrize("is_done", [False, True])
def test_from_its_beginning_to_its_proof_a_move_of_main_is_nobodys_trust(story: Story, is_done: bool) -> None:
    """Whoever reads the head in between reads what nobody has proven."""
    publishes(story.opens())
    begins_to_move(story, *([ended("applied")] if is_done else []))

    assert owed_waterline(story.incident) == WaterlineMoved(snapshot=orders.GOOD, status="under-review")


def test_a_proof_that_fails_gives_no_trust_back(story: Story) -> None:
    """Main was moved, and what it is now is wrong, or could not be looked at."""
    publishes(story.opens())
    begins_to_move(story, ended("applied"), UNDO_PROOF.model_copy(update={"passed": False}))

    assert owed_waterline(story.incident) == WaterlineMoved(snapshot=orders.GOOD, status="under-review")


def test_a_move_that_was_refused_leaves_the_proof_as_it_is(story: Story) -> None:
    """Nothing was done: the proven head is still there."""
    publishes(story.opens())
    refused = EffectEnded(proposal=UNDO, index=0, how="refused", detail="main had moved")
    begins_to_move(story, refused, ended("refused"))

    assert owed_waterline(story.incident) == WaterlineMoved(snapshot=MENDED, status="trusted")


def test_a_move_of_which_it_was_not_known_first_leaves_the_proof_as_it_is(story: Story) -> None:
    """Its answer was lost; then it was found that it never happened."""
    publishes(story.opens())
    begins_to_move(story, ended("unknown"))
    while_unknown = owed_waterline(story.incident)
    story.says(EffectEnded(proposal=UNDO, index=0, how="refused", detail="main had moved"), ended("refused"))

    assert while_unknown == WaterlineMoved(snapshot=orders.GOOD, status="under-review")
    assert owed_waterline(story.incident) == WaterlineMoved(snapshot=MENDED, status="trusted")


@pytest.mark.parametrize(
    ("effect", "status"),
    [
        (StartJob(job=orders.JOB, path="s-6", checkpoint_id=CheckpointId(6)), "under-review"),
        (MarkTable(table=orders.TABLE, why="Remove the tag", remove_tags=("kept",)), "trusted"),
    ],
)
def test_an_undo_that_touches_neither_main_nor_the_job_takes_no_trust(
    story: Story, effect: StartJob | MarkTable, status: str
) -> None:
    """A tag that is removed again changes no row; a job that was put back may commit what is wrong."""
    publishes(story.opens())
    made = undo_of_the_rewind(story.now).model_copy(update={"effects": (effect,)})
    story.says(ProposalMade(step=None, proposal=made), by=ANA).says(ExecutionStarted(proposal=UNDO), by=BEN)
    story.says(ended("applied"), UNDO_PROOF)

    owed = owed_waterline(story.incident)

    assert owed is not None
    assert owed.status == status


def test_a_repair_of_the_job_whose_proof_fails_is_nobodys_trust(story: Story) -> None:
    """It has not moved main by itself, and its job commits what is wrong."""
    publishes(story.opens())
    effect = StartJob(job=orders.JOB, path="s-6", checkpoint_id=CheckpointId(6))
    made = undo_of_the_rewind(story.now).model_copy(update={"effects": (effect,)})
    story.says(ProposalMade(step=None, proposal=made), by=ANA).says(ExecutionStarted(proposal=UNDO), by=BEN)
    failed = Verified(proposal=UNDO, passed=False, checks=(), evidence=(), head=MENDED)
    story.says(ended("applied"), failed)

    assert owed_waterline(story.incident) == WaterlineMoved(snapshot=orders.GOOD, status="under-review")


def test_a_table_that_was_found_healthy_is_doubted_when_main_is_moved_all_the_same(story: Story) -> None:
    """There was no proof to take back, and there is trust to take back."""
    story.opens().says(WaterlineMoved(snapshot=orders.HEAD, status="trusted"))
    begins_to_move(story)

    assert owed_waterline(story.incident) == WaterlineMoved(snapshot=orders.GOOD, status="under-review")


def test_where_nothing_was_good_at_opening_the_proven_snapshot_is_named(story: Story) -> None:
    """It is the only one of which anything was proven; trusted it is no more."""
    undoes_the_rewind(publishes(story.opens(trusted=None)))

    assert owed_waterline(story.incident) == WaterlineMoved(snapshot=MENDED, status="under-review")


def begins_to_move(story: Story, *then: Body) -> None:
    """An approved undo of what was proven is begun; main may move any moment."""
    story.says(ProposalMade(step=None, proposal=undo_of_the_rewind(story.now)), by=ANA)
    story.says(ExecutionStarted(proposal=UNDO), by=BEN)
    story.says(EffectStarted(proposal=UNDO, index=0, expected_head=MENDED))
    for body in then:
        story.says(body)


def ended(outcome: str) -> ExecutionEnded:
    """The undo's end."""
    return ExecutionEnded.model_validate({"proposal": UNDO, "outcome": outcome, "sentence": "It ended."})
