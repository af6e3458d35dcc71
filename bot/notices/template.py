"""Templates: found in a folder, each with front matter, rendered in a sandbox that escapes for Slack only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

from bot.incident.notice import Answer
from bot.notices.extent import SnapshotRange
from bot.notices.facts import NoticeFacts
from bot.observation.errors import BadConfiguration
from bot.observation.record import Record
from bot.observation.sentences import counted, inert, visible

SUFFIX = ".md.j2"
MOST_RANGES = 12
"""Of snapshots in one text; how many more there are is said, and programs get all."""
_SHORT = 200
"""Characters of what is kept once it was made inert: a thousand names are little, a thousand stack traces are not."""


class Head(Record):
    title: str
    """A few words, as a responder picks it from a list."""
    when: str
    """At what moment of an incident it is sent, half a sentence."""
    audience: Literal["consumers"]
    """Everyone declared as consumer of the table, each with their own facts."""
    answers: tuple[Answer, ...] = ("acknowledged", "needs-help")
    """What the audience can answer."""
    words: Literal["optional", "required"] = "optional"
    """Whether the responder must add words of their own, which stand in it as `words`."""


@dataclass(frozen=True)
class NoticeTemplate:
    """One notice: `kind` is its file's name."""

    kind: str
    title: str
    when: str
    audience: str
    answers: tuple[Answer, ...]
    needs_words: bool
    """Whether it says nothing unless the responder adds words."""
    path: Path
    compiled: Template


def scan(folder: Path) -> Mapping[str, NoticeTemplate]:
    """Kind -> template, for every `*.md.j2` directly in `folder` that does not begin with `_`; frozen.

    Raises BadConfiguration, with file and line, if front matter is missing or a template does not parse.
    """
    environment = environment_of(folder)
    found = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if path.name.startswith("_"):
            continue
        kind, head = path.name.removesuffix(SUFFIX), _head(path)
        found[kind] = NoticeTemplate(
            kind=kind,
            title=head.title,
            when=head.when,
            audience=head.audience,
            answers=head.answers,
            needs_words=head.words == "required",
            path=path,
            compiled=_compiled(environment, path),
        )
    return MappingProxyType(found)


def render(template: NoticeTemplate, facts: NoticeFacts) -> str:
    """Slack mrkdwn. Raises BadConfiguration if the template asks for a fact that does not exist."""
    values = {name: getattr(facts, name) for name in NoticeFacts.model_fields}
    try:
        text = template.compiled.render(values)
    except TemplateError as error:
        raise BadConfiguration(
            f"The notice {template.kind} could not be rendered.",
            f"{template.path.name} says: {error}.",
            "Run `waterline lint`: it names file and line.",
        ) from error
    return tidy(text)


def environment_of(folder: Path) -> Environment:
    """The sandbox of one folder; templates may include its `_*.md.j2` files."""
    environment = ImmutableSandboxedEnvironment(
        loader=FunctionLoader(lambda name: _source(folder, name)),
        undefined=StrictUndefined,
        autoescape=False,  # HTML's escapes would show in Slack; `_escaped` does what Slack decodes
        finalize=_escaped,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"moment": moment, "day": day, "clock": clock, "span": span}
    environment.filters |= {"count": counted, "code": code, "ranges": ranges, "copied": copied}
    environment.filters["joined"] = lambda text: " ".join(text.splitlines())
    return environment


def tidy(text: str) -> str:
    """No blank lines at the ends, never two in a row."""
    lines: list[str] = []
    for line in (line.rstrip() for line in text.strip().splitlines()):
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines)


def moment(value: datetime) -> str:
    """`3 Nov 2026, 09:12 UTC`."""
    utc = value.astimezone(UTC)
    return f"{utc.day} {utc:%b %Y, %H:%M} UTC"


def day(value: datetime) -> str:
    """`3 Nov 2026`, of the moment in UTC."""
    utc = value.astimezone(UTC)
    return f"{utc.day} {utc:%b %Y}"


def clock(value: datetime) -> str:
    """`09:12 UTC`."""
    return f"{value.astimezone(UTC):%H:%M} UTC"


