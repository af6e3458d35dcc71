"""One answered (or ended) evidence run, as a message in the incident's thread."""

from slack_sdk.models.blocks import Block, RawTextObject, TableBlock
from slack_sdk.models.blocks.basic_components import TableBlockColumnSettings

from bot.domain.asked_window import begin_of
from bot.domain.evidence import Evidence, Task
from bot.domain.findings import LedgerFinding
from bot.domain.ids import short
from bot.domain.incident import EvidenceRun
from bot.slack.blocks.parts import clock, context, measures, said, section, sign, size
from bot.slack.text import mrkdwn, plain, short_paths

_SHOWN_ROWS = 10
_FOLD_FROM = 3
_CELL = 200
_WRAPPED_FROM = 40


RUN_AGAIN = "Spark stopped; Waterline ran it again"


def evidence_message(run: EvidenceRun, task: Task) -> tuple[str, list[Block]]:
    """(notification text, blocks)."""
    if run.ended is not None:
        word = "was cancelled" if run.ended.how == "cancelled" else "could not be answered"
        text = f"{task.title} {word}"
        return text, [section(f":no_entry: *{mrkdwn(text)}*\n{mrkdwn(run.ended.message)}{_again(run)}")]
    if run.evidence is None:
        return f"{task.title} is running", [section(f":hourglass_flowing_sand: *{mrkdwn(task.title)}* is running")]
    return _answered(run, run.evidence, task)


def _again(run: EvidenceRun) -> str:
    return " Waterline had already run it again once; Spark stopped both times." if run.is_again else ""


def _answered(run: EvidenceRun, evidence: Evidence, task: Task) -> tuple[str, list[Block]]:
    verdict = said(evidence.verdict)
    blocks: list[Block] = [
        section(
            f"{sign(evidence.verdict, task)} *{mrkdwn(task.title)}: {verdict}*\n{mrkdwn(evidence.headline)}\n"
            f"_{mrkdwn(evidence.question)}_"
        )
    ]
    if evidence.measures:
        blocks.append(section(measures(evidence.measures)))
    for missing in evidence.could_not_look:
        blocks.append(section(f":warning: *Could not look at {mrkdwn(missing.source)}.* {mrkdwn(missing.reason)}"))
    shown = evidence.rows[:_SHOWN_ROWS]
    columns, rows, same = folded(evidence.columns, shown)
    more = len(evidence.rows) - len(shown)
    small_print = [
        *([RUN_AGAIN] if run.is_again else []),
        *([f"Same in every row: {mrkdwn(same)}"] if same else []),
        *([f"{more} more sample row{'s are' if more > 1 else ' is'} in the record"] if more > 0 else []),
        *_left_out(evidence),
        *(f"No fault: {mrkdwn(remark)}" for remark in evidence.remarks),
        f"Pinned to head {short(evidence.head)} · commits {begin_of(evidence.window)} · "
        f"{clock(evidence.at)} · {evidence.took_ms / 1000:.1f} s · {size(evidence.bytes_read)} read",
    ]
    blocks.append(context(*small_print))
    if rows:
        blocks.append(table(columns, rows))
    return f"{task.title}: {verdict}. {evidence.headline}", blocks


def _left_out(evidence: Evidence) -> list[str]:
    """Commits of a ledger that its table leaves out: what looks like a jump between two rows may be these."""
    commits = len(evidence.finding.ledger.rows) if isinstance(evidence.finding, LedgerFinding) and evidence.rows else 0
    out = commits - min(len(evidence.rows), _SHOWN_ROWS)
    return [f"{out} of {commits} commits are not listed; a gap between two rows may be these"] if out > 0 else []


def folded(
    columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], str]:
    """(columns, rows, what is the same in every row): a column that tells no rows apart is told once.

    Fewer than three rows, or rows that do not differ at all, keep their columns.
    """
    differs = [len({row[i] for row in rows}) > 1 for i in range(len(columns))]
    if len(rows) < _FOLD_FROM or not any(differs):
        return columns, rows, ""
    same = " · ".join(
        f"{name} {short_paths(cell)}"
        for name, cell, keep in zip(columns, rows[0], differs, strict=True)
        if not keep and cell
    )
    kept = tuple(tuple(c for c, keep in zip(row, differs, strict=True) if keep) for row in (columns, *rows))
    return kept[0], kept[1:], same


def table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> TableBlock:
    """Slack's own table: it scrolls sideways where a code block would wrap. At most one in a message, at its end."""
    lines = [[_cell(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    return TableBlock(
        rows=[[RawTextObject(text=cell) for cell in line] for line in lines],
        column_settings=[TableBlockColumnSettings(is_wrapped=width > _WRAPPED_FROM) for width in widths],
    )


def _cell(text: str) -> str:
    return plain(short_paths(text).strip(), _CELL) or "–"
