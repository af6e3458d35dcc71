"""A diagnosis finds nothing wrong any more, though rows had been counted wrong: the walk does not end in words that are
refused."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.diagnosis import Remedy
from bot.domain.errors import Refused
from bot.domain.evidence import Verdict
from bot.domain.ids import SnapshotId, StepId
from bot.domain.incident import Incident
from bot.domain.notice import NO_ACTION
from bot.domain.runbook import MENDED, DecisionStep, NoticeStep, Runbook
from bot.runbook.progress import because
from bot.service.diagnosis_desk import outcome_of
from bot.service.telling_rules import refuse_false_comfort
from tests import orders_table as orders
from tests.incidents import Story, healthy
from tests.runbook.shipped import shipped
from tests.runbook.test_progress import ended

BOOK = shipped()["missing-rows"]


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    """Positions were missing, and the job has brought them by itself."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as store:
        story = Story(store.journal).opens().answers("missing_positions", head=SnapshotId(orders.HEAD - 1000))
        yield story.answers("missing_positions", Verdict.RULED_OUT).says(healthy())


def decided(incident: Incident, step: str, book: Runbook = BOOK) -> tuple[str, str | None]:
    """(outcome key, the step that follows it)."""
    asked = book.step(StepId(step))
    assert isinstance(asked, DecisionStep)
    assert incident.diagnosis is not None
    walked = replace(incident, opened=incident.opened.model_copy(update={"runbook": book}))
    key, _why = outcome_of(incident.diagnosis, asked, walked)
    return key, asked.branches.get(key, asked.next)


@pytest.mark.parametrize("step", ["name-it", "name-it-again"])
def test_what_others_mended_is_to_be_proven(story: Story, step: str) -> None:
    """Also after Flink had to settle; nobody is led to a notice that may not be sent."""
    assert decided(story.incident, step) == (MENDED, "have-it-proven")


def test_it_is_said_why(story: Story) -> None:
    """In the sentence below the step."""
    said = because(BOOK.step(StepId("name-it")), ended(MENDED, "healthy: The job runs."))

    assert said == "healthy asks for nothing any more, and rows had been counted wrong before"


def test_what_is_left_after_a_repair_is_counted_once_more(story: Story) -> None:
    """There, nothing leads to the all-clear anyway."""
    assert decided(story.incident, "name-what-is-left") == (Remedy.NOTHING, "look-again-round-2")


def test_what_was_right_all_along_is_told_so(tmp_path: Path) -> None:
    """As ever."""
    with closing(open_store(f"sqlite:///{tmp_path / 'right.db'}")) as store:
        right = Story(store.journal).opens().answers("missing_positions", Verdict.RULED_OUT).says(healthy())

        assert decided(right.incident, "name-it") == (Remedy.NOTHING, "tell-no-action")


def test_another_answer_of_one_head_mends_nothing(tmp_path: Path) -> None:
    """Its rows were right when they were read: the question was wrong, as by a key that the contract does not name any
    more."""
    with closing(open_store(f"sqlite:///{tmp_path / 'asked.db'}")) as store:
        asked = Story(store.journal).opens().answers("missing_positions")
        asked.answers("missing_positions", Verdict.RULED_OUT).says(healthy())

        assert decided(asked.incident, "name-it") == (Remedy.NOTHING, "tell-no-action")


def test_no_decision_leads_to_words_that_are_refused(story: Story) -> None:
    """Whatever the runbook."""
    with pytest.raises(Refused):
        refuse_false_comfort(story.incident, NO_ACTION)
    for book in shipped().values():
        asked = [step.id for step in book.steps if isinstance(step, DecisionStep) and step.on != "choice"]
        spares = {step.id for step in book.steps if isinstance(step, NoticeStep) and step.notice == NO_ACTION}
        assert not spares & {decided(story.incident, step, book)[1] for step in asked}
