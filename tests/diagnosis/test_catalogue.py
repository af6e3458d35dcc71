"""The catalogue is whole: each failure mode once, with what a responder needs beside the name."""

import pytest

import bot.diagnosis
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import Act
from bot.domain.remedy import Remedy

MODES = scan(bot.diagnosis)
CODES = [*(f"F{number}" for number in range(1, 26)), "healthy", "no-advance", "wait"]
FAULTS = CODES[:25]
ONE_WAY = {("F12", "F8"): "The cure of F8 gives the sink a new uid, which looks like F12 afterwards, never before."}
"""(mode, neighbour) -> why the neighbour does not lead back."""
WITHOUT_FALSE_POSITIVES: dict[str, str] = {}
"""Code -> why nothing else looks like it."""
codes = pytest.mark.parametrize("code", MODES)


def test_each_mode_of_the_catalogue_is_there_once() -> None:
    """F1 to F25 in their order, then the words."""
    found = list(MODES)

    assert CODES == found


@codes
def test_a_mode_says_what_to_do(code: str) -> None:
    """At least one remedy, none twice, each with words."""
    remedies = MODES[code].mode.remedies

    assert remedies
    assert len(set(remedies)) == len(remedies)
    assert [each for each in remedies if not each.words] == []


@codes
def test_a_mode_names_what_is_easily_taken_for_it(code: str) -> None:
    """Full sentences; or there is a reason why nothing is."""
    told = MODES[code].mode.false_positives

    assert told or code in WITHOUT_FALSE_POSITIVES
    assert [each for each in told if not each.endswith(".") or each[0].islower()] == []


@codes
def test_neighbours_are_other_modes(code: str) -> None:
    """Each names at least one mode that it is told apart from, and neither itself nor one twice."""
    neighbours = MODES[code].mode.neighbours

    assert neighbours
    assert set(neighbours) <= set(CODES) - {code}
    assert len(set(neighbours)) == len(neighbours)


@codes
def test_a_neighbour_of_a_fault_is_reached_from_both_sides(code: str) -> None:
    """Whoever reads of one fault finds the way back from its neighbour, at once or by one that both have."""
    mine = set(MODES[code].mode.neighbours)

    one_way = {
        other
        for other in mine & set(FAULTS)
        if code not in MODES[other].mode.neighbours and not mine & set(MODES[other].mode.neighbours)
    }

    assert {other for one, other in ONE_WAY if one == code} == one_way - (set() if code in FAULTS else one_way)


@codes
def test_only_what_asks_for_something_comes_first(code: str) -> None:
    """What is only to be told changes neither table nor job; and what changes nothing is never acted on first."""
    mode = MODES[code].mode
    harmless = {Remedy.NOTHING, Remedy.TELL_CONSUMERS, Remedy.WAIT, Remedy.REMOVE_ORPHAN_FILES}

    asks = set(mode.remedies) - harmless

    assert not asks or mode.act < Act.TELL
    assert asks or mode.act >= Act.WAIT


def test_titles_are_their_own() -> None:
    """Two modes with one title could not be told apart in a message."""
    titles = [module.mode.title for module in MODES.values()]

    assert len(set(titles)) == len(titles)
    assert [title for title in titles if title.endswith(".")] == []
