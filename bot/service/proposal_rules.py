"""What has to hold before a proposal is made or decided."""

from bot.actions._scan import ActionModule
from bot.domain.diagnosis import Case, Matches, Mode
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.staleness import stale_reason


def refuse_unless(view: ProposalView, state: ProposalState) -> None:
    """Raises Refused unless the proposal is in this state; says who decided what, and when."""
    if view.state is state:
        return
    title = view.proposal.title
    if view.ended is not None:
        who = f" by <@{view.ended_by}>" if view.ended_by != WATERLINE else ""
        at = f" at {view.ended_at:%H:%M} UTC" if view.ended_at else ""
        raise Refused(
            f"“{title}” was {view.ended.how}{who}{at}.", view.ended.reason, "Propose it anew if it is still needed."
        )
    last = view.approvals[-1] if view.approvals else None
    who = f" It was approved by <@{last.by}> at {last.at:%H:%M} UTC." if last else ""
    raise Refused(f"“{title}” is {view.state.value} already.{who}", "", "")


def match_for(incident: Incident, action: str) -> tuple[Mode, Matches]:
    """The diagnosis that asks for this action. Raises Refused with what was found instead."""
    remedy = action.replace("_", "-")
    matches = incident.diagnosis.matches if incident.diagnosis else ()
    for mode, match in matches:
        if match.remedy.value == remedy:
            return mode, match
    found = ", ".join(f"{m.code} ({x.remedy.value})" for m, x in matches) or "no match"
    raise Refused(
        "Nothing to propose.",
        f"Expected a diagnosis whose remedy is {remedy}; found {found}.",
        "Collect the missing evidence and diagnose again.",
    )


def evidence_is_fresh(incident: Incident, case: Case, module: ActionModule) -> None:
    """Raises Refused when evidence that the action needs is missing or stale, with the reason."""
    for task in module.action.needs:
        run = incident.latest.get(task)
        if run is None or run.evidence is None:
            raise Refused(f"{module.action.title} needs the evidence “{task}”.", "It has no answer yet.", "Run it.")
        reason = stale_reason(run.evidence, case)
        if reason is not None:
            raise Refused(f"The evidence “{task}” is stale.", reason, "Run it again, then propose.")
