"""Which notices may be sent, and how often."""

from collections.abc import Iterable

from bot.domain.effects import MoveTable, PublishBranch
from bot.domain.errors import Refused
from bot.domain.evidence import Verdict
from bot.domain.execution import ProposalState
from bot.domain.incident import Incident
from bot.notices import NoticeTemplate

ONCE = frozenset({"first_warning", "recovered", "no_action_needed", "review_published"})
"""Kinds that are sent once an incident; each of the others as often as it is asked for, as a further revision."""
AFTER_CLOSE = frozenset({"correction", "contract_change", "review_published"})
"""Kinds that may be sent when the incident has ended."""


def unknown_notice(kind: str, known: Iterable[str]) -> Refused:
    """There is no such template."""
    return Refused(f"There is no notice {kind}.", f"Known are: {', '.join(known)}.", "Use one of these.")


def refuse_missing_words(template: NoticeTemplate, words: str) -> None:
    """Raises Refused where the template says nothing without the responder's own words."""
    if template.needs_words and not words.strip():
        raise Refused(
            f"“{template.title}” says nothing without words of yours.",
            f"It is sent {template.when}; what is meant only you can say.",
            f"Type them behind its name: /waterline tell {template.kind} WORDS.",
        )


def refuse_false_comfort(incident: Incident, kind: str) -> None:
    """`no action needed` may not be said while evidence shows damage, nor after a recovery has moved main."""
    if kind != "no_action_needed":
        return
    for view in incident.proposals.values():
        moves = any(isinstance(effect, MoveTable | PublishBranch) for effect in view.proposal.effects)
        if moves and view.state is ProposalState.APPLIED:
            raise Refused(
                "Consumers cannot be told that nothing is wrong.",
                f"This notice says that no row was changed or taken back; “{view.proposal.title}” has moved main.",
                "Send “Recovered” instead: it tells each consumer whether to run again. Nothing was sent.",
            )
    for task in ("duplicate_rows", "missing_positions"):
        run = incident.latest.get(task)
        if run is not None and run.evidence is not None and run.evidence.verdict is Verdict.CONFIRMED:
            raise Refused(
                "Consumers cannot be told that nothing is wrong.",
                f"The newest evidence says otherwise: {run.evidence.headline}",
                "Recover the table first, or run the evidence again if it is out of date.",
            )