def span(since: datetime, until: datetime) -> str:
    """`from 3 Nov 2026, 09:00:12 to 09:12:45 UTC`, both inclusive; the upper bound is rounded up to the second."""
    first, last = since.astimezone(UTC), until.astimezone(UTC)
    if last.microsecond:
        last += timedelta(seconds=1)
    if first.replace(microsecond=0) == last.replace(microsecond=0):
        return f"of {first.day} {first:%b %Y, %H:%M:%S} UTC"
    if first.date() == last.date():
        return f"from {first.day} {first:%b %Y, %H:%M:%S} to {last:%H:%M:%S} UTC"
    return f"from {first.day} {first:%b %Y, %H:%M:%S} to {last.day} {last:%b %Y, %H:%M:%S} UTC"


def ranges(
    value: Sequence[SnapshotRange], most: int = MOST_RANGES, elsewhere: str = ", which the incident's record names"
) -> str:
    """Full ids: `a`, `b` to `c` (12 consecutive commits); what is left out is said with its number and its place."""
    told = []
    for each in value[:most]:
        ends = code(each.first) if each.commits == 1 else f"{code(each.first)} to {code(each.last)}"
        told.append(ends if each.commits <= 1 else f"{ends} ({each.commits:,} consecutive commits)")
    rest = sum(each.commits for each in value[most:])
    more = f", and {rest:,} more{elsewhere}" if rest else ""
    return ", ".join(told) + more


def code(value: object) -> str:
    """In back-ticks; a back-tick inside becomes an apostrophe, which cannot end them."""
    return f"`{visible(str(value)).replace('`', chr(39))}`"


class Copied(str):
    """What stands in a block of code: it is copied, so that no character may become another one."""


def copied(value: str) -> Copied:
    """One line of a block of code; without what would end the block."""
    return Copied(visible(value) if "```" not in value else "(this name cannot be shown here)")


def _escaped(value: object) -> object:
    """Inert, and the three characters that Slack decodes, no other: `&#39;` would be shown as it is."""
    if isinstance(value, StrictUndefined):
        return value
    text = value if isinstance(value, Copied) else _inert(str(value))
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _inert(text: str) -> str:
    """The same few names stand in every notice, and lint renders each notice in a thousand shapes."""
    return _inert_again(text) if len(text) <= _SHORT else inert(text)


@lru_cache(maxsize=1024)
def _inert_again(text: str) -> str:
    return inert(text)


def _parts(path: Path) -> tuple[str, str]:
    """Front matter, and the text with its front matter blanked out so that Jinja's line numbers are the file's."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0] != "---" or "---" not in lines[1:]:
        return "", "\n".join(lines)
    end = lines.index("---", 1)
    return "\n".join(lines[1:end]), "\n".join([""] * (end + 1) + lines[end + 1 :])


def _source(folder: Path, name: str) -> tuple[str, str, None] | None:
    """A template of this very folder: a name with a folder in it, or of another kind of file, is none."""
    path = folder / name
    if path.name != name or not name.endswith(SUFFIX) or not path.is_file():
        return None
    return _parts(path)[1] + "\n", str(path), None


def _head(path: Path) -> Head:
    try:
        return Head.model_validate(YAML(typ="safe").load(_parts(path)[0]) or {})
    except ValidationError as error:
        found = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'all of it'}: {e['msg']}" for e in error.errors())
        raise _incomplete(path, 1, found) from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise _incomplete(path, line, error.problem or "no YAML") from error


def _incomplete(path: Path, line: int, found: str) -> BadConfiguration:
    return BadConfiguration(
        f"{path.name}:{line}: this notice has no complete front matter.",
        f"Expected title, when and audience (consumers); found: {found}.",
        "Write them between two lines of --- at the top of the file.",
    )


def _compiled(environment: Environment, path: Path) -> Template:
    try:
        return environment.get_template(path.name)
    except TemplateError as error:
        line = getattr(error, "lineno", None) or 1
        raise BadConfiguration(
            f"{path.name}:{line}: this notice is not a template.", f"Jinja says: {error.message}", "Fix this line."
        ) from error
