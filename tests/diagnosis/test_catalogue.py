"""The catalogue is whole: each failure mode once, with what a responder needs beside the name."""

import pytest

import bot.diagnosis
from bot.diagnosis._scan import scan
from bot.domain.diagnosis import Act, Mode, Remedy

MODES = scan(bot.diagnosis)
CODES = [*(f"F{number}" for number in range(1, 26)), "healthy", "no-advance", "wait"]
LONGEST = 220
"""Characters."""
_NOTE = "It is a note that holds beside `healthy`; whoever reads of health finds the note under it."
ONE_WAY = {("F19", "healthy"): _NOTE, ("F22", "healthy"): _NOTE, ("F24", "healthy"): _NOTE}
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
    """Each names at least one mode that it is told apart from, and not itself."""
    neighbours = MODES[code].mode.neighbours

    assert neighbours
    assert set(neighbours) <= set(CODES) - {code}


@codes
def test_a_mode_says_how_it_is_told_from_each_neighbour(code: str) -> None:
    """Full sentences of its own, short enough to be read at night."""
    told = list(MODES[code].mode.neighbours.values())

    assert [how for how in told if not (how[:1].isupper() and how.endswith("."))] == []
    assert [how for how in told if len(how) > LONGEST] == []
    assert len(set(told)) == len(told)


@codes
def test_a_neighbour_is_reached_from_both_sides(code: str) -> None:
    """Whoever stands before one of two modes finds the other, or there is a reason why not."""
    one_way = {other for other in MODES[code].mode.neighbours if code not in MODES[other].mode.neighbours}

    assert {other for one, other in ONE_WAY if one == code} == one_way


def test_a_diagnosis_that_recorded_codes_alone_is_still_read() -> None:
    """Records and cases of older versions hold a list; nothing is said then, and nothing is lost."""
    mode = MODES["F2"].mode
    older = mode.model_dump(mode="json") | {"neighbours": ["F1", "F13"]}

    assert {"F1": "", "F13": ""} == Mode.model_validate(older).neighbours


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
