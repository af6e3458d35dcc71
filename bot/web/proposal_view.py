"""Writes a proposal's page: what the digest covers, whole, and the forms that whoever looks may use."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from bot.domain.approval_answers import approval_counts
from bot.domain.approval_count import whom_to_ask
from bot.domain.errors import WaterlineError
from bot.domain.evidence import Evidence
from bot.domain.execution import AT_WORK, UNDECIDED, ProposalState, ProposalView
from bot.domain.ids import UserId
from bot.domain.incident import Incident
from bot.domain.inert import visible
from bot.domain.requirement_words import requirement_sentence
from bot.domain.settling import HOW_TO_SETTLE
from bot.web.decider import Door, Offer
from bot.web.decision_words import People, exactly, standing, steps, what_was_said, who_decides
from bot.web.pages import environment

_BEGUN = AT_WORK | {ProposalState.APPLIED, ProposalState.REFUSED}


@dataclass(frozen=True)
class Asker:
    """Who looks, as far as the proxy and the settings say."""

    identity: str | None
    user: UserId | None
    decides_here: bool
    """Whether anybody does."""


@dataclass(frozen=True)
class Typed:
    """What somebody sent that was not taken."""

    act: Door
    reason: Markup


class ProposalText:
    """The page as HTML: everything from outside is escaped, and shown where it would hide."""

    def __init__(self, content: Path) -> None:
        self._templates = _shown(environment(content))

    def html(
        self,
        incident: Incident,
        view: ProposalView,
        *,
        names: Mapping[str, str],
        asker: Asker,
        offer: Offer | None,
        token: str | None,
        problem: WaterlineError | None,
        typed: Typed | None,
        most: int,
    ) -> str:
        """`offer` and `token`: of whoever may decide here. `most`: characters of a reason."""
        people, proposal = People(names), view.proposal
        state, kind = standing(view)
        return self._templates.get_template("proposal.html.j2").render(
            incident=incident,
            view=view,
            proposal=proposal,
            people=people,
            state=state,
            kind=kind,
            waits=view.state in UNDECIDED,
            steps=steps(view) if view.state in _BEGUN else [],
            sentences=proposal.preview.sentences or tuple(what for what, _how in steps(view)),
            requirements=[requirement_sentence(each) for each in proposal.requirements],
            evidence=[(each, _evidence(incident, each)) for each in proposal.evidence],
            policy=who_decides(view),
            said=what_was_said(view),
            exact=[*proposal.effects, *proposal.requirements, proposal.policy],
            exactly=exactly,
            how_to_settle=HOW_TO_SETTLE if view.state is ProposalState.UNKNOWN else "",
            asker=asker,
            offer=offer,
            why_not=_why_not(incident, view, asker),
            own=approval_counts(view) if _counts(view, asker) else "",
            is_own=asker.user == proposal.proposed_by,
            token=token,
            problem=problem,
            typed=typed,
            most=most,
        )


def _evidence(incident: Incident, cited: str) -> Evidence | None:
    run = next((run for run in incident.runs.values() if run.run == cited), None)
    return run.evidence if run is not None else None


def _counts(view: ProposalView, asker: Asker) -> bool:
    """Whether a yes of theirs counts for what is still to be decided or begun."""
    return view.state in UNDECIDED and any(given.by == asker.user for given in view.approvals)


def _why_not(incident: Incident, view: ProposalView, asker: Asker) -> str:
    """To whoever reads and does not decide: why, where else, and whom to ask."""
    ask = ""
    if view.state is ProposalState.PROPOSED:
        ask = whom_to_ask(view.proposal.policy, view.proposal.proposed_by, view.approvals)
    if not asker.decides_here:
        return (
            "Nothing is decided on these pages. Decide in the incident's channel in Slack, on the pages of the bot "
            f"itself where it lets people decide, or in a terminal: waterline proposal show {incident.id}. {ask}"
        )
    if asker.identity is None:
        return (
            "You may read this, and not decide: nobody says who you are, as a token names no person. Come through the "
            f"proxy with your single sign-on. {ask}"
        )
    if asker.user is None:
        return (
            f"You may read this, and not decide: {asker.identity} is bound to no Slack user id here. Have the people "
            f"who run this Waterline name you in `web.people`, or decide in Slack. {ask}"
        )
    return ""


def _shown(templates: Environment) -> Environment:
    """No character of any text hides or turns others round."""
    return templates.overlay(finalize=lambda value: visible(value) if type(value) is str else value)
