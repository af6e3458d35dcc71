"""A runbook's file as lines that know where they stand, problems at those lines, and YAML that keeps them.

YAML is only composed, never constructed: no dates, booleans or tags, so `on` is a word and nothing can be built from
input. libyaml composes it: parsing the runbooks in Python was a good part of each start.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import yaml
from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bot.incident.runbook import Problem
from bot.observation.errors import BadConfiguration
from bot.observation.sentences import counted

SECTIONS = ("Meaning", "Impact", "Before you look", "Reading the evidence", "Repair", "Whom to call", "Steps")
"""The `##` headings of a runbook; only the first two must be there."""
STEPS = SECTIONS[-1]
_HTML = re.compile(r"<[/!?]?[A-Za-z][^>]*>|<!--")
_READER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML can be built without libyaml; it reads the same then, more slowly."""


@dataclass(frozen=True)
class Line:
    """One line and where an editor finds it; `number` is 1-based."""

    file: str
    number: int
    text: str = ""


def lines_of(text: str, file: str) -> list[Line]:
    """All lines of a file; at least one."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return [Line(file, number, line) for number, line in enumerate(plain.split("\n"), 1)]


class Problems:
    """Collects what is wrong with one runbook and with what it includes."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, at: Line, expected: str, found: str, do: str) -> None:
        """Note one; each part is a clause without its full stop."""
        self.found.append(Problem(file=at.file, line=at.number, message=f"Expected {expected}; found {found}. {do}."))

    @property
    def in_order(self) -> tuple[Problem, ...]:
        """Each once, by file and rising line."""
        return tuple(sorted(set(self.found), key=lambda p: (p.file, p.line, p.message)))


def refuse(file: str, found: Iterable[Problem]) -> BadConfiguration:
    """The error for a runbook that cannot be used: every problem on a line of its own."""
    lines = [str(problem) for problem in found]
    return BadConfiguration(
        f"The runbook {file} is not well formed: {counted(len(lines), 'problem')}.",
        "\n" + "\n".join(lines) + "\n",
        "Correct these lines and run `waterline lint`.",
    )


@dataclass(frozen=True)
class Field:
    """One value with its line: a text, a list of texts, or texts by key."""

    at: Line
    text: str | None = None
    items: tuple["Field", ...] | None = None
    by_key: dict[str, "Field"] | None = None

    @property
    def texts(self) -> tuple[str, ...] | None:
        """The list as texts; None if it is not a list of texts."""
        if self.items is None or not all(item.text for item in self.items):
            return None
        return tuple(item.text or "" for item in self.items)

    @property
    def shape(self) -> str:
        if self.text is not None:
            return f"`{self.text}`" if self.text else "nothing"
        return "a list" if self.items is not None else "a mapping"


def fields(lines: Sequence[Line], above: Line, problems: Problems) -> dict[str, Field] | None:
    """The mapping that `lines` write below the line `above`; None if they write none, with the problem noted."""
    return _Reading(lines, above, problems).mapping()


class _Reading:
    def __init__(self, lines: Sequence[Line], above: Line, problems: Problems) -> None:
        self._lines = lines or [above]
        self._source = "\n".join(line.text for line in lines)
        self._problems = problems

    def mapping(self) -> dict[str, Field] | None:
        tab = next((line for line in self._lines if "\t" in line.text), None)
        if tab is not None:
            self._problems.add(tab, "spaces", "a tab", "Indent with spaces")
            return None
        at, found = self._lines[0], "something else"
        try:
            node = yaml.compose(self._source, Loader=_READER)
            if isinstance(node, MappingNode):
                return self._mapping(node, depth=2)
            found = "none" if node is None else found
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            at, found = self._line(mark.line if mark else 0), error.problem or "broken YAML"
        except YAMLError as error:
            found = str(error).splitlines()[0]
        self._problems.add(at, "lines of `key: value`", found, "Correct the YAML")
        return None

    def _line(self, index: int) -> Line:
        """YAML knows more line breaks than an editor: never past the last line."""
        return self._lines[min(index, len(self._lines) - 1)]

    def _field(self, node: Node, depth: int) -> Field:
        at = self._line(int(node.start_mark.line))
        if isinstance(node, ScalarNode):
            return Field(at, text=str(node.value))
        if depth == 0:
            self._problems.add(at, "a text", "a list or mapping inside another", "Write one level only")
            return Field(at, text="")
        if isinstance(node, SequenceNode):
            return Field(at, items=tuple(self._field(item, depth - 1) for item in node.value))
        assert isinstance(node, MappingNode)  # YAML has no fourth kind; aliases come as what they name
        return Field(at, by_key=self._mapping(node, depth - 1))

    def _mapping(self, node: MappingNode, depth: int) -> dict[str, Field]:
        found: dict[str, Field] = {}
        for key, value in node.value:
            at = self._line(int(key.start_mark.line))
            if not isinstance(key, ScalarNode) or not str(key.value):
                self._problems.add(at, "a word before the colon", "something else", "Write `key: value`")
            elif str(key.value) in found:
                self._problems.add(at, "each key once", f"`{key.value}` again", "Keep one of them")
            else:
                found[str(key.value)] = self._field(value, depth)
        return found


