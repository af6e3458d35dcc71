"""Puts one case to every failure mode."""

from collections.abc import Mapping

from bot.diagnosis._agreeing import agreeing
from bot.diagnosis._last_good import with_rows_told
from bot.diagnosis._scan import ModeModule
from bot.domain.diagnosis import Case, Diagnosis, Examined, Matches, ModeResult
from bot.domain.entries import Diagnosed
from bot.domain.veiling import veiled_body


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
