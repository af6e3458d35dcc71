"""Where an incident is in its runbook follows from the outcomes alone, also where nothing is wrong any more."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.adapters.journal_sql import Store, open_store
from bot.incident.diagnosis import Remedy
from bot.incident.incident import Incident
from bot.incident.notice import NO_ACTION
from bot.incident.runbook import FIXED_ELSEWHERE, NOT_POSSIBLE, DecisionStep, NoticeStep, Runbook, StepOutcome
from bot.observation.errors import Refused
from bot.observation.evidence import Verdict
from bot.observation.ids import SnapshotId, StepId
from bot.runbook.parse import parse
from bot.runbook.progress import because, position, possible_outcomes
from bot.service.diagnosis_service import outcome_of
from bot.service.notices.policy import refuse_false_comfort
from tests import orders_table as orders
from tests.incidents import Story, healthy
from tests.runbook.books import KNOWN, RIGHT, with_change
from tests.runbook.shipped import shipped

BOOK = parse(RIGHT, "rows-twice.md", KNOWN)


def ended(key: str, why: str = "", *, skipped: bool = False) -> StepOutcome:
    """How a step ended."""
    return StepOutcome(key=key, why=why, by="U0ANA00001", at=datetime(2026, 11, 21, 12, tzinfo=UTC), skipped=skipped)


def outcomes(**keys: str) -> dict[StepId, StepOutcome]:
    """`count="confirmed"`: the step and how it ended."""
    return {StepId(step.replace("_", "-")): ended(key, "90 keys. Twice.") for step, key in keys.items()}


@pytest.mark.parametrize(
    ("done", "current", "title", "why"),
    [
        ("confirmed", "name-it", "Diagnose", "“Count the duplicate rows” says: 90 keys"),
        ("confirmed F2", "rewind", "Propose the rollback", "the diagnosis is F2"),
        ("confirmed no-match", "planned", "Ask whether it was planned", "no failure mode fits"),
        ("confirmed F6", "planned", "Ask whether it was planned", "the diagnosis is F6"),
        ("confirmed F3 planned=no", "rewind", "Propose the rollback", "the answer was “Nobody planned it”"),
        ("confirmed F2 rewind=applied", "count-again", "Count again", "the proposal was applied"),
        ("confirmed F2 rewind=expired", "call", "Call the owners", "the proposal expired"),
        ("confirmed F2 rewind=unknown", "call", "Call the owners",
         "nobody knows yet whether the proposal was applied"),
        ("confirmed F2 rewind=rejected call=done", "review", "Review the contracts", "“Call the owners” is done"),
        ("confirmed F2 rewind=applied count_again=ruled-out tell=sent", "review", "Review the contracts",
         "“Tell consumers” was sent"),
        # an earlier step ran again: what was done on the other path does not count
        ("ruled-out no-match planned=no rewind=rejected", "review", "Review the contracts",
         "“Count the duplicate rows” says: 90 keys"),
    ],
)  # fmt: skip
def test_the_outcomes_lead_to_a_step_and_say_why(done: str, current: str, title: str, why: str) -> None:
    """A responder who comes late sees why the incident is where it is. `done`: the first two in order."""
    first, *more = done.split()
    ends = dict(each.split("=") if "=" in each else ("name_it", each) for each in more)
    found = position(BOOK, outcomes(count=first, **ends))

    assert (current, f"Went to “{title}” because {why}.") == (found.current, found.reason)
    assert found.stuck is None


def test_the_walk_begins_without_a_reason_and_ends_with_one() -> None:
    """At the first step, and behind the last."""
    begun, ended_ = position(BOOK, {}), position(BOOK, outcomes(count="ruled-out", review="done"))

    assert ("count", None) == (begun.current, begun.reason)
    assert (None, "Came to the end because “Review the contracts” is done.") == (ended_.current, ended_.reason)


def test_a_skipped_step_says_why() -> None:
    """The reason that was asked for is shown."""
    found = position(BOOK, {StepId("count"): ended("inconclusive", "Spark is down.", skipped=True)})

    assert found.reason == "Went to “Diagnose” because “Count the duplicate rows” was skipped: Spark is down."


def test_an_outcome_without_a_way_on_holds_the_incident() -> None:
    """It stays at the step and says so, instead of guessing."""
    text = with_change("  applied: count-again\nnext: call", "  applied: count-again\n  rejected: call")

    found = position(parse(text, "x.md", KNOWN), outcomes(count="confirmed", name_it="F2", rewind="expired"))

    assert found.current == "rewind"
    assert "ended with `expired`" in (found.stuck or "")


OUTCOMES = st.fixed_dictionaries(
    {}, optional={s.id: st.sampled_from(possible_outcomes(s, KNOWN.codes)).map(ended) for s in BOOK.steps}
)


@settings(max_examples=100, deadline=None)
@given(OUTCOMES)
def test_a_path_leads_forward(given_outcomes: dict[StepId, StepOutcome]) -> None:
    """Each step once, in the file's order; never stuck where each outcome has a way."""
    found = position(BOOK, given_outcomes)

    order = [step.id for step in BOOK.steps]
    path = [one.step for one in found.passed]
    assert sorted(path, key=order.index) == path
    assert len(set(path)) == len(path)
    assert found.stuck is None


