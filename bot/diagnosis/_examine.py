"""Puts one case to every failure mode.

Nothing is called right while a mode by which rows are lost or doubled holds or cannot tell: one answer, not two
that a tired reader has to weigh against each other.
"""

from collections.abc import Iterable, Iterator, Mapping

from bot.diagnosis._asked import lacking
from bot.diagnosis._last_good import with_rows_told
from bot.diagnosis._scan import ModeModule
from bot.domain.diagnosis import (
    HEALTHY,
    Act,
    CannotTell,
    Case,
    Diagnosis,
    Examined,
    Excluded,
    Matches,
    Mode,
    ModeResult,
)
from bot.domain.doubt import leaves_rows, rows_are_right
from bot.domain.entries import Diagnosed
from bot.domain.veiling import veiled_body

VOUCHING = frozenset({HEALTHY, "no-advance"})
"""The modes that say that the rows are right."""
_OF_NOW = frozenset({Act.CONTAIN, Act.RECOVER, Act.REPAIR})


def agreeing(case: Case, results: Iterable[ModeResult]) -> tuple[ModeResult, ...]:
    """The same answers, but that none of `VOUCHING` holds beside a mode by which rows are wrong, nor beside a doubt of
    one: what is missing there is missing here. Evidence that nobody asked for is no doubt: not all there is must be
    collected."""
    told = tuple(results)
    wrong = next((each for each in told if _accuses(each)), None)
    if wrong is not None and isinstance(wrong.examined, Matches):
        out = Excluded(reason=f"{wrong.mode.code} holds: {wrong.examined.headline}")
        return tuple(each.model_copy(update={"examined": out}) if _vouches(each) else each for each in told)
    doubts = tuple(_doubts_in(case, told))
    if not doubts:
        return told
    left = CannotTell(
        missing=tuple(dict.fromkeys(what for doubt in doubts for what in doubt.missing)),
        asks=tuple(dict.fromkeys(task for doubt in doubts for task in doubt.asks)),
    )
    return tuple(each.model_copy(update={"examined": left}) if _vouches(each) else each for each in told)


def _doubts_in(case: Case, told: Iterable[ModeResult]) -> Iterator[CannotTell]:
    for each in told:
        if isinstance(each.examined, CannotTell) and _is_of_rows(each.mode):
            unasked = lacking(case, *each.mode.needs)
            if not {*each.examined.missing} <= {*unasked}:
                yield each.examined


def _accuses(result: ModeResult) -> bool:
    found = result.examined
    return isinstance(found, Matches) and _is_of_rows(result.mode) and not rows_are_right(found)


def _is_of_rows(mode: Mode) -> bool:
    """Whether rows are wrong where it holds: it may ask for more than to leave them alone."""
    return mode.code not in VOUCHING and mode.act in _OF_NOW and not all(leaves_rows(each) for each in mode.remedies)


def _vouches(result: ModeResult) -> bool:
    found = result.examined
    return result.mode.code in VOUCHING and isinstance(found, Matches) and rows_are_right(found)


def diagnose(case: Case, modes: Mapping[str, ModeModule]) -> Diagnosis:
    """Every mode's answer, in the mapping's order, which is the order in which to act; without values of hidden
    columns, wherever it is read. Each match says what is known of the rows up to the snapshot that it names."""
    results = (ModeResult(mode=module.mode, examined=_examined(case, module)) for module in modes.values())
    diagnosis = Diagnosis(results=agreeing(case, results))
    told = veiled_body(Diagnosed(diagnosis=diagnosis), case.contract)
    assert isinstance(told, Diagnosed)
    return told.diagnosis


def _examined(case: Case, module: ModeModule) -> Examined:
    found = module.examine(case)
    return with_rows_told(case, found) if isinstance(found, Matches) else found
