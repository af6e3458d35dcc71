"""The page of the matrix says what was kept, and the matrix leaves no story out."""

import pytest

from bot.lab.stories import stories
from tests.matrix.plan import NOT_PRODUCED, RUNS, Run
from tests.matrix.told import CODES, PAGE, Told, kept, page


def told_of(run: Run, *codes: str) -> Told:
    """An answer with these codes."""
    return Told(name=run.name, codes=codes, headline="It happened.", excluded=(), undecided=(), proof="10 rows")


def test_the_page_is_in_step_with_the_kept_answers() -> None:
    """Nobody edits the page by hand, and nobody keeps an answer without showing it."""
    answers = kept()

    written = page(answers)

    assert written == PAGE.read_text(encoding="utf-8")


def test_every_story_is_run_and_no_run_is_there_twice() -> None:
    """A story that the matrix does not run is a story whose diagnosis nobody has seen."""
    names = [run.name for run in RUNS]

    told = {run.story for run in RUNS}

    assert set(stories()) == told
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("code", CODES)
def test_every_mode_is_expected_of_a_run_or_listed_with_the_reason(code: str) -> None:
    """A mode that nobody has produced, and nobody says so, looks like one that is proven."""
    reasons = [why for what, why in NOT_PRODUCED if what == code]

    assert any(code in run.expected for run in RUNS) or reasons
    assert all(why.endswith(".") for why in reasons)


def test_the_index_names_the_runs_of_a_mode() -> None:
    """Those that were made for it first and in bold, others that showed it after them; and what was not run yet."""
    fork = next(run for run in RUNS if run.expected == ("F13",))
    other = next(run for run in RUNS if run.expected == ("F6",))
    by_hand = next(run for run in RUNS if run.made == "constructed" and run.expected == ("F1",))
    answers = {
        run.name: told_of(run, *codes) for run, codes in ((other, ("F6", "F13")), (fork, ("F13",)), (by_hand, ("F1",)))
    }

    written = page(answers)

    assert f"| F13 | **{fork.name}**, {other.name} |" in written
    assert f"| F1 | **{by_hand.name}**\\* |" in written
    assert "| F9 | planned and not run yet: data-file-removed-v2, data-file-removed-v1 |" in written


def test_a_code_too_many_does_not_agree() -> None:
    """A false alarm beside the right answer is not the right answer."""
    run = Run(story="rescaled", sink="v2", expected=("F19",), besides=("healthy",))

    answers = {codes: told_of(run, *codes).agrees_with(run) for codes in (("F19",), ("F19", "healthy"), ("F19", "F6"))}

    assert answers == {("F19",): True, ("F19", "healthy"): True, ("F19", "F6"): False}


def test_a_missing_code_does_not_agree_and_is_printed_as_no() -> None:
    """Silence about a fault is shown as such."""
    run = next(run for run in RUNS if run.expected == ("F13",))
    answers = {run.name: told_of(run)}

    written = page(answers)

    assert "0 of 1 answers agree" in written
    assert "**no**" in written