def test_what_could_not_be_proposed_is_tried_anew_after_another_diagnosis() -> None:
    """The step waits again once the decision above it was taken later; before that, the incident has gone on."""
    told = outcomes(count="confirmed", name_it="F2", rewind=NOT_POSSIBLE)
    later = told[StepId("name-it")].model_copy(update={"at": datetime(2026, 11, 21, 13, tzinfo=UTC)})

    before, after = position(BOOK, told), position(BOOK, told | {StepId("name-it"): later})

    assert (before.current, after.current) == ("call", "rewind")


def test_the_reason_for_which_nothing_is_proposed_is_said() -> None:
    """What to do by hand is in it."""
    done = outcomes(count="confirmed", name_it="F2") | {StepId("rewind"): ended(NOT_POSSIBLE, "No pair.")}

    assert (position(BOOK, done).reason or "").endswith("because no proposal can be made: No pair.")


FIXED_BOOK = shipped()["missing-rows"]


@pytest.fixture
def story(record: Store) -> Story:
    """Positions were missing, and the job has brought them by itself."""
    story = Story(record.journal).opens().answers("missing_positions", head=SnapshotId(orders.HEAD - 1000))
    return story.answers("missing_positions", Verdict.RULED_OUT).says(healthy())


def decided(incident: Incident, step: str, book: Runbook = FIXED_BOOK) -> tuple[str, str | None]:
    """(outcome key, the step that follows it)."""
    asked = book.step(StepId(step))
    assert isinstance(asked, DecisionStep)
    assert incident.diagnosis is not None
    walked = replace(incident, runbook=book)
    key, _why = outcome_of(incident.diagnosis, asked, walked)
    return key, asked.branches.get(key, asked.next)


@pytest.mark.parametrize("step", ["name-it", "name-it-again"])
def test_what_others_mended_is_to_be_proven(story: Story, step: str) -> None:
    """Also after Flink had to settle; nobody is led to a notice that may not be sent."""
    assert decided(story.incident, step) == (FIXED_ELSEWHERE, "have-it-proven")


def test_it_is_said_why(story: Story) -> None:
    """In the sentence below the step."""
    said = because(FIXED_BOOK.step(StepId("name-it")), ended(FIXED_ELSEWHERE, "healthy: The job runs."))

    assert said == "healthy asks for nothing any more, and rows had been counted wrong before"


def test_what_is_left_after_a_repair_is_counted_once_more(story: Story) -> None:
    """There, nothing leads to the all-clear anyway."""
    assert decided(story.incident, "name-what-is-left") == (Remedy.NOTHING, "look-once-more")


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
