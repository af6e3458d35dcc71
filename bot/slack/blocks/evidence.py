"""One answered (or ended) evidence run, as a message in the incident's thread."""

from slack_sdk.models.blocks import Block

from bot.domain.evidence import Evidence, Task
from bot.domain.ids import short
from bot.domain.incident import EvidenceRun
from bot.slack.blocks.parts import SIGN, clock, context, measures, section, size
from bot.slack.text import clipped, mrkdwn

_SHOWN_ROWS = 12


def evidence_message(run: EvidenceRun, task: Task) -> tuple[str, list[Block]]:
    """(notification text, blocks)."""
    if run.ended is not None:
        word = "was cancelled" if run.ended.how == "cancelled" else "could not be answered"
        text = f"{task.title} {word}"
        return text, [section(f":no_entry_sign: *{mrkdwn(text)}*\n{mrkdwn(run.ended.message)}")]
    if run.evidence is None:
        return f"{task.title} is running", [section(f":hourglass_flowing_sand: *{mrkdwn(task.title)}* is running")]
    return _answered(run.evidence, task)


def _answered(evidence: Evidence, task: Task) -> tuple[str, list[Block]]:
    verdict = evidence.verdict.value
    blocks: list[Block] = [
        section(
            f"{SIGN[evidence.verdict]} *{mrkdwn(task.title)}: {verdict}*\n_{mrkdwn(evidence.question)}_\n"
            f"{mrkdwn(evidence.headline)}"
        )
    ]
    if evidence.measures:
        blocks.append(section(measures(evidence.measures)))
    if evidence.rows:
        blocks.append(section(table(evidence.columns, evidence.rows[:_SHOWN_ROWS])))
        more = len(evidence.rows) - _SHOWN_ROWS
        if more > 0:
            blocks.append(context(f"and {more} more rows in the record"))
    for missing in evidence.could_not_look:
        blocks.append(section(f":warning: *Could not look at {mrkdwn(missing.source)}.* {mrkdwn(missing.reason)}"))
    blocks.append(
        context(
            f"Pinned to head {short(evidence.head)} · window after {short(evidence.window.since)} · "
            f"{clock(evidence.at)} · {evidence.took_ms / 1000:.1f} s · {size(evidence.bytes_read)} read"
        )
    )
    return f"{task.title}: {verdict}. {evidence.headline}", blocks


def _tail(cell: str) -> str:
    """Of a long path the end tells it apart."""
    return f"…{cell[-27:]}" if "/" in cell and len(cell) > 28 else cell


def table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    """Columns in a code block: readable in every client, copied as text."""
    cells = [columns, *(tuple(_tail(cell) for cell in row) for row in rows)]
    widths = [min(28, max(len(row[i]) for row in cells)) for i in range(len(columns))]
    lines = ["  ".join(clipped(c, w).ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "```" + mrkdwn("\n".join(lines).replace("`", "'")) + "```"
