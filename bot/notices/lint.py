"""Lint of messages: every problem as `file:line: what is wrong; what to do`."""

from pathlib import Path
from traceback import extract_tb

from jinja2 import TemplateError, TemplateSyntaxError, nodes

from bot.domain.errors import BadConfiguration
from bot.domain.file_problem import Problem
from bot.notices.facts import NoticeFacts
from bot.notices.samples import WORDS, samples
from bot.notices.template import SUFFIX, NoticeTemplate, environment_of, scan, tidy
from bot.notices.variables import facts_documented, facts_named

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
