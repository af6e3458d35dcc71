"""The contract review: what did not hold, and what nobody could tell."""

from slack_sdk.models.blocks import Block

from bot.incident.entries import Finding
from bot.incident.incident import Incident
from bot.incident.review import metrics
from bot.observation.sentences import counted
from bot.slack.blocks.parts import context, section
from bot.slack.text import as_sentence, mrkdwn, short_paths

_SHOWN = 10


def review_message(incident: Incident) -> tuple[str, list[Block]]:
    """(notification text, blocks) of the newest review, as it stands now."""
    findings = incident.review or ()
    broken = [finding for finding in findings if finding.holds is False]
    untold = [finding for finding in findings if finding.holds is None]
    holding = len(findings) - len(broken) - len(untold)
    text = f"Contract review: {len(broken)} of {counted(len(findings), 'term')} did not hold"
    blocks: list[Block] = [section(f":clipboard: *{text}*")]
    blocks += [section(f":x: {_line(finding)}") for finding in broken[:_SHOWN]]
    if untold:
        blocks.append(section("*Unknown*\n" + "\n".join(f"• {_line(finding)}" for finding in untold[:_SHOWN])))
    took = " · ".join(f"to {each.name} *{each.words}*" for each in metrics(incident) if each.took is not None)
    hidden = max(0, len(broken) - _SHOWN) + max(0, len(untold) - _SHOWN)
    more = f" {hidden} more {'are' if hidden > 1 else 'is'} in the record." if hidden else ""
    small = [f"{counted(holding, 'term')} held. The record has all of them.{more}"]
    blocks.append(context(*([f":stopwatch: {took}"] if took else []), *small))
    return text, blocks


def _line(finding: Finding) -> str:
    parts = (finding.term, finding.observed, finding.action)
    term, observed, action = (mrkdwn(short_paths(as_sentence(part))) for part in parts)
    return f"*{term}* {observed}" + (f"\n→ {action}" if action else "")
