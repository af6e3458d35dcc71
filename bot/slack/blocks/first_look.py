"""What the bot asked of its own accord, in one message: what is wrong first, what is well in a line."""

from collections.abc import Mapping

from slack_sdk.models.blocks import Block

from bot.domain.evidence import Evidence, Task, Verdict
from bot.domain.incident import EvidenceRun, Incident
from bot.domain.sentences import counted
from bot.slack.blocks.evidence import RUN_AGAIN
from bot.slack.blocks.parts import clock, context, section, sign
from bot.slack.text import clipped, mrkdwn, short_paths

_HEADLINE = 280


def first_look_message(incident: Incident, tasks: Mapping[str, Task]) -> tuple[str, list[Block]]:
    """(notification text, blocks). Of each task its newest run of a first look."""
    runs = {run.task: run for run in incident.runs.values() if run.is_first_look}
    answered = [(tasks[run.task], run.evidence) for run in runs.values() if run.evidence is not None]
    trouble = [each for each in answered if _is_trouble(*each)]
    open_ones = [each for each in answered if each[1].verdict is Verdict.INCONCLUSIVE]
    well = [task.title for task, evidence in answered if (task, evidence) not in [*trouble, *open_ones]]
    title = _title(len(trouble), len(open_ones) + len(_ended(runs)), sum(run.is_running for run in runs.values()))
    blocks: list[Block] = [section(f"*First look, without reading rows: {title}*")]
    blocks += [section(_line(*each)) for each in trouble]
    blocks += [section("\n".join(_line(*each) for each in open_ones))] if open_ones else []
    small = [f":large_green_circle: Checked, nothing wrong: {mrkdwn(', '.join(well))}"] if well else []
    small += [f":no_entry: {mrkdwn(tasks[run.task].title)}: {mrkdwn(run.ended.message)}" for run in _ended(runs)
              if run.ended is not None]  # fmt: skip
    small += [f"No fault: {mrkdwn(remark)}" for _task, evidence in answered for remark in evidence.remarks]
    small += [RUN_AGAIN] if any(run.is_again for run in runs.values()) else []
    newest = max((evidence.at for _task, evidence in answered), default=None)
    if newest is not None:
        small.append(f"As of {clock(newest)}. Each diagnosis checks again. Rows are read only on request")
    return f"First look: {title}", [*blocks, *([context(*small)] if small else [])]


def _title(trouble: int, unanswered: int, running: int) -> str:
    """What was not looked at is never said to be well."""
    found = f"{counted(trouble, 'trouble')} found" if trouble else "nothing wrong found"
    so_far = " so far" if running else ""
    untold = f", {counted(unanswered, 'question')} could not be answered" if unanswered else ""
    return f"{found}{so_far}{untold}"


def _is_trouble(task: Task, evidence: Evidence) -> bool:
    is_relief = task.confirmed_is == "relief"
    return evidence.verdict is (Verdict.RULED_OUT if is_relief else Verdict.CONFIRMED)


def _ended(runs: Mapping[str, EvidenceRun]) -> list[EvidenceRun]:
    return [run for run in runs.values() if run.ended is not None]


def _line(task: Task, evidence: Evidence) -> str:
    headline = clipped(short_paths(evidence.headline), _HEADLINE)
    return f"{sign(evidence.verdict, task)} *{mrkdwn(task.title)}*: {mrkdwn(headline)}"
