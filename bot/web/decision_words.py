"""What a proposal's page says beside the proposal: where it stands, who decides, who has said what."""

import json
import re
from collections.abc import Iterator, Mapping

from bot.actions._effects import describe
from bot.domain.approval import ApprovalPolicy
from bot.domain.approval_count import mentions, missing_in_words, whom_to_ask
from bot.domain.approval_times import last_approval_at
from bot.domain.clock_time import clock_time
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.inert import visible
from bot.domain.journal import WATERLINE
from bot.domain.named_people import MENTION
from bot.domain.record import Record
from bot.domain.sentences import counted, full_stop

_GROUP = re.compile(r"<!subteam\^([A-Z0-9]{2,})>")
_S = ProposalState
_STATE = {
    _S.PROPOSED: ("waits for approval", "warn"),
    _S.HELD: ("approved, held for a veto", "warn"),
    _S.APPROVED: ("approved, not yet carried out", "good"),
    _S.EXECUTING: ("being carried out", "warn"),
    _S.APPLIED: ("carried out", "good"),
    _S.REFUSED: ("refused at execution", "bad"),
    _S.UNKNOWN: ("outcome not known yet", "warn"),
    _S.REJECTED: ("rejected", "bad"),
    _S.VETOED: ("vetoed", "bad"),
    _S.EXPIRED: ("expired", ""),
    _S.SUPERSEDED: ("superseded", ""),
}


class People:
    """Shows people, groups and channels by name, as far as names are known, and nothing of a text hidden."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def person(self, user: str | None) -> str:
        """By name; the id where Slack did not tell."""
        return self._names.get(user, user) if user else "nobody"

    def plain(self, text: str) -> str:
        """A text of ours, in which people are written `<@U…>`."""
        named = MENTION.sub(
            lambda found: self.person(found[2]) if found[1] == "@" else f"channel {self.person(found[2])}", text
        )
        return visible(_GROUP.sub(r"user group \1", named))


def standing(view: ProposalView) -> tuple[str, str]:
    """(where it stands, the kind of its chip)."""
    if view.state is _S.APPLIED and view.verified is not None:
        return ("carried out and proven", "good") if view.verified.passed else ("carried out, not proven", "bad")
    return _STATE[view.state]


def who_decides(view: ProposalView) -> list[str]:
    """The policy under which it was proposed: it is part of what is approved."""
    policy, proposer = view.proposal.policy, view.proposal.proposed_by
    lines = [f"{_asked_for(policy)}, not the proposer's. Those who may: {mentions(policy.approvers) or 'nobody'}."]
    lines += [f"Team {name}: {mentions((people,)) or 'nobody'}." for name, people in policy.teams.items()]
    if view.state is _S.PROPOSED and view.approvals:
        needs = missing_in_words(policy, view.approvals)
        lines.append(f"Still needs {needs}. {whom_to_ask(policy, proposer, view.approvals)}")
    last, end = last_approval_at(view), view.proposal.expires_at
    until = f"until {clock_time(last)}, and begun" if last != end else "and begun"
    lines.append(f"Can be approved {until} until {clock_time(end)}.")
    if policy.veto is not None:
        hold = f" Once approved, it waits {_span(policy.hold.total_seconds())} for that." if policy.hold else ""
        lines.append(f"{mentions((policy.veto,)) or 'Nobody'} may veto it until it is carried out.{hold}")
    if policy.break_glass is not None:
        who = mentions((policy.break_glass,), (proposer,)) or "nobody"
        told = ", ".join(_place(to) for to in policy.break_glass.pages)
        lines.append(f"In an emergency {who} may approve alone, with a reason; {told} would be told at once.")
    return lines


def what_was_said(view: ProposalView) -> list[str]:
    """Who decided what, where and when: one line each, in the order in which it happened."""
    lines = []
    for given in view.approvals:
        team = f" for team {', '.join(given.teams)}" if given.teams else ""
        if view.glass is None or view.glass.approval.by != given.by:
            lines.append(f"<@{given.by}> approved it{team}{given.where}, {clock_time(given.at)}.")
    if view.glass is not None:
        given = view.glass.approval
        told = ", ".join(f"{_place(to)} ({_arrived(view, to)})" for to in view.glass.pages)
        broke = f"<@{given.by}> broke the glass and approved alone{given.where}, {clock_time(given.at)}"
        lines.append(f"{broke}: {full_stop(view.glass.reason)} Told: {told}.")
    if view.ended is not None and view.ended_at is not None:
        who = "" if view.ended_by in (None, WATERLINE) else f" by <@{view.ended_by}>{view.ended.where}"
        how = f"{view.ended.how.capitalize()}{who}, {clock_time(view.ended_at)}"
        lines.append(f"{how}: {full_stop(view.ended.reason)}")
    if view.execution_started_at is not None:
        lines.append(f"<@{view.executed_by}> had it carried out, {clock_time(view.execution_started_at)}.")
    lines += [
        f"<@{said.by}> settled{said.where} that step {said.index + 1} "
        f"{'happened' if said.happened else 'did not happen'}, {clock_time(said.at)}: {full_stop(said.reason)}"
        for said in view.settled
    ]
    return lines


def steps(view: ProposalView) -> list[tuple[str, str]]:
    """Each effect, and how far it has come."""
    told = []
    for index, effect in enumerate(view.proposal.effects):
        ended = view.done.get(index)
        if ended is not None:
            told.append((describe(effect), f"{ended.how}. {ended.detail}"))
        else:
            told.append((describe(effect), "is under way" if index in view.started else "not begun"))
    return told


def exactly(record: Record) -> Iterator[tuple[str, str]]:
    """(name, value) of each of its fields, as the digest covers them."""
    for name, value in record.model_dump(mode="json").items():
        yield name.replace("_", " "), value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _asked_for(policy: ApprovalPolicy) -> str:
    people = f"Asks for {counted(policy.required, 'approval')}"
    return f"{people} from {policy.teams_asked} different teams" if policy.teams_asked else people


def _span(seconds: float) -> str:
    count, unit = (seconds / 60, "minute") if seconds >= 60 else (seconds, "second")
    return f"{count:g} {unit}{'' if count == 1 else 's'}"


def _arrived(view: ProposalView, to: str) -> str:
    ended = view.pages.get(to)
    return {None: "on its way", "delivered": "reached", "failed": "not reached"}[ended.how if ended else None]


def _place(to: str) -> str:
    return f"<#{to}>" if to[:1] in "CGD" else f"<@{to}>"
