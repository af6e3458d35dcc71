"""How a proposal is decided, in its message; the reminder; and the message to owners after an emergency approval."""

from collections.abc import Iterable

from slack_sdk.models.blocks import Block

from bot.domain.approval import ApprovalPolicy
from bot.domain.approval_count import ids_mentioned, mentions, missing_in_words, whom_to_ask
from bot.domain.approval_times import last_approval_at
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.sentences import clock_time
from bot.slack.blocks.parts import clock, context, section
from bot.slack.text import addressed, as_sentence, mrkdwn, person


def who_may(view: ProposalView) -> list[str]:
    """Small print while it can still be decided: who is missing, until when, who may stop it, and the way out."""
    policy, proposer = view.proposal.policy, view.proposal.proposed_by
    lines = []
    if view.state is ProposalState.PROPOSED:
        lines.append(
            f"Needs {missing_in_words(policy, view.approvals)}, not from the proposer. "
            f"{_named(whom_to_ask(policy, proposer, view.approvals), policy)} "
            f"Approve it by {clock_time(last_approval_at(view), view.proposal.proposed_at)}."
        )
    if policy.veto is not None:
        waits = policy.hold and view.state is ProposalState.PROPOSED
        hold = f" After approval, the veto window is {minutes(policy.hold.total_seconds())}." if waits else ""
        lines.append(f"{_named(mentions((policy.veto,)), policy)} may veto it until it runs.{hold}")
    if policy.break_glass is not None and view.state in {ProposalState.PROPOSED, ProposalState.HELD}:
        who = _named(mentions((policy.break_glass,), (proposer,)), policy)
        owners = _owners(policy.break_glass.owners)
        lines.append(f"In an emergency {who} can approve alone, with a reason. The channel then mentions {owners}.")
    return lines


def stamps(view: ProposalView) -> list[Block]:
    """Who decided what, and when: one line each, in the order in which it happened."""
    lines = []
    for given in view.approvals:
        team = f" (team {mrkdwn(', '.join(given.teams))})" if given.teams else ""
        if view.glass is not None and view.glass.approval.by == given.by:
            continue
        lines.append(f":heavy_check_mark: Approved by {person(given.by)}{team}{given.where} at {clock(given.at)}")
    if view.glass is not None:
        given = view.glass.approval
        lines.append(
            f":rotating_light: *Emergency approval* by {person(given.by)}{given.where} at {clock(given.at)}: "
            f"{mrkdwn(as_sentence(view.glass.reason))}"
        )
    if view.ended is not None and view.ended_at is not None:
        who = "" if view.ended_by in (None, WATERLINE) else f" by {person(view.ended_by)}{view.ended.where}"
        lines.append(f"{view.ended.how.capitalize()}{who} at {clock(view.ended_at)}: {mrkdwn(view.ended.reason)}")
    if view.execution_started_at is not None:
        lines.append(f":arrow_forward: Started by {person(view.executed_by)} at {clock(view.execution_started_at)}")
    for said in view.settled:
        what = "happened" if said.happened else "did not happen"
        lines.append(
            f":speech_balloon: Step {said.index + 1} {what}, settled by {person(said.by)}{said.where} "
            f"at {clock(said.at)}: {mrkdwn(as_sentence(said.reason))}"
        )
    return [section("\n".join(lines))] if lines else []


def reminder_message(incident: Incident, view: ProposalView) -> tuple[str, list[Block]]:
    """Asks those whose yes or no is missing; once it is decided, it says only that."""
    policy, title = view.proposal.policy, view.proposal.title
    if view.state is not ProposalState.PROPOSED:
        text = f"{incident.id}: “{title}” is {view.state.value} now"
        return text, [context(f"“{mrkdwn(title)}” is {view.state.value} now. Nobody needs to decide.")]
    left_out = (view.proposal.proposed_by, *(given.by for given in view.approvals))
    whom = mentions((policy.remind,)) or mentions(policy.approvers, left_out)
    asked = f":bell: {_named(whom, policy)}: “{mrkdwn(title)}” still waits"
    needs = missing_in_words(policy, view.approvals)
    until = f"{clock_time(last_approval_at(view), view.proposal.proposed_at)}"
    told = f"{incident.id}: “{title}” still waits for {needs}, until {until}"
    return told, [section(f"{asked} for {needs}, until {until}. The buttons are on the proposal, above this thread.")]


def emergency_message(incident: Incident, view: ProposalView) -> tuple[str, list[Block]]:
    """For the owners: who approved what alone, why, and how it can still be stopped."""
    assert view.glass is not None
    given, policy = view.glass.approval, view.proposal.policy
    others = len({each.by for each in view.approvals}) - 1
    had = f"{others or 'no'} other{'s' if others != 1 else ''} had approved"
    text = f"{incident.id}: emergency approval on {incident.opened.table}"
    stop = ""
    if not view.ended and view.execution_started_at is None and policy.veto is not None:
        stop = f" {_named(mentions((policy.veto,)), policy)} can veto it until it starts."
    return text, [
        section(
            f":rotating_light: *Emergency approval.* {_owners(view.glass.owners)}: "
            f"{person(given.by)} approved “{mrkdwn(view.proposal.title)}” alone at {clock(given.at)}. "
            f"The policy asks for {policy.required}{_teams(policy)}; {had}.{stop}\n"
            f"*Reason:* {mrkdwn(as_sentence(view.glass.reason))}"
        )
    ]


def minutes(seconds: float) -> str:
    """`5 minutes`, `30 seconds`."""
    count, unit = (seconds / 60, "minute") if seconds >= 60 else (seconds, "second")
    return f"{count:g} {unit}{'' if count == 1 else 's'}"


def _teams(policy: ApprovalPolicy) -> str:
    people = f" approval{'s' if policy.required > 1 else ''}"
    return f"{people} from {policy.teams_asked} teams" if policy.teams_asked else people


def _owners(ids: Iterable[str]) -> str:
    """People and user groups, mentioned."""
    return ", ".join(addressed(ids_mentioned([each]), {each}) if each.startswith("S") else person(each) for each in ids)


def _named(text: str, policy: ApprovalPolicy) -> str:
    return addressed(text, policy.named)
