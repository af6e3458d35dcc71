"""YAML of front matter and step blocks as plain text values that remember their lines.

Only composed, never constructed: no dates, booleans or tags, so `on` is a word and nothing can be built from input.
By libyaml, which knows the lines, too: parsing the runbooks in Python was a good part of each start.
"""

from dataclasses import dataclass, field

import yaml
from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from bot.runbook.problem import Problems

_READER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML can be built without libyaml; it reads the same then, more slowly."""


@dataclass(frozen=True)
class Field:
    """One value with its 1-based line in the file: a text, a list of texts, or texts by key."""

    line: int
    text: str | None = None
    items: tuple["Field", ...] | None = None
    by_key: dict[str, "Field"] | None = field(default=None)

    @property
    def texts(self) -> tuple[str, ...] | None:
        """The list as texts; None if it is not a list of texts."""
        if self.items is None or any(item.text is None for item in self.items):
            return None
        return tuple(item.text or "" for item in self.items)

    @property
    def shape(self) -> str:
        """What it is, for a message."""
        if self.text is not None:
            return f"`{self.text}`" if self.text else "nothing"
        return "a list" if self.items is not None else "a mapping"


def fields(source: str, first_line: int, problems: Problems) -> dict[str, Field] | None:
    """The mapping that `source` writes; None if it is none, with the problem noted.

    `first_line` is the 1-based line of the file at which `source` begins.
    """
    if "\t" in source:
        line = first_line + source[: source.index("\t")].count("\n")
        problems.add(line, "spaces", "a tab", "Indent with spaces")
        return None
    try:
        node = yaml.compose(source, Loader=_READER)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark else 0)
        problems.add(line, "lines of `key: value`", error.problem or "broken YAML", "Correct the YAML")
        return None
    except YAMLError as error:
        problems.add(first_line, "lines of `key: value`", str(error).splitlines()[0], "Correct the YAML")
        return None
    if not isinstance(node, MappingNode):
        problems.add(first_line, "lines of `key: value`", "none" if node is None else "something else", "Write them")
        return None
    return _mapping(node, first_line, problems, depth=2)


def _field(node: Node, first_line: int, problems: Problems, depth: int) -> Field:
    line = first_line + int(node.start_mark.line)
    if isinstance(node, ScalarNode):
        return Field(line=line, text=str(node.value))
    if depth == 0:
        problems.add(line, "a text", "a list or mapping inside another", "Write one level only")
        return Field(line=line, text="")
    if isinstance(node, SequenceNode):
        return Field(line=line, items=tuple(_field(item, first_line, problems, depth - 1) for item in node.value))
    assert isinstance(node, MappingNode)  # YAML has no fourth kind; aliases come as what they name
    return Field(line=line, by_key=_mapping(node, first_line, problems, depth - 1))


def _mapping(node: MappingNode, first_line: int, problems: Problems, depth: int) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for key, value in node.value:
        line = first_line + int(key.start_mark.line)
        if not isinstance(key, ScalarNode) or not str(key.value):
            problems.add(line, "a word before the colon", "something else", "Write `key: value`")
        elif str(key.value) in found:
            problems.add(line, "each key once", f"`{key.value}` again", "Keep one of them")
        else:
            found[str(key.value)] = _field(value, first_line, problems, depth)
    return found
