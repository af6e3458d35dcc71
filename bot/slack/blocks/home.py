"""App Home: what waits for this person, their incidents, what was promised, and which tables can be relied on."""

from collections.abc import Sequence

from slack_sdk.models.blocks import Block, DividerBlock
from slack_sdk.models.views import View

from bot.incident.delivery import HeldView
from bot.incident.incident import Incident
from bot.incident.trust import Basis, Trust, TrustState
from bot.observation.ids import short
from bot.service.home import HomeFacts, Promise
from bot.service.runbook_steps import current_step
from bot.slack.blocks.parts import actions, button, context, header, section
from bot.slack.ids import Click
from bot.slack.limits import SECTION_TEXT
from bot.slack.text import clipped, code, mrkdwn, person, room

_SIGNS = {
    TrustState.TRUSTED: ":white_check_mark:",
    TrustState.UNDER_REVIEW: ":warning:",
    TrustState.UNKNOWN: ":grey_question:",
}
_LINES = 30
"""Of one part; the others are counted."""
_LINE = 400
_PLANNED = 5


def home_view(facts: HomeFacts) -> View:
    """Everything that one person should see first, the most urgent on top."""
    blocks: list[Block] = [header("Waterline"), context("Which state of a table can its consumers trust?")]
    waiting = [_waiting(i, view.proposal.title) for i, view in facts.waiting]
    waiting += [_waiting(i, _notices(i, view)) for i, view in facts.held]
    blocks += _part("Waiting for your approval", waiting)
    if facts.groups_unknown:
        blocks.append(context("Slack did not return a user group of approvers. This list may be incomplete."))
    blocks += _part("Your incidents", [_incident(i) for i in facts.mine])
    blocks += _part("Due next", [_promise(each, facts) for each in facts.promises])
    blocks += _part(
        "Other open incidents" if facts.mine else "Open incidents", [_incident(i) for i in facts.other_open]
    )
    planned = [each for each in (*facts.mine, *facts.other_open) if each.runbook.is_planned][:_PLANNED]
    if planned:
        plan = [button(f"Plan a savepoint in {each.id}…", Click.SAVEPOINT, each.id) for each in planned]
        blocks.append(actions(plan))
    if not facts.mine and not facts.other_open:
        blocks.append(section("No incident is open."))
    blocks.append(DividerBlock())
    own = [trust_line(each) for each in facts.tables if each.table in facts.own]
    others = [trust_line(each) for each in facts.tables if each.table not in facts.own]
    blocks += _part("Your tables", own)
    blocks += _part("Other tables" if own else "Tables", others)
    blocks.append(context("Type `/waterline help` in a channel to see all commands."))
    return View(type="home", blocks=blocks)


def trust_line(trust: Trust) -> str:
    """One table's trust in a line, escaped: state, snapshot, why."""
    snapshot = ""
    if trust.snapshot is not None and trust.basis is not Basis.NEVER_QUESTIONED:
        snapshot = f", waterline at {short(trust.snapshot)}"
    state = trust.state.value.replace("-", " ")
    return f"{_SIGNS[trust.state]} {code(trust.table)} {state}{snapshot}. {mrkdwn(trust.why)}"


def _part(title: str, lines: Sequence[str]) -> list[Block]:
    """A title and its lines, in as many sections as they need; nothing where there are none."""
    if not lines:
        return []
    shown = [clipped(line, _LINE) for line in lines[:_LINES]]
    if len(lines) > _LINES:
        shown.append(f"and {len(lines) - _LINES} more")
    texts = [f"*{title}*"]
    for line in shown:
        if len(texts[-1]) + 1 + len(line) > SECTION_TEXT:
            texts.append(line)
        else:
            texts[-1] += f"\n{line}"
    return [section(text) for text in texts]


def _waiting(incident: Incident, title: str) -> str:
    return f"• *{incident.id}* {code(incident.opened.table)}: {mrkdwn(title)}, in {room(incident.opened.channel)}"


def _notices(incident: Incident, view: HeldView) -> str:
    """The notices that were previewed: what they are, and for whom."""
    notices = incident.previews[view.name]
    kinds = " and ".join(dict.fromkeys(notice.kind.replace("_", " ") for notice in notices))
    to = notices[0].consumer if len(notices) == 1 else f"{len(notices)} consumers"
    return f"the notice “{kinds}” for {to}"


def _incident(incident: Incident) -> str:
    step = current_step(incident)
    where = step.title if step else "runbook finished"
    who = person(incident.responder) if incident.responder else "nobody"
    return f"• *{incident.id}* {code(incident.opened.table)} in {room(incident.opened.channel)}: {mrkdwn(where)}, {who}"


def _promise(promise: Promise, facts: HomeFacts) -> str:
    late = ", *overdue*" if promise.at < facts.now else ""
    at = f"{promise.at:%H:%M} UTC" if promise.at.date() == facts.now.date() else f"{promise.at:%Y-%m-%d}"
    return f"• {at}: {mrkdwn(promise.what)}, *{promise.incident.id}*{late}"
