"""The contract review: what did not hold, with owner and day; what nobody could tell; what the contract lacks."""

from datetime import timedelta

from slack_sdk.models.blocks import Block, InputBlock, Option, UserSelectElement
from slack_sdk.models.views import View

from bot.incident.incident import Incident
from bot.incident.review import ReviewItem, metrics, review_items
from bot.observation.errors import Refused
from bot.observation.sentences import counted
from bot.slack.blocks.parts import actions, button, context, section
from bot.slack.forms import day, line, modal, select
from bot.slack.ids import Click, Form
from bot.slack.text import as_sentence, clipped, mrkdwn, person, short_paths

_SHOWN = 10


def review_message(incident: Incident) -> tuple[str, list[Block]]:
    """(notification text, blocks) of the newest review, as it stands now."""
    findings, items = incident.review or (), review_items(incident)
    broken = [item for item in items if item.finding.holds is False]
    untold = [item for item in items if item.finding.holds is None]
    holding = len(findings) - len(items)
    text = f"Contract review: {len(broken)} of {counted(len(findings), 'term')} did not hold"
    blocks: list[Block] = [section(f":clipboard: *{text}*")]
    shown = broken[:_SHOWN]
    charges = [_charge(item) for item in shown]
    are_alike = len(charges) > 1 and len(set(charges)) == 1
    for item, charge in zip(shown, charges, strict=True):
        blocks.append(section(f":x: {item.number}. {_line(item)}" + ("" if are_alike else f"\n{charge}")))
    blocks += [context(f"Each of these: {charges[0]}")] if are_alike else []
    if untold:
        blocks.append(section("*Unknown*\n" + "\n".join(f"• {_line(item)}" for item in untold[:_SHOWN])))
    if incident.snippet is not None:
        blocks.append(section(f"*To add to the data contract*\n```{clipped(mrkdwn(incident.snippet), 2800)}```"))
    took = " · ".join(f"to {each.name} *{each.words}*" for each in metrics(incident) if each.took is not None)
    hidden = max(0, len(broken) - _SHOWN) + max(0, len(untold) - _SHOWN)
    more = f" {hidden} more {'are' if hidden > 1 else 'is'} in the record." if hidden else ""
    small = [f"{counted(holding, 'term')} held. The record has all of them.{more}"]
    blocks.append(context(*([f":stopwatch: {took}"] if took else []), *small))
    change = [button(f"Change {item.number}…", Click.TERM, incident.id, str(item.number)) for item in shown]
    publish = button("Send the review to consumers…", Click.PREVIEW_NOTICE, incident.id, "review", "")
    blocks.append(actions([*change, publish]))
    return text, blocks


def term_form(incident: Incident, number: int, channel: str) -> View:
    """Hand one term on, or settle it. Raises Refused when the newest review has no such term."""
    item = next((item for item in review_items(incident) if item.number == number), None)
    if item is None:
        raise Refused("This item is not part of the newest review.", "", "Use the newest review message.")
    ways = [
        Option(value="assign", text="Assign to the owner, due on the day below"),
        Option(value="fixed", text="It is fixed"),
        Option(value="accepted", text="It is accepted as it is"),
    ]
    due = item.due or incident.entries[-1].at + timedelta(days=14)
    owner = UserSelectElement(action_id="owner", initial_user=item.owner or incident.responder)
    return modal(
        "Review item",
        section(_line(item)),
        select("way", "Action", ways, ways[0]),
        InputBlock(block_id="owner", label="Owner", element=owner),
        day("due", "Due", due),
        line("reason", "What was done, or why is it accepted?", optional=True, lines=True, most=3000),
        form=Form.TERM,
        submit="Save",
        about=f"{incident.id}/{number}/{channel}",
    )


def _line(item: ReviewItem) -> str:
    parts = (item.finding.term, item.finding.observed, item.finding.action)
    term, observed, action = (mrkdwn(short_paths(as_sentence(part))) for part in parts)
    return f"*{term}* {observed}" + (f" → {action}" if action else "")


def _charge(item: ReviewItem) -> str:
    if item.settled is not None:
        return f":white_check_mark: {item.settled.how.capitalize()}: {mrkdwn(item.settled.reason)}"
    due = f", due {item.due:%Y-%m-%d}" if item.due is not None else ""
    return f"Owner: {person(item.owner) if item.owner else 'nobody'}{due}"
