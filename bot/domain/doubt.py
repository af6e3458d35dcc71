"""Whether an open incident puts its table in doubt. Planned work does not, until something is found. Pure."""

from datetime import datetime

from bot.domain.entries import Body, Diagnosed, EvidenceRecorded, NoticeQueued, WaterlineMoved
from bot.domain.evidence import Verdict
from bot.domain.incident import Incident
from bot.domain.remedy import Remedy

_OF_ROWS = frozenset({"duplicate_rows", "missing_positions"})
"""Evidence whose `confirmed` means that consumers read something wrong."""
_CALM = frozenset({Remedy.NOTHING, Remedy.TELL_CONSUMERS, Remedy.WAIT})
WARNS = frozenset({"first_warning", "update"})
"""Kinds that call the table under review."""


def doubted_since(incident: Incident) -> datetime | None:
    """Since when consumers are not to rely on the table's newest rows; None: planned work, and nothing is wrong yet.

    Planned work raises a doubt by evidence of wrong rows, by a diagnosis that asks for more than patience, by an
    effect that takes the trust back, and by a responder who warns.
    """
    if not incident.opened.runbook.is_planned:
        return incident.opened_at
    return next((entry.at for entry in incident.entries if _raises_doubt(entry.body)), None)


def standing(incident: Incident) -> str:
    """What the incident says of its table at present, two or three words."""
    if incident.waterline is not None:
        return incident.waterline.status.replace("-", " ")
    return "not marked yet" if doubted_since(incident) is not None else "planned work, nothing in doubt"


def _raises_doubt(body: Body) -> bool:
    match body:
        case EvidenceRecorded(evidence=evidence):
            return evidence.task in _OF_ROWS and evidence.verdict is Verdict.CONFIRMED
        case Diagnosed(diagnosis=diagnosis):
            decisive = diagnosis.decisive
            return decisive is not None and decisive[1].remedy not in _CALM
        case NoticeQueued(notice=notice):
            return notice.kind in WARNS
        case WaterlineMoved():
            return True
    return False
