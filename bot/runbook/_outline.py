"""The shape of a runbook file: front matter, sections, and under them one heading, prose and block a step."""

import re
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.runbook._yaml import Field, fields
from bot.runbook.problem import Problems


@dataclass
class StepDraft:
    """One `###` heading with what stands under it."""

    title: str
    section: str
    line: int
    prose: str = ""
    block: dict[str, Field] | None = None
    block_line: int | None = None


@dataclass
class Outline:
    """What the file says, before anything is checked against anything."""

    front: dict[str, Field] | None = None
    sections: dict[str, str] = field(default_factory=dict)
    section_lines: dict[str, int] = field(default_factory=dict)
    steps: list[StepDraft] = field(default_factory=list)


def outline(text: str, problems: Problems) -> Outline:
    """The file's outline; every trouble with its form is noted, never raised."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").split("\n")
    found = Outline()
    body_starts = _front_matter(lines, found, problems)
    body = [""] * body_starts + lines[body_starts:]
    tokens = [t for t in MarkdownIt("commonmark").parse("\n".join(body)) if t.level == 0 or t.type == "inline"]
    _refuse_html(tokens, problems)
    headings = [i for i, t in enumerate(tokens) if t.type == "heading_open" and t.level == 0 and t.tag in _LEVELS]
    for place, index in enumerate(headings):
        until = headings[place + 1] if place + 1 < len(headings) else len(tokens)
        end = _first_line(tokens[until]) if until < len(tokens) else len(body)
        _heading(found, tokens[index:until], body, end, problems)
    return found


_LEVELS = {"h1", "h2", "h3"}


def _first_line(token: Token) -> int:
    return token.map[0] if token.map else 0


def _front_matter(lines: list[str], found: Outline, problems: Problems) -> int:
    """How many lines it takes; 0 when there is none."""
    if lines[0].rstrip() != "---":
        problems.add(1, "front matter between two lines `---`", "none", "Begin the file with id, title, version, …")
        return 0
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        problems.add(1, "a second line `---` that ends the front matter", "none", "Add it")
        return 0
    found.front = fields("\n".join(lines[1:end]), 2, problems)
    return end + 1


def _refuse_html(tokens: list[Token], problems: Problems) -> None:
    for token in tokens:
        inside = token.type == "inline" and any(child.type == "html_inline" for child in token.children or ())
        if token.type == "html_block" or inside:
            problems.add(_first_line(token) + 1, "Markdown", "HTML, which Slack shows as text", "Write it without tags")


def _heading(found: Outline, tokens: list[Token], body: list[str], end: int, problems: Problems) -> None:
    """One heading and everything up to the next one."""
    line = _first_line(tokens[0]) + 1
    title = tokens[1].content.strip()
    starts = tokens[0].map[1] if tokens[0].map else line
    fences = [t for t in tokens if t.type == "fence" and t.level == 0 and t.info.strip() == "step"]
    prose = "\n".join(body[starts : _first_line(fences[0]) if fences else end]).strip()
    if tokens[0].tag == "h1":
        problems.add(line, "`##` for sections and `###` for steps", f"`# {title}`", "The title is in the front matter")
    elif tokens[0].tag == "h2":
        if title in found.sections:
            problems.add(line, "each section once", f"`## {title}` again", "Merge the two")
        for fence in fences:
            problems.add(_first_line(fence) + 1, "a `###` heading above a step", "none", "Give the step a heading")
        found.sections.setdefault(title, prose)
        found.section_lines.setdefault(title, line)
    else:
        section = next(reversed(found.sections), "")
        if not section:
            problems.add(line, "a `##` section above the first step", "none", "Put the step under its section")
        draft = StepDraft(title=title, section=section, line=line, prose=prose)
        found.steps.append(draft)
        _block(draft, fences, body, end, problems)


def _block(draft: StepDraft, fences: list[Token], body: list[str], end: int, problems: Problems) -> None:
    if not fences:
        problems.add(draft.line, "one ```step block under the heading", "none", "Add it at the end of the step")
        return
    fence = fences[0]
    first, last = fence.map if fence.map else (draft.line, draft.line)
    draft.block_line = first + 1
    for extra in fences[1:]:
        problems.add(_first_line(extra) + 1, "one ```step block a step", "another", "Give it a heading of its own")
    if not re.match(rf"\s*{re.escape(fence.markup)}[`~]*\s*$", body[last - 1] if last <= len(body) else ""):
        problems.add(draft.block_line, "a line ``` that ends the block", "none", "Close the block")
    elif len(fences) == 1 and any(line.strip() for line in body[last:end]):
        problems.add(last + 1, "nothing after the step block", "more text", "Put the text above the block")
    draft.block = fields(fence.content, first + 2, problems)
