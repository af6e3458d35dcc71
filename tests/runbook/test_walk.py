"""Where a walk stands follows from the outcomes alone."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.ids import StepId
from bot.domain.runbook import NOT_POSSIBLE, StepOutcome
from bot.runbook.outcomes import possible_outcomes
from bot.runbook.parse import parse
from bot.runbook.walk import walk
from tests.runbook.books import KNOWN, RIGHT, with_change

BOOK = parse(RIGHT, "rows-twice.md")


def ended(key: str, why: str = "", *, skipped: bool = False) -> StepOutcome:
    return StepOutcome(key=key, why=why, by="U0ANA00001", at=datetime(2026, 11, 21, 12, tzinfo=UTC), skipped=skipped)


def outcomes(**keys: str) -> dict[StepId, StepOutcome]:
    """`count="confirmed"`: the step and how it ended."""
    return {StepId(step.replace("_", "-")): ended(key) for step, key in keys.items()}


def test_a_walk_begins_with_the_first_step() -> None:
    """Nothing is passed, and every other step is still ahead."""
    found = walk(BOOK, {})

    assert (found.current, found.passed, found.reason) == ("count", (), None)
    assert tuple(step.id for step in BOOK.steps[1:]) == found.ahead
    assert not found.is_over


def test_a_branch_is_explained_in_a_sentence() -> None:
    """A responder who comes late sees why the walk is where it is."""
    found = walk(BOOK, outcomes(count="confirmed", name_it="F2"))

    assert found.current == "rewind"
    assert [one.reason for one in found.passed] == [
        "Went to “Name what happened” because “Count the duplicate rows” was confirmed.",
        "Went to “Propose the rewind” because the diagnosis is F2.",
    ]


@pytest.mark.parametrize(
    ("walked", "reason"),
    [
        ({"name_it": "no-match"}, "Went to “Ask whether it was planned” because no failure mode fits."),
        ({"name_it": "F6"}, "Went to “Ask whether it was planned” because the diagnosis is F6."),
        (
            {"name_it": "F3", "planned": "no"},
            "Went to “Propose the rewind” because the answer was “Nobody planned it”.",
        ),
        ({"name_it": "F2", "rewind": "applied"}, "Went to “Count again” because the proposal was applied."),
        ({"name_it": "F2", "rewind": "expired"}, "Went to “Call the owners” because the proposal expired."),
        (
            {"name_it": "F2", "rewind": "unknown"},
            "Went to “Call the owners” because nobody knows yet whether the proposal was applied.",
        ),
        (
            {"name_it": "F2", "rewind": "rejected", "call": "done"},
            "Went to “Review the contracts” because “Call the owners” is done.",
        ),
        (
            {"name_it": "F2", "rewind": "applied", "count_again": "ruled-out", "tell": "sent"},
            "Went to “Review the contracts” because “Tell consumers” was sent.",
        ),
        (
            {"name_it": "F2", "rewind": "rejected", "call": "done", "review": "done"},
            "Came to the end because “Review the contracts” is done.",
        ),
    ],
)
def test_every_kind_of_step_says_its_reason(walked: dict[str, str], reason: str) -> None:
    """Verdict, diagnosis, choice, proposal, work done, notice sent."""
    found = walk(BOOK, outcomes(count="confirmed", **walked))

    assert reason == found.reason


def test_a_skipped_step_says_why() -> None:
    """The reason that was asked for is shown."""
    found = walk(BOOK, {StepId("count"): ended("inconclusive", "Spark is down.", skipped=True)})

    assert found.reason == "Went to “Name what happened” because “Count the duplicate rows” was skipped: Spark is down."


def test_the_end_is_reached() -> None:
    """Nothing is current and nothing ahead."""
    found = walk(BOOK, outcomes(count="ruled-out", review="done"))

    assert found.is_over
    assert (found.current, found.ahead) == (None, ())


def test_steps_of_a_branch_not_taken_are_neither_ahead_nor_left() -> None:
    """They had no outcome, and this path does not come to them."""
    found = walk(BOOK, outcomes(count="confirmed", name_it="F2"))

    assert "planned" not in found.ahead
    assert found.left == ()


def test_running_an_earlier_step_again_walks_anew() -> None:
    """What was done on the other path is kept aside, not forgotten."""
    before = outcomes(count="confirmed", name_it="no-match", planned="no", rewind="rejected")

    found = walk(BOOK, before | outcomes(count="ruled-out"))

    assert found.current == "review"
    assert found.left == ("name-it", "planned", "rewind")


def test_running_a_step_again_with_the_same_outcome_changes_nothing() -> None:
    """The later steps keep theirs."""
    before = outcomes(count="confirmed", name_it="F2", rewind="applied")

    assert walk(BOOK, before) == walk(BOOK, before | outcomes(count="confirmed"))


def test_an_outcome_without_a_way_on_holds_the_walk() -> None:
    """It stays at the step and says so, instead of guessing."""
    book = parse(with_change("  applied: count-again\nnext: call", "  applied: count-again\n  rejected: call"), "x.md")

    found = walk(book, outcomes(count="confirmed", name_it="F2", rewind="expired"))

    assert found.current == "rewind"
    assert (
        found.stuck == "“Propose the rewind” ended with `expired`, and the runbook does not say where to go from there."
    )


OUTCOMES = st.fixed_dictionaries(
    {}, optional={s.id: st.sampled_from(possible_outcomes(s, KNOWN.codes)).map(ended) for s in BOOK.steps}
)


@settings(max_examples=200, deadline=None)
@given(OUTCOMES)
def test_a_walk_is_a_forward_path(given_outcomes: dict[StepId, StepOutcome]) -> None:
    """Each step once, in the file's order; every step with an outcome is on the path or left; never stuck."""
    found = walk(BOOK, given_outcomes)

    order = [step.id for step in BOOK.steps]
    path = [one.step for one in found.passed]
    assert sorted(path, key=order.index) == path
    assert set(given_outcomes) == set(path) | set(found.left)
    assert found.stuck is None
    assert set(found.ahead).isdisjoint({*path, found.current})


def test_what_could_not_be_proposed_is_tried_anew_after_another_diagnosis() -> None:
    """The step waits again once the decision above it was taken later; before that, the walk has gone on."""
    told = outcomes(count="confirmed", name_it="F2", rewind=NOT_POSSIBLE)
    later = told[StepId("name-it")].model_copy(update={"at": datetime(2026, 11, 21, 13, tzinfo=UTC)})

    before, after = walk(BOOK, told), walk(BOOK, told | {StepId("name-it"): later})

    assert (before.current, after.current) == ("call", "rewind")


def test_the_reason_for_which_nothing_is_proposed_is_said() -> None:
    """What to do by hand stands in it."""
    done = outcomes(count="confirmed", name_it="F2") | {StepId("rewind"): ended(NOT_POSSIBLE, "No rewind is possible.")}

    assert walk(BOOK, done).reason == (
        "Went to “Call the owners” because no proposal can be made: No rewind is possible."
    )
