"""App Home: open incidents, what waits for an approval, and the state of each table."""

from collections.abc import Sequence

from slack_sdk.models.blocks import Block, DividerBlock
from slack_sdk.models.views import View

from bot.domain.execution import ProposalState
from bot.domain.ids import TableName, UserId, short
from bot.domain.incident import Incident
from bot.service.walking import current_step
from bot.slack.blocks.parts import context, header, section
from bot.slack.text import code, mrkdwn, person, room


def home_view(incidents: Sequence[Incident], tables: Sequence[TableName], user: UserId) -> View:
    """What this person should see first."""
    open_ones = [i for i in incidents if i.is_open]
    blocks: list[Block] = [header("Waterline"), context("Which state of a table can its consumers trust?")]
    waiting = [i for i in open_ones if _waits(i, user)]
    if waiting:
        blocks.append(section("*Waiting for an approval*\n" + "\n".join(_line(i) for i in waiting)))
    blocks.append(section("*Open incidents*\n" + ("\n".join(_line(i) for i in open_ones) or "None.")))
    blocks.append(DividerBlock())
    blocks.append(section("*Tables*\n" + "\n".join(_table(table, incidents) for table in tables)))
    blocks.append(context("Type `/waterline help` in a channel for everything that you can do."))
    return View(type="home", blocks=blocks)


def _waits(incident: Incident, user: UserId) -> bool:
    view = incident.current_proposal
    return view is not None and view.state is ProposalState.PROPOSED and view.proposal.proposed_by != user


def _line(incident: Incident) -> str:
    step = current_step(incident)
    where = step.title if step else "runbook at its end"
    who = person(incident.responder) if incident.responder else "nobody"
    return f"• *{incident.id}* {code(incident.opened.table)} in {room(incident.opened.channel)}: {mrkdwn(where)}, {who}"


def _table(table: TableName, incidents: Sequence[Incident]) -> str:
    last = next((i for i in reversed(incidents) if i.opened.table == table and i.waterline), None)
    if last is None or last.waterline is None:
        return f"• {code(table)}: no incident so far"
    state = ":white_check_mark: trusted" if last.waterline.status == "trusted" else ":warning: under review"
    return f"• {code(table)}: {state}, waterline at {short(last.waterline.snapshot)} ({last.id})"
