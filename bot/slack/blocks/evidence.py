"""Evidence in the incident's thread.

What the bot asked by itself, in one message: what is wrong first, what is well in a line. What a person asked for by
name has a message of its own, with the sample rows.
"""

from collections.abc import Mapping

from slack_sdk.models.blocks import Block, RawTextObject, TableBlock
from slack_sdk.models.blocks.basic_components import TableBlockColumnSettings

from bot.incident.asked import begin_of
from bot.incident.incident import EvidenceRun, Incident
from bot.incident.journal import WATERLINE
from bot.observation.evidence import Evidence, Task, Verdict
from bot.observation.findings import LedgerFinding
from bot.observation.ids import short
from bot.observation.sentences import counted
from bot.slack.blocks.parts import clock, context, measures, section, sections, sign, size
from bot.slack.text import clipped, mrkdwn, plain, short_paths

_SHOWN_ROWS = 10
_FOLD_FROM = 3
_CELL = 200
_WRAPPED_FROM = 40


RUN_AGAIN = "Spark stopped; Waterline ran it again"


def evidence_message(run: EvidenceRun, task: Task) -> tuple[str, list[Block]]:
    if run.ended is not None:
        word = "was cancelled" if run.ended.how == "cancelled" else "could not be answered"
        text = f"{task.title} {word}"
        return text, [section(f":no_entry: *{mrkdwn(text)}*\n{mrkdwn(run.ended.message)}{_again(run)}")]
    assert run.evidence is not None  # it is posted once it has ended
    return _answered(run, run.evidence, task)


def _again(run: EvidenceRun) -> str:
    return " Waterline had already run it again once; Spark stopped both times." if run.is_again else ""


def _answered(run: EvidenceRun, evidence: Evidence, task: Task) -> tuple[str, list[Block]]:
    verdict = task.word(evidence.verdict)
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


_HEADLINE, _EXAMPLE = 280, 120


def change_before(incident: Incident, run: EvidenceRun) -> int:
    """How many proposals had begun to run when it was asked for."""
    started = (view.execution_started_at for view in incident.proposals.values())
    return sum(at is not None and at <= run.requested_at for at in started)


def is_of_the_bot(run: EvidenceRun) -> bool:
    """Whether nobody asked for it by name, and it is about main: its answer stands in one message with the others."""
    return run.by == WATERLINE and run.branch is None


def answers_message(incident: Incident, tasks: Mapping[str, Task], change: int) -> tuple[str, list[Block]]:
    """(notification text, blocks). The newest answer of each task that the bot asked for after so many changes."""
    asked = [run for run in incident.runs.values() if is_of_the_bot(run) and change_before(incident, run) == change]
    runs = {run.task: run for run in asked}
    answered = [(tasks[run.task], run.evidence) for run in runs.values() if run.evidence is not None]
    trouble = [each for each in answered if _is_trouble(*each)]
    neutral = [each for each in answered if _is_neutral(*each)]
    open_ones = [each for each in answered if each[1].verdict is Verdict.INCONCLUSIVE]
    well = [each for each in answered if each not in [*trouble, *neutral, *open_ones]]
    ended = [(tasks[run.task], run.ended) for run in runs.values() if run.ended is not None]
    title = _title(
        len(trouble), len(neutral), len(open_ones) + len(ended), sum(run.is_running for run in runs.values())
    )
    lines = [
        *(_line(*each, example=True) for each in trouble),
        *(_line(*each) for each in (*neutral, *open_ones)),
        *(f":no_entry: *{mrkdwn(task.title)}*: {mrkdwn(how.message)}" for task, how in ended),
        *(_not_seen(*each) for each in answered if each[1].could_not_look),
    ]
    blocks: list[Block] = [*sections("\n".join([f"*Evidence: {title}*", *lines]))]
    small = []
    if well:
        titles = mrkdwn(", ".join(task.title for task, _evidence in well))
        small.append(f":large_green_circle: Checked, nothing wrong: {titles}")
    if any(run.is_again for run in runs.values()):
        small.append(RUN_AGAIN)
    if answered:
        newest = max((evidence for _task, evidence in answered), key=lambda each: each.at)
        small.append(f"As of {clock(newest.at)}, at head {short(newest.head)}. The record has the sample rows")
    return f"Evidence: {title}", [*blocks, *([context(*small)] if small else [])]


def _title(trouble: int, neutral: int, unanswered: int, running: int) -> str:
    """What was not looked at, or what is no fault by itself, is never said to be well."""
    noted = [f"{counted(neutral, 'answer')} to look at"] if neutral else []
    found = ", ".join([*([f"{counted(trouble, 'trouble')} found"] if trouble else []), *noted]) or "nothing wrong found"
    so_far = " so far" if running else ""
    untold = f", {counted(unanswered, 'question')} could not be answered" if unanswered else ""
    return f"{found}{so_far}{untold}"


def _is_trouble(task: Task, evidence: Evidence) -> bool:
    wrong = {"trouble": Verdict.CONFIRMED, "relief": Verdict.RULED_OUT, "neutral": None}
    return evidence.verdict is wrong[task.confirmed_is]


def _is_neutral(task: Task, evidence: Evidence) -> bool:
    return task.confirmed_is == "neutral" and evidence.verdict is Verdict.CONFIRMED


def _line(task: Task, evidence: Evidence, *, example: bool = False) -> str:
    headline = mrkdwn(clipped(short_paths(evidence.headline), _HEADLINE))
    shown = [f"{name} {cell}" for name, cell in zip(evidence.columns, next(iter(evidence.rows), ()), strict=False)][:4]
    first = f" Example: {mrkdwn(clipped(short_paths(' · '.join(shown)), _EXAMPLE))}" if example and shown else ""
    return f"{sign(evidence.verdict, task)} *{mrkdwn(task.title)}*: {headline}{first}"


def _not_seen(task: Task, evidence: Evidence) -> str:
    missing = "; ".join(f"{each.source}: {each.reason}" for each in evidence.could_not_look)
    return f":warning: *{mrkdwn(task.title)}* could not look at {mrkdwn(short_paths(missing))}"
