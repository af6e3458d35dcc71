"""What the diagnosis said once it says again: some hundred histories a day, others each day, and every found history;
more of them where more examples are made up."""

import pytest

from tests.diagnosis import frozen
from tests.diagnosis.frozen import DRAWN, FOUND, REAL, Answer, Difference, Told, kept, told_now
from tests.made_up import EXAMPLES
from tests.tiers import DAY

pytestmark = pytest.mark.made_up

_NUMBER = min(DRAWN, 2 * EXAMPLES)
_FIRST = 37 * DAY * _NUMBER % DRAWN
SEEDS = [(_FIRST + step) % DRAWN for step in range(_NUMBER)]
_TOGETHER = 100


@pytest.mark.parametrize("kind", [frozen.MISTAKES, frozen.ORDINARY])
@pytest.mark.parametrize("first", range(0, _NUMBER, _TOGETHER))
def test_drawn_histories_are_answered_as_before(kind: str, first: int) -> None:
    """The seeds of this day."""
    _is_as_before([f"{kind} {seed}" for seed in SEEDS[first : first + _TOGETHER]])


@pytest.mark.parametrize("kind", [FOUND, REAL])
def test_found_histories_and_real_cases_are_answered_as_before(kind: str) -> None:
    """All of them: they are few."""
    _is_as_before([key for key in frozen.keys(range(0)) if key.startswith(kind)])


def test_all_that_is_drawn_found_or_saved_is_kept() -> None:
    """A new one is added by `record`, and an old one that has gone leaves with it."""
    assert set(frozen.keys()) == set(kept())


def test_each_aspect_of_an_answer_differs_by_itself() -> None:
    """One word for each kind of difference, so that those of one reason come together."""
    was = Answer("cannot-tell", {"F2": ("REMEDY", "…1", "CLEAN", "aa"), "F6": ("REMEDY", "", "", "")}, ("ledger",))
    now = Answer("matches", {"F2": ("OTHER", "…2", "WRONG", "bb"), "F7": ("REMEDY", "", "", "")}, ("orphan_files",))

    found = frozen.differences(Told("a", 1, was, was), Told("a", 1, now, was, "right"))

    assert [each.kind for each in found] == [
        "healthy: cannot-tell -> matches",
        "codes: -F6 +F7",
        "F2: remedy REMEDY -> OTHER",
        "F2: last good",
        "F2: rows up to it CLEAN -> WRONG",
        "F2: wrong run",
        "asks: others",
    ]
    assert frozen.differences(Told("a", 1, was, None), Told("a", 1, was, was)) == []
    story = frozen.differences(Told("a", 1, was, None), Told("a", 2, was, None, "wrong"))
    assert story == [Difference("the simulator plays another history", "a", "wrong")]


def _is_as_before(keys: list[str]) -> None:
    now = [told_now(key) for key in keys]
    found = [each for told in now for each in frozen.differences(kept()[told.key], told)]

    assert [] == list(frozen.grouped(found))
