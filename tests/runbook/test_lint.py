"""What a runbook that can be read may still get wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.runbook.lint import lint
from tests.runbook.books import KNOWN, RIGHT, line_of, with_change


def messages(text: str) -> list[str]:
    return [str(problem) for problem in lint(text, "rows-twice.md", KNOWN)]


def test_a_right_runbook_has_no_problem() -> None:
    """The lint is not a matter of taste."""
    assert messages(RIGHT) == []


@pytest.mark.parametrize(
    ("old", "new", "heading", "message"),
    [
        ("task: duplicate_rows\nbranches", "task: rows\nbranches", "### Count the", "a task that exists (checkpoint_"),
        (
            "action: rewind_table_and_job",
            "action: rollback",
            "### Propose",
            "an action that exists (diagnosis.rem",
        ),
        ("notice: recovered", "notice: party", "### Tell", "a notice that exists (first_warning, no_action"),
        ("  ruled-out: review", "  ruled_out: review", "### Count the", "a branch for one of confirmed, ruled-out"),
        ("  F2: rewind", "  F99: rewind", "### Name", "found `F99`"),
        ("  no: rewind", "  maybe: rewind", "### Ask", "a branch for no, or `next`"),
        ("  no-match: planned\n", "", "### Name", "a branch `no-match`"),
        (
            "next: call\n",
            "",
            "### Propose",
            "a branch for refused, unknown, rejected, expired, superseded, not-possible, or",
        ),
        (
            "  F2: rewind\n  no-match: planned\nnext: planned",
            "  no-match: review\nnext: review",
            "### Ask",
            "leads here",
        ),
        ("  applied: count-again", "  applied: tell", "### Propose", "found a way to the notice `tell` without one"),
        ("  applied: count-again", "  applied: end", "### Propose", "found a way to the end without one"),
        ("kind: review\nnext: end", "kind: manual\nnext: end", "### Review", "a step of kind review"),
        ("  yes: It was planned\n", "", "### Ask", "two choices or more"),
    ],
)
def test_each_problem_names_its_step(old: str, new: str, heading: str, message: str) -> None:
    """`file:line:` is the step's heading; the message says what was expected, found, and what to do."""
    text = with_change(old, new)

    found = messages(text)

    wanted = f"rows-twice.md:{line_of(text, heading)}: Expected"
    assert [one for one in found if one.startswith(wanted) and message in one], found


def test_a_way_round_the_verification_is_found_behind_other_steps() -> None:
    """A manual step between action and notice does not count as evidence."""
    text = with_change("  applied: count-again\nnext: call", "  applied: call\nnext: call")
    text = text.replace("kind: manual\nnext: review", "kind: manual\nnext: tell")

    found = messages(text)

    assert [one for one in found if "found a way to the notice `tell` without one" in one], found


def test_all_problems_are_told_at_once() -> None:
    """Nobody wants to correct them one start at a time."""
    text = with_change("notice: recovered", "notice: party").replace("action: rewind_table_and_job", "action: x")

    found = messages(text.replace("## Impact\n", ""))

    assert len(found) == 3


def test_problems_come_by_line() -> None:
    """An editor goes down the file."""
    text = RIGHT.replace("task: duplicate_rows", "task: rows").replace("notice: recovered", "notice: party")

    lines = [problem.line for problem in lint(text, "x.md", KNOWN)]

    assert sorted(lines) == lines
    assert len(lines) == 3


def test_a_new_failure_mode_needs_no_new_branch_where_next_covers_it() -> None:
    """Adding a file to `bot/diagnosis/` breaks no runbook that has a way for the rest."""
    wider = KNOWN.model_copy(update={"codes": KNOWN.codes | {"F15"}})

    found = lint(RIGHT, "rows-twice.md", wider)

    assert found == ()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(RIGHT)), st.text(max_size=20))
def test_the_lint_never_raises(at: int, text: str) -> None:
    """A broken file is listed, and the next file is looked at."""
    problems = lint(RIGHT[:at] + text + RIGHT[at:], "x.md", KNOWN)

    assert all(problem.line >= 1 and problem.message.endswith(".") for problem in problems)
