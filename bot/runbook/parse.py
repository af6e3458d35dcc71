"""Markdown to Runbook: front matter, sections and steps, and what they draw in, or every reason why not.

Drawn in are the evidence tasks that the front matter names, with their own readings, and one shared file of steps.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field as Said
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from bot.incident.runbook import END, DecisionStep, Runbook, Step
from bot.observation.errors import BadConfiguration
from bot.observation.evidence import Task, Verdict
from bot.observation.ids import StepId
from bot.observation.record import Record
from bot.runbook.progress import targets
from bot.runbook.source import SECTIONS, STEPS, Draft, Field, Line, Page, Problems, lines_of, page_of, refuse

_MEANING, _IMPACT, _BEFORE, _READING, _REPAIR, _HELP = SECTIONS[:-1]
_SLOTS = {"{repair}": _REPAIR, "{help}": _HELP}
"""A line of a step's prose -> the section that is there instead; nothing where the runbook has no such section."""
_GO_ON = {"evidence", "manual", "notice"}
"""Kinds of step that go on with the step below where they do not say where to."""
_ID = re.compile(r"[a-z][a-z0-9-]*")
_READING_LINE = re.compile(r"- (?P<task>[a-z0-9_]+)(?:, (?P<verdict>OK|problem|note|could not check))?: (?P<text>\S.*)")
_INCONCLUSIVE = "Something could not be read. That does not mean that nothing was found."


class _ProofStep(Record):
    """Written in a block, and replaced by one evidence step for each task of `proof` in the front matter."""

    kind: Literal["proof"]
    id: StepId
    title: str
    prose: str
    passed: StepId
    """Where it leads when every task was ruled out."""
    failed: StepId


_BLOCK: TypeAdapter[Step | _ProofStep] = TypeAdapter(Annotated[Step | _ProofStep, Said(discriminator="kind")])


class Parts(Record):
    tasks: Mapping[str, Task] = Said(default_factory=dict)
    """Evidence tasks by name."""
    shared: Mapping[str, str] = Said(default_factory=dict)
    """Name of a shared file, `_recover.md`, -> its text."""


@dataclass(frozen=True)
class Parsed:
    """A runbook with the line that wrote each step."""

    runbook: Runbook
    places: Mapping[StepId, Line]


def parse(text: str, file: str, parts: Parts) -> Runbook:
    """The runbook that `text` writes; `file` names it. Raises BadConfiguration with every `file:line`."""
    problems = Problems()
    parsed = read(text, file, parts, problems)
    if parsed is None or problems.found:
        raise refuse(file, problems.in_order)
    return parsed.runbook


def read_all(folder: Path, tasks: Mapping[str, Task]) -> Mapping[str, Runbook]:
    """Every runbook of the folder by id, in order of title; frozen. Files that begin with `_` are shared ones.

    Raises BadConfiguration for one that is not well formed or not UTF-8.
    """
    parts = Parts(tasks=tasks, shared=shared_of(folder))
    found = [parse(read_text(path), path.name, parts) for path in files_of(folder)]
    return MappingProxyType({runbook.id: runbook for runbook in sorted(found, key=lambda book: book.title)})


def files_of(folder: Path) -> list[Path]:
    """The runbooks of a folder, without what they share."""
    return [path for path in sorted(folder.glob("*.md")) if not path.name.startswith("_")]


def shared_of(folder: Path) -> dict[str, str]:
    return {path.name: read_text(path) for path in sorted(folder.glob("_*.md"))}


