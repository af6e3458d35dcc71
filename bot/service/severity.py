"""Changes how bad an incident is, and with it who has to approve; who was told of another severity is told again."""

from collections.abc import Callable
from typing import NamedTuple, cast, get_args

from bot.domain.approval_entries import ProposalEnded
from bot.domain.entries import Body, SeverityChanged
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import IncidentId, Severity, UserId
from bot.domain.incident import Incident
from bot.service.incident_store import IncidentStore, must_be_in_charge, must_be_open
from bot.service.rules_by_severity import Rules, Said, strictness

_KNOWN = get_args(Severity)
RulesNow = Callable[[ProposalView, Said], Rules | None]


class Changed(NamedTuple):
    """What became of it."""

    is_confirmed: bool
    """Whether it was so already, as somebody else had said."""
    superseded: tuple[str, ...]
    """Titles of proposals that waited by lighter rules."""


def change_severity(
    store: IncidentStore,
    incident_id: IncidentId,
    to: str,
    reason: str,
    *,
    by: UserId,
    rules_now: RulesNow,
    then: Callable[[IncidentId], None],
) -> Changed:
    """Write it down; `then` does what is owed after it. Who says the present severity that somebody else has said
    confirms it. A proposal that waits while the rules are stricter now, or other people's, is superseded by the same
    append: no yes comes in between. Raises Refused without a reason, for whoever would change it and is not in charge,
    or where nothing changes."""
    if to not in _KNOWN or not reason.strip():
        raise Refused(
            "A severity is changed by its name and a reason.",
            f"Expected one of {', '.join(_KNOWN)} and a sentence; found “{to} {reason}”.",
            "Type /waterline severity sev1 REASON.",
        )
    severity = cast(Severity, to)

    def decide(incident: Incident) -> list[Body]:
        must_be_open(incident)
        who, present = incident.severities_said[-1]
        if present != severity:
            must_be_in_charge(incident, by, "change its severity")
        elif who == by:
            raise Refused(f"{incident_id} is {to} already.", "You have said so yourself.", "Nothing was changed.")
        ended = [
            ProposalEnded(proposal=view.proposal.id, how="superseded", reason=_why(severity))
            for view in incident.proposals.values()
            if view.state is ProposalState.PROPOSED and _has_lighter_rules(incident, view, (by, severity), rules_now)
        ]
        return [SeverityChanged(before=present, severity=severity, reason=reason.strip()), *ended]

    before = store.get(incident_id)
    after = store.write(incident_id, by=by, decide=decide)
    then(incident_id)
    new = [entry.body for entry in after.entries if entry.seq > before.seq and entry.by == by]
    titles = [after.proposals[body.proposal].proposal.title for body in new if isinstance(body, ProposalEnded)]
    changed = next(body for body in reversed(new) if isinstance(body, SeverityChanged))
    return Changed(changed.before == changed.severity, tuple(titles))


def _has_lighter_rules(incident: Incident, view: ProposalView, now: tuple[str, Severity], rules_now: RulesNow) -> bool:
    """A policy that was changed in the configuration alone counts for the next proposal."""
    said = incident.severities_said
    before, after = rules_now(view, said), rules_now(view, [*said, now])
    if before is None or after is None or after.policy in (before.policy, view.proposal.policy):
        return False
    return strictness(after.policy) >= strictness(view.proposal.policy)


def _why(severity: Severity) -> str:
    return f"The incident is {severity} now, whose rules ask for other approvals. Propose again."
