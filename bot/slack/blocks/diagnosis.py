"""What was named, why its neighbours were not, and what is missing."""

from slack_sdk.models.blocks import Block, DividerBlock

from bot.domain.diagnosis import Diagnosis, Matches, Mode
from bot.domain.ids import short
from bot.slack.blocks.parts import context, section
from bot.slack.text import as_sentence, mrkdwn

_ROWS_SHOWN = 3


def diagnosis_message(diagnosis: Diagnosis) -> tuple[str, list[Block]]:
    """(notification text, blocks)."""
    if diagnosis.matches:
        mode, match = diagnosis.matches[0]
        text = f"Diagnosis {mode.code}: {match.headline}"
    else:
        text = "Diagnosis: no failure mode matches"
    blocks: list[Block] = []
    for mode, match in diagnosis.matches:
        blocks += _match(mode, match)
    if not diagnosis.matches:
        blocks.append(section(":grey_question: *No failure mode matches.* Nothing is proposed."))
    if diagnosis.undecided:
        lines = [f"• *{m.code}* {mrkdwn(m.title)}: {mrkdwn('; '.join(t.missing))}" for m, t in diagnosis.undecided]
        blocks.append(section("*Cannot tell yet*\n" + "\n".join(lines)))
    if diagnosis.excluded:
        lines = [f"• *{m.code}* {mrkdwn(m.title)}: {mrkdwn(t.reason)}" for m, t in diagnosis.excluded]
        blocks += [DividerBlock(), section("*Excluded*\n" + "\n".join(lines))]
    return text, blocks


def _match(mode: Mode, match: Matches) -> list[Block]:
    reasons = "\n".join(f"• {mrkdwn(reason)}" for reason in match.reasons)
    rows = ", ".join(short(row) for row in match.rows[:_ROWS_SHOWN])
    more = f" and {len(match.rows) - _ROWS_SHOWN} more" if len(match.rows) > _ROWS_SHOWN else ""
    alike = " ".join(as_sentence(text) for text in mode.false_positives)
    sign = ":white_check_mark:" if match.remedy.value == "nothing" else ":mag:"
    return [
        section(f"{sign} *{mrkdwn(mode.code)}: {mrkdwn(match.headline)}*\n{reasons}"),
        context(
            f"Last good snapshot: {short(match.last_good)} · Remedy: {match.remedy.words}",
            *([f"Shown by the commits {rows}{more}"] if rows else []),
            *([f"Easily mistaken for it: {mrkdwn(alike)}"] if alike else []),
        ),
    ]
