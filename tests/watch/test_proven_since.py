"""What the watch has found in a table that was proven counts until the table is proven anew."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import Verified
from bot.domain.evidence import Verdict
from bot.domain.watch import Sighted, open_findings, recall
from tests.decisions import HEAD_AFTER, PROPOSAL
from tests.incidents import Story
from tests.watch.signs import sighted, sign


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """The incident is open, and has proven its table."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        yield Story(store.journal).opens().answers().diagnoses().proposes().approves().rewinds().verifies()


def proves(story: Story, *, passed: bool = True) -> Story:
    """The newest answer is what the proof is made of."""
    run = next(reversed(story.incident.runs))
    return story.says(Verified(proposal=PROPOSAL, passed=passed, checks=(), evidence=(run,), head=HEAD_AFTER))


def counting(story: Story, found: Sighted) -> bool:
    """Whether the table is not called trusted for it."""
    return open_findings(recall([found]), [story.incident]) == (found,)


def test_a_finding_after_the_proof_counts_until_the_next_one(story: Story) -> None:
    """A false alarm of something that lasts would otherwise keep the table untrusted, and the all-clear back."""
    found = sighted(sign(), at=story.now)
    before = counting(story, found)
    proves(story.answers(verdict=Verdict.RULED_OUT))

    assert before
    assert not counting(story, found)


def test_a_proof_that_looked_before_it_or_failed_ends_nothing(story: Story) -> None:
    """It says nothing of what was found."""
    story.answers(verdict=Verdict.RULED_OUT)
    found = sighted(sign(), at=story.now)

    assert counting(proves(story), found)
    assert counting(proves(story.answers(), passed=False), found)
