"""No table is called right beside a mode of rows that cannot tell."""

import bot.diagnosis
from bot.diagnosis._asked import lacking
from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import ModeModule, scan
from bot.domain.diagnosis import HEALTHY, CannotTell, Case, Examined, Excluded, Matches, Remedy
from tests.cases import Tale

MODES = scan(bot.diagnosis)


def answer(case: Case, code: str, told: Examined) -> Examined:
    """What `healthy` says where this mode answers so."""
    said = ModeModule(mode=MODES[code].mode, examine=lambda _case: told)
    found = diagnose(case, {**MODES, code: said})
    return next(each.examined for each in found.results if each.mode.code == HEALTHY)


def well() -> Tale:
    """Nothing is wrong."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


DOUBT = CannotTell(missing=("whether the rows of checkpoint 2 come",), asks=("orphan_files",))


def test_a_doubt_of_a_mode_of_rows_is_the_tables() -> None:
    """With what is missing, and what would settle it."""
    found = answer(well().looked_at(), "F12", DOUBT)

    assert isinstance(found, CannotTell)
    assert (DOUBT.missing, DOUBT.asks) == (found.missing, found.asks)


def test_a_doubt_of_what_leaves_rows_alone_is_not() -> None:
    """F14 is only worth knowing, and F25 is about the next restore."""
    assert isinstance(answer(well().looked_at(), "F14", DOUBT), Matches)
    assert isinstance(answer(well().looked_at(), "F25", DOUBT), Matches)


def test_nor_is_evidence_that_nobody_asked_for() -> None:
    """Nobody is told to collect all there is before a table may be called right."""
    case = well().looked_at(duplicate_files=None)

    assert isinstance(answer(case, "F1", CannotTell(missing=lacking(case, "duplicate_files"))), Matches)


def test_a_doubt_counts_also_where_other_evidence_was_not_asked_for() -> None:
    """F1 rests on files, too, and these say nothing of it."""
    assert isinstance(answer(well().looked_at(duplicate_files=None), "F1", DOUBT), CannotTell)
    assert isinstance(answer(well().looked_at(), "F1", DOUBT), CannotTell)


def holding(remedy: Remedy) -> Matches:
    """A mode holds, and asks for this."""
    return Matches(headline="Rows are lost.", reasons=(), rows=(), last_good=None, wrong_run=None, remedy=remedy)


def test_beside_a_mode_by_which_rows_are_wrong_nothing_is_called_right() -> None:
    """Whichever of the two is mistaken: the answer names the other one."""
    found = answer(well().looked_at(), "F12", holding(Remedy.REPLAY_SOURCE_RANGE))

    assert isinstance(found, Excluded)
    assert found.reason == "F12 holds: Rows are lost."


def test_beside_one_that_leaves_rows_alone_it_is() -> None:
    """F14 is only worth knowing."""
    assert isinstance(answer(well().looked_at(), "F14", holding(Remedy.NOTHING)), Matches)
