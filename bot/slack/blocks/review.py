"""The contract review: what did not hold first, then what nobody could tell, then how much is in order."""

from slack_sdk.models.blocks import Block

from bot.domain.entries import Finding
from bot.slack.blocks.parts import context, counted, section
from bot.slack.text import as_sentence, mrkdwn, short_paths

_SHOWN = 10


def review_message(findings: tuple[Finding, ...]) -> tuple[str, list[Block]]:
    """(notification text, blocks)."""
    broken = [finding for finding in findings if finding.holds is False]
    untold = [finding for finding in findings if finding.holds is None]
    holding = len(findings) - len(broken) - len(untold)
    text = f"Contract review: {len(broken)} of {counted(len(findings), 'term')} did not hold"
    blocks: list[Block] = [section(f":clipboard: *{text}*")]
    if broken:
        blocks.append(section("*Did not hold*\n" + "\n".join(_line(finding) for finding in broken[:_SHOWN])))
    if untold:
        blocks.append(section("*Could not be told*\n" + "\n".join(_line(finding) for finding in untold[:_SHOWN])))
    hidden = max(0, len(broken) - _SHOWN) + max(0, len(untold) - _SHOWN)
    more = f" {hidden} more {'are' if hidden > 1 else 'is'} in the record." if hidden else ""
    blocks.append(context(f"{counted(holding, 'term')} held. The record has all of them.{more}"))
    return text, blocks


def _line(finding: Finding) -> str:
    term, observed, action = (
        mrkdwn(short_paths(as_sentence(part))) for part in (finding.term, finding.observed, finding.action)
    )
    return f"• *{term}* {observed}" + (f" _{action}_" if action else "")
