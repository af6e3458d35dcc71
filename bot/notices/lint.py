"""Lint of messages: every problem as `file:line: what is wrong; what to do`.

What a template can name, out of the types of the facts; and what a template does name. Pure.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from traceback import extract_tb
from typing import Any, NamedTuple, get_args, get_origin

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from pydantic import BaseModel

from bot.incident.runbook import Problem
from bot.notices.facts import NoticeFacts
from bot.notices.samples import WORDS, samples
from bot.notices.template import SUFFIX, NoticeTemplate, environment_of, scan, tidy
from bot.observation.errors import BadConfiguration


class Fact(NamedTuple):
    """One variable, with its way: `affected.rows`, `reading.runs[].path`; `[]` stands for each of a list."""

    path: str
    kind: str
    """Which of several shapes has it, as their field `kind` names it; empty: it is always there."""
    description: str


def facts_documented(model: type[BaseModel] = NoticeFacts, before: str = "", kind: str = "") -> Iterator[Fact]:
    """Every fact, each before those that stand in it, in the order of the types."""
    for name, field in model.model_fields.items():
        path = f"{before}{name}"
        yield Fact(path, kind, " ".join((field.description or "").split()))
        inner = list(_models(field.annotation))
        for place, each in inner:
            shape = str(each.model_fields["kind"].default) if len(inner) > 1 else kind
            yield from facts_documented(each, f"{path}{place}.", shape)


def facts_named(tree: nodes.Template) -> Iterator[tuple[str, int]]:
    """(way, line) of each variable that a template names; a loop's own name stands for what it runs over."""
    yield from _named(tree, {})


def _models(annotation: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    """(`[]` or nothing, type) of the records in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield "", annotation
    is_list = get_origin(annotation) is tuple
    for argument in get_args(annotation):
        for place, found in _models(argument):
            yield (f"[]{place}" if is_list else place), found


def _named(node: nodes.Node, loops: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    way = _way(node, loops)
    if way is not None:
        yield way, node.lineno
    if isinstance(node, nodes.For) and isinstance(node.target, nodes.Name):
        yield from _named(node.iter, loops)
        over = _way(node.iter, loops)
        loops = {**loops, node.target.name: f"{over}[]" if over else ""}
        for each in (*node.body, *node.else_):
            yield from _named(each, loops)
        return
    for child in node.iter_child_nodes():
        yield from _named(child, loops)


def _way(node: nodes.Node, loops: Mapping[str, str]) -> str | None:
    """None for what is no variable, or comes out of a filter."""
    match node:
        case nodes.Name():
            return loops.get(node.name, node.name) or None
        case nodes.Getattr():
            way = _way(node.node, loops)
            return f"{way}.{node.attr}" if way else None
        case nodes.Getitem():
            way = _way(node.node, loops)
            return way if way is None or isinstance(node.arg, nodes.Slice) else f"{way}[]"
    return None


MOST_CHARACTERS = 8000
"""Of a whole notice. Slack refuses a message of about 12,000 over all blocks, undocumented (bolt-js 2509)."""
MOST_IN_A_PARAGRAPH = 2900
"""Of a text without a blank line: a section block holds 3000, and a notice is split between paragraphs."""


def lint(folder: Path) -> tuple[Problem, ...]:
    """Every problem of the templates in `folder`; empty when each renders with every shape of facts."""
    problems = [problem for path in sorted(folder.glob(f"*{SUFFIX}")) for problem in _names(folder, path)]
    if problems:
        return tuple(problems)
    try:
        templates = scan(folder)
    except BadConfiguration as error:
        file, line, message = error.happened.split(":", 2)
        return (Problem(file=file, line=int(line), message=f"{message.strip()} {error.found} {error.remedy}"),)
    if not templates:
        return (Problem(file=folder.name, line=1, message=f"No notice found; write one as <kind>{SUFFIX}."),)
    return tuple(problem for template in templates.values() for problem in _shapes(template))


def _names(folder: Path, path: Path) -> list[Problem]:
    """Variables that are no fact, wherever they stand: also in branches that no sample enters, and within others."""
    environment = environment_of(folder)
    assert environment.loader is not None
    try:
        tree = environment.parse(environment.loader.get_source(environment, path.name)[0])
    except TemplateSyntaxError as error:
        return [Problem(file=path.name, line=error.lineno, message=f"This is not a template: {error.message}")]
    known = {fact.path for fact in facts_documented()}
    tops = set(NoticeFacts.model_fields)
    ours = {"loop"} | {name.name for name in tree.find_all(nodes.Name) if name.ctx == "store"}
    return [
        Problem(file=path.name, line=line, message=f"There is no fact {way}. {_instead(way, tops)}")
        for way, line in facts_named(tree)
        if way.removesuffix("[]") not in known and way.split(".")[0] not in ours and "._" not in way
    ]


def _instead(way: str, tops: set[str]) -> str:
    if way.split(".")[0].removesuffix("[]") in tops:
        return "docs/notices.md lists its fields."
    return f"Use one of {', '.join(sorted(tops))}."


def _shapes(template: NoticeTemplate) -> list[Problem]:
    """The first problem of the template, over all samples; one is enough to mend, and the next follows."""
    for shape, facts in samples():
        values = {name: getattr(facts, name) for name in NoticeFacts.model_fields}
        if template.needs_words and not facts.words:
            values["words"] = WORDS
        try:
            text = tidy(template.compiled.render(values))
        except (TemplateError, TypeError, ValueError) as error:
            return [_where(template, error, shape)]
        too_long = _too_long(text)
        if too_long:
            return [Problem(file=template.path.name, line=1, message=f"With {shape}: {too_long}")]
    return []


def _too_long(text: str) -> str | None:
    if not text:
        return "nothing is said. Write at least one sentence for this shape."
    if len(text) > MOST_CHARACTERS:
        return f"{len(text)} characters, at most {MOST_CHARACTERS} fit. Say less, or cut the lists."
    longest = max(len(paragraph) for paragraph in text.split("\n\n"))
    if longest > MOST_IN_A_PARAGRAPH:
        return f"a paragraph of {longest} characters, at most {MOST_IN_A_PARAGRAPH} fit. Break it with a blank line."
    return None


def _where(template: NoticeTemplate, error: Exception, shape: str) -> Problem:
    """Jinja puts the template's own file and line into the traceback; the innermost one counts."""
    frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename.endswith(SUFFIX)]
    file = Path(frames[-1].filename).name if frames else template.path.name
    line = frames[-1].lineno if frames else 1
    return Problem(file=file, line=line or 1, message=f"With {shape}: {error}. Fix this line.")
