"""The page of the matrix says what was kept, and the matrix leaves no story out."""

from bot.lab.stories import stories
from tests.matrix.plan import RUNS, Run
from tests.matrix.told import PAGE, Told, kept, page


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
