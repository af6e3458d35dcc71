"""Puts one case to every failure mode."""

from collections.abc import Mapping

from bot.diagnosis._scan import ModeModule
from bot.domain.diagnosis import Case, Diagnosis, ModeResult
from bot.domain.entries import Diagnosed
from bot.domain.veiling import veiled_body


def diagnose(case: Case, modes: Mapping[str, ModeModule]) -> Diagnosis:
    """Every mode's answer, in the mapping's order, which is the order in which to act; without values of hidden
    columns, wherever it is read."""
    results = tuple(ModeResult(mode=module.mode, examined=module.examine(case)) for module in modes.values())
    told = veiled_body(Diagnosed(diagnosis=Diagnosis(results=results)), case.contract)
    assert isinstance(told, Diagnosed)
    return told.diagnosis