def read_text(path: Path) -> str:
    """The file's text. Raises BadConfiguration when it is not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadConfiguration(
            f"The runbook {path.name} cannot be read.",
            f"Expected UTF-8 text; found the byte 0x{error.object[error.start]:02x} at offset {error.start}.",
            "Save it as UTF-8.",
        ) from error


def read(text: str, file: str, parts: Parts, problems: Problems) -> Parsed | None:
    """The runbook as far as it can be built, with every trouble of form noted; None if it cannot be."""
    page = page_of(lines_of(text, file), problems)
    front = _Front(page, ("title", "applies_to", "owners", "planned", "evidence", "proof", "then"), problems)
    head: dict[str, Any] = {
        "title": front.text("title", is_needed=True),
        "applies_to": front.texts("applies_to", is_needed=True),
        "owners": front.texts("owners", is_needed=True),
    }
    is_planned, asked, proof = (
        front.is_yes("planned"),
        front.tasks("evidence", parts.tasks),
        front.tasks("proof", parts.tasks),
    )
    for section in (_MEANING, _IMPACT):
        if not page.prose(section):
            problems.add(page.top, f"a section `## {section}`", "none", "Add it, if only with one sentence")
    drafts = page.drafts
    if then := front.text("then"):
        shared = _shared(then, file, parts, problems)
        drafts = [*drafts, *shared.drafts]
        proof = proof or _Front(shared, ("proof",), problems).tasks("proof", parts.tasks)
    steps = _Steps(page, proof, problems)
    steps.ask(asked)
    for draft in drafts:
        steps.add(draft)
    if not steps.made:
        problems.add(page.top, f"`then: …`, or a step under `## {STEPS}`", "neither", "Say what to do")
    whole, an_id = steps.finished(), PurePath(file).stem
    if not _ID.fullmatch(an_id):
        problems.add(page.top, "a file name of a-z, 0-9 and `-`", f"`{an_id}`", "Name the symptom in a few words")
    if not whole or not all(head.values()):
        return None
    written = _written(head | ({"planned": "yes"} if is_planned else {}), page, whole)
    digest = hashlib.sha256(written.encode()).hexdigest()
    book = Runbook(id=an_id, **head, steps=tuple(whole), digest=digest, text=written, is_planned=is_planned)
    return Parsed(book, steps.places)


class _Front:
    def __init__(self, page: Page, known: Sequence[str], problems: Problems) -> None:
        self._given, self._top, self._problems = page.front or {}, page.top, problems
        self._is_there = page.front is not None
        for name, value in self._given.items():
            if name not in known:
                problems.add(value.at, ", ".join(known), f"`{name}`", "Remove it")

    def _wanted(self, name: str, what: str) -> None:
        value = self._given.get(name)
        if self._is_there:
            self._problems.add(value.at if value else self._top, what, value.shape if value else "none", "Write it")

    def text(self, name: str, *, is_needed: bool = False) -> str:
        value = self._given.get(name)
        if (value is None and is_needed) or (value is not None and not value.text):
            self._wanted(name, f"`{name}: …`")
        return (value.text if value is not None else None) or ""

    def texts(self, name: str, *, is_needed: bool = False) -> tuple[str, ...]:
        value = self._given.get(name)
        texts = (value.texts if value is not None else None) or ()
        if not texts and (value is not None or is_needed):
            self._wanted(name, f"`{name}: […]`, a list of texts")
        return texts

    def is_yes(self, name: str) -> bool:
        given = self.text(name)
        if given not in {"", "yes"}:
            self._wanted(name, f"`{name}: yes`, or no such line")
        return given == "yes"

    def tasks(self, name: str, known: Mapping[str, Task]) -> list[tuple[Task, Line]]:
        """Evidence tasks with the line that names them; none where the line is not there."""
        names = self.texts(name)
        for task in names:
            if task not in known:
                listed = ", ".join(sorted(known)) or "none at all"
                self._problems.add(
                    self._given[name].at, f"tasks that exist ({listed})", f"`{task}`", "Correct the name"
                )
        return [(known[task], self._given[name].at) for task in names if task in known]


def _shared(name: str, file: str, parts: Parts, problems: Problems) -> Page:
    """The shared file `_NAME.md` beside the runbook."""
    path = PurePath(file).with_name(f"_{name}.md") if _ID.fullmatch(name) else PurePath(file)
    if path.name in parts.shared:
        return page_of(lines_of(parts.shared[path.name], str(path)), problems, is_shared=True)
    known = ", ".join(key[1:-3] for key in parts.shared) or "none at all"
    problems.add(Line(file, 1), f"`then:` with one of {known}", f"`{name}`", "Name one of them, or write the file")
    return Page(top=Line(file, 1))


class _Steps:
    def __init__(self, page: Page, proof: Sequence[tuple[Task, Line]], problems: Problems) -> None:
        """`page`: the runbook's own, whose sections fill the slots; `proof`: the evidence of a repair."""
        self._page, self._proof, self._problems = page, proof, problems
        self._is_whole = True
        self.made: list[Step] = []
        self.places: dict[StepId, Line] = {}

    def ask(self, tasks: Sequence[tuple[Task, Line]]) -> None:
        """One evidence step a task, in this order; the first also says what to know before."""
        here = self._readings({task.name for task, _at in tasks})
        before = self._page.prose(_BEFORE)
        if before and not tasks:
            at = self._page.sections[_BEFORE][0]
            self._problems.add(at, "`evidence: […]` in the front matter", "none", "Write this into your first step")
        for task, at in tasks:
            own = here.get(task.name, {})
            means = {
                Verdict.CONFIRMED: _sentence(task.confirmed_means),
                Verdict.RULED_OUT: _sentence(task.ruled_out_means),
                Verdict.INCONCLUSIVE: _INCONCLUSIVE,
            }
            prose = (
                before,
                *(f"*{task.label(each)}*: {own.get(task.word(each)) or said}" for each, said in means.items()),
                own.get("", ""),
            )
            asks = {"id": task.name.replace("_", "-"), "kind": "evidence", "task": task.name}
            self._put({**asks, "title": task.title, "prose": "\n".join(filter(None, prose))}, at)
            before = ""

    def _readings(self, tasks: set[str]) -> dict[str, dict[str, str]]:
        """Task -> verdict, or nothing for what to look at -> what this runbook says of it."""
        found: dict[str, dict[str, str]] = {}
        for line in self._page.sections.get(_READING, []):
            said = _READING_LINE.fullmatch(line.text.rstrip())
            if said is not None and said["task"] in tasks:
                found.setdefault(said["task"], {})[said["verdict"] or ""] = said["text"]
            elif line.text.strip():
                wanted = "`- TASK: …` or `- TASK, OK: …`, with a task of `evidence`"
                self._problems.add(line, wanted, f"`{line.text.strip()[:40]}`", "Correct the line")
        return found

    def add(self, draft: Draft) -> None:
        """One step as it is written, or the evidence that proves a repair."""
        before = len(self._problems.found)
        said = {"title": draft.title, "prose": self._prose(draft)}
        if not said["prose"]:
            self._problems.add(draft.at, "a sentence for the responder under the heading", "none", "Say what to do")
        if not said["title"]:
            self._problems.add(draft.at, "a title after `###`", "none", "Say what is done, in a few words")
        if draft.block_at is None:
            self._problems.add(draft.at, "one ```step block under the heading", "none", "Add it at the end of the step")
        made = self._step(draft.block, draft.block_at, said) if draft.block is not None and draft.block_at else None
        if isinstance(made, _ProofStep):
            self._prove(made, draft.at)
        elif made is not None:
            self._put(made, draft.at)
        self._is_whole = self._is_whole and made is not None and len(self._problems.found) == before

    def _prove(self, block: _ProofStep, at: Line) -> None:
        """The tasks of `proof` one after the other: none may find what the repair was to end."""
        if not self._proof:
            self._problems.add(at, "`proof: […]` in the front matter", "none", "Name the evidence that proves a repair")
        names = [f"{block.id}-{task.name.replace('_', '-')}" for task, _at in self._proof]
        names = [block.id, *names[1:], block.passed]
        for (task, _at), name, after in zip(self._proof, names[:-1], names[1:], strict=bool(self._proof)):
            readings = (
                f"*{task.label(Verdict.RULED_OUT)}*: {_sentence(task.ruled_out_means)} This is what you want.\n"
                f"*{task.label(Verdict.CONFIRMED)}*: {_sentence(task.confirmed_means)}"
            )
            title = f"{block.title}: {task.title[:1].lower()}{task.title[1:]}"
            leads = {"branches": {"ruled-out": after}, "next": block.failed}
            asks = {"id": name, "kind": "evidence", "task": task.name, **leads}
            self._put({**asks, "title": title, "prose": f"{readings}\n{block.prose}"}, at)

    def _put(self, content: Step | dict[str, Any], at: Line) -> None:
        step = _BLOCK.validate_python(content)
        assert not isinstance(step, _ProofStep)
        if step.id in self.places:
            taken = self.places[step.id]
            found = f"`{step.id}`, taken in line {taken.number} of {taken.file}"
            self._problems.add(at, "an id of its own", found, "Rename it")
            self._is_whole = False
        self.places.setdefault(step.id, at)
        self.made.append(step)

    def _prose(self, draft: Draft) -> str:
        """With the sections of the runbook where a shared step has a slot for them."""
        lines: list[str] = []
        for line in draft.prose:
            slot = line.text.strip()
            if slot in _SLOTS:
                lines += filter(None, [self._page.prose(_SLOTS[slot])])
            elif re.fullmatch(r"\{[a-z ]*\}", slot):
                self._problems.add(line, f"one of {', '.join(_SLOTS)}", f"`{slot}`", "Correct the slot")
            else:
                lines.append(line.text)
        return "\n".join(lines).strip()

    def _step(self, block: dict[str, Field], at: Line, said: dict[str, str]) -> Step | _ProofStep | None:
        """None with the problems noted."""
        before = len(self._problems.found)
        an_id = block["id"].text if "id" in block else None
        if an_id is not None and (an_id == END or not _ID.fullmatch(an_id)):
            wanted = "an id of a-z, 0-9 and `-` that is not `end`"
            self._problems.add(block["id"].at, wanted, f"`{an_id}`", "Rename the step")
        for name, value in block.items():
            for key, each in (value.by_key or {name: value}).items():
                if each.text == "":
                    self._problems.add(each.at, f"a value for `{key}`", "nothing", "Write it, or remove the line")
        made = None
        try:
            made = _BLOCK.validate_python({**{name: _raw(name, value) for name, value in block.items()}, **said})
        except ValidationError as error:
            for wrong in error.errors():
                self._note(wrong, block, at)
        return made if len(self._problems.found) == before else None

    def _note(self, wrong: ErrorDetails, block: dict[str, Field], at: Line) -> None:
        """What pydantic says of a block, said as every other problem."""
        is_kind = wrong["type"].startswith("union_tag")
        path = ["kind"] if is_kind else [str(part) for part in wrong["loc"][1:]]
        value = block.get(path[0])
        if value is not None and value.by_key:
            value = value.by_key.get(path[-1], value)
        at, found = (value.at, value.shape) if value is not None else (at, "none")
        if wrong["type"] == "extra_forbidden":
            self._problems.add(at, f"lines of a step of kind {wrong['loc'][0]}", f"`{path[0]}`", "Remove the line")
        elif is_kind or wrong["type"] == "literal_error":
            listed = wrong["ctx"].get("expected_tags") or wrong["ctx"].get("expected") if "ctx" in wrong else "…"
            self._problems.add(at, f"{path[0]}: one of {listed}", found, f"Correct the {path[0]}")
        else:
            self._problems.add(at, f"`{path[-1]}: …`", found, "Write it so")

    def finished(self) -> list[Step]:
        """All steps. A step that does not say where it leads goes on below."""
        below = [*(step.id for step in self.made[1:]), None]
        steps = [
            step.model_copy(update={"next": after}) if step.next is None and step.kind in _GO_ON else step
            for step, after in zip(self.made, below, strict=False)
        ]
        # With steps that could not be read, targets would only seem to be missing.
        return self._checked(steps) if self._is_whole and steps else steps

    def _checked(self, steps: list[Step]) -> list[Step]:
        """Every target exists and lies further down, so that each incident ends."""
        place = {step.id: index for index, step in enumerate(steps)}
        for index, step in enumerate(steps):
            for target in targets(step):
                if target != END and target not in place:
                    self._problems.add(
                        self.places[step.id], "a step that exists, or `end`", f"`{target}`", "Correct the target"
                    )
                elif target != END and place[target] <= index:
                    self._problems.add(
                        self.places[step.id],
                        "a step further down",
                        f"`{target}`, which is not",
                        "Go on with a later step",
                    )
        return steps


def _raw(name: str, value: Field) -> object:
    """A block's value as the step's model takes it."""
    if name == "choices" and value.by_key:
        return [{"key": key, "label": label.text} for key, label in value.by_key.items()]
    if value.by_key is not None:
        return {key: each.text if each.text is not None else () for key, each in value.by_key.items()}
    return value.text if value.text is not None else ()


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."


def _written(front: Mapping[str, Any], page: Page, steps: Sequence[Step]) -> str:
    """The runbook as a file that includes nothing. It reads as the same runbook."""
    lines = ["---", *(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in front.items()), "---", ""]
    for section in (_MEANING, _IMPACT):
        lines += [f"## {section}", "", page.prose(section), ""]
    lines += [f"## {STEPS}", ""]
    for step in steps:
        block = step.model_dump(mode="json", exclude={"title", "prose", "choices", "next"}, exclude_defaults=True)
        block = {"id": step.id, "kind": step.kind, **block}
        if isinstance(step, DecisionStep) and step.choices:
            block["choices"] = {choice.key: choice.label for choice in step.choices}
        if step.next is not None:
            block["next"] = step.next
        written = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in block.items()]
        lines += [f"### {step.title}", "", step.prose, "", "```step", *written, "```", ""]
    return "\n".join(lines)
