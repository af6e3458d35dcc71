"""How a proposal is decided, in its message; the reminder; and the page that owners get of a broken glass."""

from slack_sdk.models.blocks import Block

from bot.domain.approval import ApprovalPolicy
from bot.domain.approval_count import mentions, missing_in_words, whom_to_ask
from bot.domain.approval_times import last_approval_at
from bot.domain.clock_time import clock_time
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.slack.blocks.parts import clock, context, section
from bot.slack.text import addressed, as_sentence, mrkdwn, person, room

_WHY_TOLD = "You are told because the table's policy names you. The incident's review looks at it again."


def who_may(view: ProposalView) -> list[str]:
    """Small print while it can still be decided: who is missing, until when, who may stop it, and the way out."""
    policy, proposer = view.proposal.policy, view.proposal.proposed_by
    lines = []
    if view.state is ProposalState.PROPOSED:
        lines.append(
            f"Needs {missing_in_words(policy, view.approvals)}, not the proposer's. "
            f"{_named(whom_to_ask(policy, proposer, view.approvals), policy)} "
            f"Can be approved until {clock_time(last_approval_at(view), view.proposal.proposed_at)}."
        )
    if policy.veto is not None:
        waits = policy.hold and view.state is ProposalState.PROPOSED
        hold = f" Once approved, it waits {minutes(policy.hold.total_seconds())} for that." if waits else ""
        lines.append(f"{_named(mentions((policy.veto,)), policy)} may veto it until it is carried out.{hold}")
    if policy.break_glass is not None and view.state in {ProposalState.PROPOSED, ProposalState.HELD}:
        who = _named(mentions((policy.break_glass,), (proposer,)), policy)
        told = ", ".join(_place(to) for to in policy.break_glass.pages)
        lines.append(f"In an emergency {who} may approve alone, with a reason; {told} would be told at once.")
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
        told = ", ".join(_page_line(view, to) for to in view.glass.pages)
        lines.append(
            f":rotating_light: *Glass broken* by {person(given.by)}{given.where} at {clock(given.at)}: "
            f"{mrkdwn(as_sentence(view.glass.reason))} Told: {told}."
        )
    if view.ended is not None and view.ended_at is not None:
        who = "" if view.ended_by in (None, WATERLINE) else f" by {person(view.ended_by)}{view.ended.where}"
        lines.append(f"{view.ended.how.capitalize()}{who} at {clock(view.ended_at)}: {mrkdwn(view.ended.reason)}")
    if view.execution_started_at is not None:
        lines.append(f":arrow_forward: Started by {person(view.executed_by)} at {clock(view.execution_started_at)}")
    for said in view.settled:
        what = "happened" if said.happened else "did not happen"
        lines.append(
            f":speech_balloon: Step {said.index + 1} {what}, as {person(said.by)} settled{said.where} "
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


def page_message(incident: Incident, view: ProposalView) -> tuple[str, list[Block]]:
    """For the owners: who approved what alone, why, and how it can still be stopped."""
    assert view.glass is not None
    given, policy = view.glass.approval, view.proposal.policy
    others = len({each.by for each in view.approvals}) - 1
    text = f"The glass was broken on {incident.opened.table} ({incident.id})"
    lines = (
        f":rotating_light: *{mrkdwn(text)}*\n"
        f"{person(given.by)} approved “{mrkdwn(view.proposal.title)}” alone at {clock(given.at)}. "
        f"The policy asks for {policy.required}{_teams(policy)}; {others or 'no'} other{'s' if others != 1 else ''} "
        f"had approved.\n*Reason:* {mrkdwn(as_sentence(view.glass.reason))}"
    )
    if incident.is_private:
        lines = (
            f":rotating_light: *The glass was broken in a private incident, {incident.id}.*\n"
            f"{person(given.by)} approved alone at {clock(given.at)}. Ask them what it is about, and to invite you."
        )
        return f"The glass was broken in {incident.id}", [section(lines), context(_WHY_TOLD)]
    veto = f" {_named(mentions((policy.veto,)), policy)} may veto it." if policy.veto is not None else ""
    blocks: list[Block] = [
        section(lines),
        section(f"*{_what_now(view)}.* It is in {room(incident.opened.channel)}.{veto}"),
        context(_WHY_TOLD),
    ]
    return text, blocks


def minutes(seconds: float) -> str:
    """`5 minutes`, `30 seconds`."""
    count, unit = (seconds / 60, "minute") if seconds >= 60 else (seconds, "second")
    return f"{count:g} {unit}{'' if count == 1 else 's'}"


def _what_now(view: ProposalView) -> str:
    if view.execution_started_at is not None:
        return f"It is {view.state.value}; it was started at {clock(view.execution_started_at)}"
    return f"It is {view.state.value}" if view.ended else "It can be stopped until it is carried out"


def _teams(policy: ApprovalPolicy) -> str:
    people = f" approval{'s' if policy.required > 1 else ''}"
    return f"{people} from {policy.teams_asked} teams" if policy.teams_asked else people


def _page_line(view: ProposalView, to: str) -> str:
    ended = view.pages.get(to)
    arrived = {None: "on its way", "delivered": "reached", "failed": "*not reached*"}[ended.how if ended else None]
    return f"{_place(to)} ({arrived})"


def _place(to: str) -> str:
    return room(to) if to[:1] in "CGD" else person(to)


def _named(text: str, policy: ApprovalPolicy) -> str:
    return addressed(text, policy.named)
