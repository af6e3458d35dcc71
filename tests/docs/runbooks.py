"""The runbooks as pages of the site: what an incident's card leads through, in one piece, with the shared steps."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import spark_tasks
from bot.evidence import find_tasks
from bot.incident.runbook import END, Runbook, Step
from bot.runbook.parse import files_of, read_all

FOLDER = Path(__file__).parents[2] / "runbooks"
_BLOCK = re.compile(r'^```step\nid: "(\S+)"\n.*?^```$', re.DOTALL | re.MULTILINE)
_READINGS = re.compile(r"^(?:\*(?:Confirmed|Ruled out|Inconclusive)\*: .*\n)+", re.MULTILINE)


def text_of(page: Path) -> str:
    """What the site shows of a page of this repository, as Markdown."""
    return _shown(_books()[page.stem]) if page in files_of(FOLDER) else page.read_text(encoding="utf-8")


@cache
def _books() -> Mapping[str, Runbook]:
    return read_all(FOLDER, {name: module.task for name, module in find_tasks(spark_tasks).items()})


def _shown(runbook: Runbook) -> str:
    """Where the runbook has a block for programs, the page says where each outcome leads."""
    steps = {str(step.id): step for step in runbook.steps}
    text = runbook.text.split("---\n", 2)[2].strip()
    text = _READINGS.sub(lambda lines: "\n" + lines[0].replace("*", "- *", 1).replace("\n*", "\n- *") + "\n", text)
    text = _BLOCK.sub(lambda block: _ways(steps[block[1]], steps), text)
    about = f"The runbook `{runbook.id}`: the card of an incident leads through it, and runs what it can by itself."
    return f"# {runbook.title}\n\n{about}\n\n{text}\n"


def _ways(step: Step, steps: Mapping[str, Step]) -> str:
    ways = [(key.replace("-", " "), goal) for key, goal in step.branches.items()]
    if step.next is not None:
        ways.append(("otherwise", step.next) if ways else ("then", step.next))
    return "\n".join(f"- {key}: {'the end' if goal == END else _link(steps[goal])}" for key, goal in ways)


def _link(step: Step) -> str:
    """The site makes a heading's anchor from its words."""
    anchor = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", step.title.lower()))
    return f"[{step.title}](#{anchor})"
