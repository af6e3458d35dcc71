"""Whether rows of main were counted wrong in an incident and are counted right now, though Waterline did not move main
in between: people mended them, or the job brought by itself what was missing. Pure."""

from collections.abc import Iterator
from typing import NamedTuple

from bot.domain.doubt import OF_ROWS
from bot.domain.effects import MoveTable, PublishBranch
from bot.domain.entries import EffectEnded, EvidenceRecorded
from bot.domain.evidence import Evidence, Verdict
from bot.domain.incident import Incident

_COUNT = OF_ROWS | {"duplicate_files"}
"""Evidence whose `confirmed` means that whoever read main read rows twice, or too few."""


class Mended(NamedTuple):
    """Two answers to one question about main; whoever has read it meanwhile may have read what was wrong."""

    wrong: Evidence
    """The last that counted wrong or missing rows."""
    right: Evidence
    """The first after it that counted none, of another head."""


def mended_by_others(incident: Incident) -> tuple[Mended, ...]:
    """In the order in which rows were counted right again. A look that gave no answer mends nothing; what is counted on
    a repair's branch is not of main; what was wrong before Waterline moved main is told by what it moved. Two answers
    of one head speak of the same rows: the question has changed between them, as by another key in the contract, and
    nobody mended any."""
    return tuple(sorted(_all_of(incident), key=lambda each: each.right.at))


def _all_of(incident: Incident) -> Iterator[Mended]:
    for task in sorted(_COUNT):
        wrong: Evidence | None = None
        for entry in incident.entries:
            match entry.body:
                case EvidenceRecorded(evidence=evidence) if evidence.task == task and _is_of_main(incident, evidence):
                    if evidence.verdict is Verdict.CONFIRMED:
                        wrong = evidence
                    elif evidence.verdict is Verdict.RULED_OUT and wrong is not None:
                        if wrong.head != evidence.head:
                            yield Mended(wrong, evidence)
                        wrong = None
                case EffectEnded(how="done") as ended if _moves_main(incident, ended):
                    wrong = None


def _is_of_main(incident: Incident, evidence: Evidence) -> bool:
    run = incident.runs.get(evidence.id)
    return run is None or run.branch is None


def _moves_main(incident: Incident, ended: EffectEnded) -> bool:
    effect = incident.proposals[ended.proposal].proposal.effects[ended.index]
    return isinstance(effect, MoveTable | PublishBranch)