@dataclass
class Draft:
    """One `###` heading with what is below it."""

    title: str
    at: Line
    prose: list[Line] = field(default_factory=list)
    block: dict[str, Field] | None = None
    block_at: Line | None = None


@dataclass
class Page:
    """One file before anything is checked against anything."""

    top: Line
    front: dict[str, Field] | None = None
    sections: dict[str, list[Line]] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)

    def prose(self, section: str) -> str:
        return "\n".join(line.text for line in self.sections.get(section, [])).strip()


def page_of(lines: Sequence[Line], problems: Problems, *, is_shared: bool = False) -> Page:
    """The file's shape; a shared one has front matter and steps only. Every trouble is noted, never raised."""
    page = Page(top=lines[0])
    scan = _Scan(page, problems, is_shared=is_shared)
    for line in lines[_front_matter(lines, page, problems) :]:
        scan.take(line)
    if scan.block is not None:
        problems.add(scan.block[0], "a line ``` that ends the block", "none", "Close the block")
    return page


class _Scan:
    """Goes down the lines below the front matter."""

    def __init__(self, page: Page, problems: Problems, *, is_shared: bool) -> None:
        self._page, self._problems, self._is_shared = page, problems, is_shared
        self._section = STEPS if is_shared else ""
        self._draft: Draft | None = None
        self.block: tuple[Line, list[Line]] | None = None
        """The step block that is open: its first line, and those within."""

    def take(self, line: Line) -> None:
        text = line.text.rstrip()
        if self.block is not None and text.strip() == "```":
            self._end(*self.block)
            self.block = None
        elif self.block is not None:
            self.block[1].append(line)
        elif text.startswith("```") and text[3:].strip() == "step":
            self.block = (line, [])
        elif text.startswith("### "):
            self._step(text[4:].strip(), line)
        elif text.startswith(("# ", "## ")):
            self._begin(text, line)
        else:
            self._prose(text, line)

    def _step(self, title: str, line: Line) -> None:
        if self._section != STEPS:
            self._problems.add(line, f"steps under `## {STEPS}`", "a step elsewhere", f"Move it below `## {STEPS}`")
        self._draft = Draft(title=title, at=line)
        self._page.drafts.append(self._draft)

    def _begin(self, text: str, line: Line) -> None:
        name, self._draft = text.lstrip("#").strip(), None
        if self._is_shared or text.startswith("# "):
            self._problems.add(line, "`##` for sections of a runbook, `###` for steps", f"`{text}`", "Correct it")
        elif name not in SECTIONS:
            self._problems.add(line, f"one of {', '.join(SECTIONS)}", f"`## {name}`", "Use a name that responders know")
        elif name in self._page.sections:
            self._problems.add(line, "each section once", f"`## {name}` again", "Merge the two")
        self._section = name
        self._page.sections.setdefault(name, [])

    def _prose(self, text: str, line: Line) -> None:
        if _HTML.search(re.sub(r"`[^`]*`", "", text)):
            self._problems.add(line, "Markdown", "HTML, which Slack shows as text", "Write it without tags")
        if self._draft is None:
            self._page.sections.setdefault(self._section, []).append(line)
        elif self._draft.block_at is not None and text:
            self._problems.add(line, "nothing after the step block", "more text", "Put the text above the block")
        else:
            self._draft.prose.append(line)

    def _end(self, at: Line, lines: list[Line]) -> None:
        if self._draft is None:
            self._problems.add(at, "a `###` heading above a step", "none", "Give the step a heading")
        elif self._draft.block_at is not None:
            self._problems.add(at, "one ```step block a step", "another", "Give it a heading of its own")
        else:
            self._draft.block, self._draft.block_at = fields(lines, at, self._problems), at


def _front_matter(lines: Sequence[Line], page: Page, problems: Problems) -> int:
    """How many lines it takes; 0 when there is none."""
    end = next((i for i, line in enumerate(lines[1:], 1) if line.text.rstrip() == "---"), None)
    if lines[0].text.rstrip() != "---" or end is None:
        problems.add(lines[0], "front matter between two lines `---`", "none", "Begin the file with title, owners, …")
        return 0
    page.front = fields(lines[1:end], lines[0], problems)
    return end + 1
