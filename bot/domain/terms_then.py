"""What the incident's own evidence told of the same terms: a term that broke then has not been kept."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from bot.domain.clock_time import clock_time
from bot.domain.entries import Finding
from bot.domain.findings import ContractAgreementFinding, SchemaDriftFinding, Term
from bot.domain.incident import Incident

_Told = tuple[datetime, Term]
_MENDED = "See that what mended it stays."


def beside_then(incident: Incident, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding of now with what `contract_agreement` told of its term during the incident, where it was asked.

    Broken then is broken. What cannot be told now, and held then, held as far as anybody looked.
    """
    told: dict[tuple[str, str], list[_Told]] = {}
    for at, found in _agreements(incident):
        for term in found.terms:
            told.setdefault((term.of, term.promise), []).append((at, term))
    return tuple(_beside(each, told.get((each.contract, each.term), ()), incident.opened_at) for each in findings)


def columns_left_null(incident: Incident) -> frozenset[str]:
    """Columns that `schema_drift` once found without any value from the job."""
    runs = (run for run in incident.runs.values() if run.branch is None and run.evidence is not None)
    found = [run.evidence.finding for run in runs if run.evidence is not None]
    return frozenset(name for each in found if isinstance(each, SchemaDriftFinding) for name in each.all_null)


def _agreements(incident: Incident) -> list[tuple[datetime, ContractAgreementFinding]]:
    """Oldest first."""
    answers = [run.evidence for run in incident.runs.values() if run.branch is None and run.evidence is not None]
    return [(each.at, each.finding) for each in answers if isinstance(each.finding, ContractAgreementFinding)]


def _beside(now: Finding, told: Sequence[_Told], opened_at: datetime) -> Finding:
    broken = next(((at, term) for at, term in told if term.holds is False), None)
    if now.holds is not False and broken is not None:
        at, term = broken
        observed = f"At {clock_time(at, opened_at)}: {term.observed} At the review: {now.observed}"
        action = now.action if now.holds is None else term.action or _MENDED
        return now.model_copy(update={"observed": observed, "holds": False, "action": action})
    held = [(at, term) for at, term in told if term.holds]
    if now.holds is None and held:
        at, term = held[-1]
        observed = f"At {clock_time(at, opened_at)}: {term.observed} At the review: {now.observed}"
        return now.model_copy(update={"observed": observed, "holds": True, "action": "Nothing to do."})
    return now
