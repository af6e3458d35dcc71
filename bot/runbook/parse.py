"""Markdown to Runbook: front matter, sections and steps, or every reason why not."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pydantic import TypeAdapter

from bot.domain.errors import BadConfiguration
from bot.domain.runbook import Runbook, Step
from bot.runbook._blocks import block
from bot.runbook._graph import check_graph
from bot.runbook._outline import Outline, StepDraft, outline
from bot.runbook._yaml import Field
from bot.runbook.problem import Problems, refuse

_STEP: TypeAdapter[Step] = TypeAdapter(Step)
SECTIONS = ("Meaning", "Impact", "Diagnosis", "Mitigation", "Verification", "Communication", "Review")
"""The `##` headings of every runbook, in this order."""


def parse(text: str, file: str) -> Runbook:
    """The runbook that `text` writes; `file` is only named. Raises BadConfiguration with every `file:line`."""
    problems = Problems(file)
    runbook = read(text, problems)
    if runbook is None or problems.found:
        raise refuse(file, problems.found)
    return runbook


def read_all(folder: Path) -> Mapping[str, Runbook]:
    """Every `*.md` of the folder by runbook id, in order of title; frozen.

    Raises BadConfiguration for one that is not well formed, not UTF-8, or repeats an id.
    """
    found: dict[str, tuple[Runbook, str]] = {}
    for path in sorted(folder.glob("*.md")):
        runbook = parse(read_text(path), path.name)
        if runbook.id in found:
            raise BadConfiguration(
                f"Two runbooks have the id {runbook.id}.",
                f"Expected an id of its own; found it in {found[runbook.id][1]} and in {path.name}.",
                "Rename one of them in its front matter.",
            )
        found[runbook.id] = (runbook, path.name)
    ordered = sorted((runbook for runbook, _ in found.values()), key=lambda r: r.title)
    return MappingProxyType({runbook.id: runbook for runbook in ordered})


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


def read(text: str, problems: Problems) -> Runbook | None:
    """The runbook as far as it can be built, with every trouble of form noted; None if it cannot be."""
    found = outline(text, problems)
    for section in SECTIONS:
        if section not in found.sections:
            problems.add(1, f"a section `## {section}`", "none", "Add it, if only with one sentence")
    for section, line in found.section_lines.items():
        if section not in SECTIONS:
            problems.add(line, f"one of {', '.join(SECTIONS)}", f"`## {section}`", "Use the name that responders know")
    if found.front is not None and not found.steps:
        problems.add(1, "at least one `###` step", "none", "Add the first step under Diagnosis")
    steps = [step for step in (_step(draft, problems) for draft in found.steps) if step is not None]
    if len(steps) == len(found.steps):
        # With steps that could not be read, targets would only seem to be missing.
        check_graph(steps, problems)
    front = _front(found, problems)
    if front is None or not steps:
        return None
    return Runbook(
        id=front.texts["id"],
        title=front.texts["title"],
        version=front.version,
        applies_to=front.lists["applies_to"],
        owners=front.lists["owners"],
        sections=found.sections,
        steps=tuple(steps),
        digest=hashlib.sha256(text.encode()).hexdigest(),
        text=text,
        is_planned=front.is_planned,
    )


class _Front:
    """Front matter that is complete."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.lists: dict[str, tuple[str, ...]] = {}
        self.version = 0
        self.is_planned = False


def _front(found: Outline, problems: Problems) -> _Front | None:
    if found.front is None:
        return None
    front, before = _Front(), len(problems.found)
    for name in ("id", "title", "version"):
        given = found.front.get(name)
        if given is None or not given.text:
            problems.add(given.line if given else 1, f"`{name}: …`", given.shape if given else "none", "Write it")
        else:
            front.texts[name] = given.text
    _check_id_and_version(front, found.front, problems)
    for name in ("applies_to", "owners"):
        given = found.front.get(name)
        texts = given.texts if given else None
        if not texts or not all(texts):
            line = given.line if given else 1
            problems.add(line, f"`{name}: [\u2026]`, a list of texts", given.shape if given else "none", "Write it")
        else:
            front.lists[name] = texts
    planned = found.front.get("planned")
    front.is_planned = planned is not None and planned.text == "yes"
    if planned is not None and not front.is_planned:
        problems.add(
            planned.line, "`planned: yes`", planned.shape, "Write it so, or remove it where something is wrong"
        )
    for name, given in found.front.items():
        if name not in {"id", "title", "version", "applies_to", "owners", "planned"}:
            problems.add(given.line, "id, title, version, applies_to, owners, planned", f"`{name}`", "Remove it")
    return front if len(problems.found) == before else None


def _check_id_and_version(front: _Front, given: dict[str, Field], problems: Problems) -> None:
    if "id" in front.texts and not re.fullmatch(r"[a-z][a-z0-9-]*", front.texts["id"]):
        problems.add(
            given["id"].line, "an id of a-z, 0-9 and `-`", given["id"].shape, "Name the symptom in a few words"
        )
    version = front.texts.get("version")
    if version is not None and not re.fullmatch(r"[1-9][0-9]{0,5}", version):
        problems.add(given["version"].line, "a version of 1 or more", given["version"].shape, "Count it up by one")
    elif version is not None:
        front.version = int(version)


def _step(draft: StepDraft, problems: Problems) -> Step | None:
    if not draft.prose:
        problems.add(draft.line, "a sentence for the responder under the heading", "none", "Say what to look at")
    if not draft.title:
        problems.add(draft.line, "a title after `###`", "none", "Say what is done, in a few words")
    if draft.block is None or draft.block_line is None:
        return None
    given = block(draft.block, draft.block_line, problems)
    if given is None:
        return None
    seen = {"title": draft.title, "section": draft.section, "prose": draft.prose, "line": draft.line}
    return _STEP.validate_python({**given, **seen})
