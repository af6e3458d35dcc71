"""The harness finds answers that are too safe, with their least story, and what only one of two judges proves."""

import pytest

from bot.domain.diagnosis import Case
from tests.diagnosis import differential
from tests.diagnosis.differential import Answer, Task, looks_at_many, real_cases, summary, today, unsound_story
from tests.diagnosis.histories.drawn import plan_of

HERE = __name__
TODAY = "tests.diagnosis.differential:today"


def trusts_everybody(_case: Case) -> str:
    """A judge that is wrong wherever rows are."""
    return "right: nobody looked"


def _found(judge: str) -> list[differential.Held]:
    return looks_at_many(Task(range(20), with_mistakes=True, judge=judge))


def test_a_judge_that_calls_wrong_rows_right_is_found_with_a_reduced_story() -> None:
    """Seeds of both kinds are among twenty; what is told ends with what the judge said at either look."""
    found = _found(f"{HERE}:trusts_everybody")

    unsound = [each.seed for each in found if each.truth == "wrong" and each.said.word == "right"]
    story = unsound_story(plan_of(unsound[0], with_mistakes=True), trusts_everybody)

    assert 0 < len({*unsound}) < 20
    assert story.count("the judge: right (nobody looked)") == 2
    assert 6 >= len(story.split("\n\n", 1)[0].splitlines())


def test_the_judge_of_today_is_sound_and_differs_from_itself_nowhere() -> None:
    """Both looks are counted, and a right history that only one of two judges proves is named with its seed."""
    found = _found(TODAY)

    assert not [each for each in found if each.truth == "wrong" and each.said.word == "right"]
    assert len(found) == 40
    assert all(each.said == each.beside for each in found)
    assert any("only the judge proves it: 0" in line for line in summary(found))


def test_real_cases_are_held_against_the_count_of_the_lab() -> None:
    """Who trusts everybody is unsound at each case whose rows the lab counted wrong; today's answer at none."""
    trusting, told = list(real_cases(trusts_everybody)), list(real_cases(today))

    assert 30 < sum(line.startswith("UNSOUND") for line in trusting)
    assert not [line for line in told if line.startswith("UNSOUND")]


def test_an_answer_that_is_none_is_refused() -> None:
    """A judge that says something else counts for nothing, so it may not run at all."""
    with pytest.raises(ValueError, match="A judge answers one of"):
        Answer.of(lambda _case: "perhaps", differential.case_named(differential.NAMES[0]))
