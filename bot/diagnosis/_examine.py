"""Puts one case to every failure mode."""

from collections.abc import Mapping

from bot.diagnosis._scan import ModeModule
from bot.domain.diagnosis import Case, Diagnosis, ModeResult


def diagnose(case: Case, modes: Mapping[str, ModeModule]) -> Diagnosis:
    """Every mode's answer, in the mapping's order, which is the order in which to act."""
    return Diagnosis(
        results=tuple(ModeResult(mode=module.mode, examined=module.examine(case)) for module in modes.values())
    )
