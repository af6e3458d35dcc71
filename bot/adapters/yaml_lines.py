"""Edits of a YAML text that leave every other line as it is: comments, quoting and order belong to its authors.

Each function answers the text with one edit. Whoever calls reads the result again: a form that is not understood
here (an anchor, a text over several lines) gives a text that says something else, or ValueError.
"""

import json
import re

from ruamel.yaml.comments import CommentedMap, CommentedSeq

_PLAIN_WORD = re.compile(r"[A-Za-z_][\w-]*")
_QUOTED = r'"(?:[^"\\]|\\.)*"|' + r"'(?:[^']|'')*'"
_IN_FLOW = re.compile(rf"{_QUOTED}|[^\s,\[\]{{}}#][^,\[\]{{}}#]*?(?=\s*(?:[,\]}}]|\s#|$))")
_IN_BLOCK = re.compile(rf"(?:{_QUOTED})(?=\s*(?:#|$))|\S.*?(?=\s+#|\s*$)")


def word(value: str) -> str:
    """A scalar that YAML reads as this very text."""
    is_plain = _PLAIN_WORD.fullmatch(value) and value.lower() not in {"true", "false", "yes", "no", "on", "off", "null"}
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def with_value(text: str, mapping: CommentedMap, key: str, value: str) -> str:
    """The scalar under `key` replaced."""
    line, start, end = _scalar(text, mapping, key)
    lines = text.split("\n")
    lines[line] = lines[line][:start] + value + lines[line][end:]
    return "\n".join(lines)


def with_key(text: str, mapping: CommentedMap, entry: str) -> str:
    """`entry` (`key: value`) after the mapping's first key that has a scalar. ValueError without one."""
    anchor = next((key for key, value in mapping.items() if isinstance(value, str | int | float)), None)
    if anchor is None:
        raise ValueError("the mapping has no key with a plain value")
    line, _start, end = _scalar(text, mapping, anchor)
    lines = text.split("\n")
    if mapping.fa.flow_style():
        lines[line] = f"{lines[line][:end]}, {entry}{lines[line][end:]}"
    else:
        lines.insert(line + 1, " " * mapping.lc.key(anchor)[1] + entry + _ending(text))
    return "\n".join(lines)


def with_item(text: str, sequence: CommentedSeq, item: str) -> str:
    """`item` (`{…}`) after the last of a block sequence, or before the first of a flow sequence."""
    lines = text.split("\n")
    if sequence.fa.flow_style():
        line, column = sequence.lc.item(0)
        lines[line] = f"{lines[line][:column]}{item}, {lines[line][column:]}"
        return "\n".join(lines)
    line, column = sequence.lc.item(len(sequence) - 1)
    dash = lines[line].rindex("-", 0, column)
    if lines[line][:dash].strip():
        raise ValueError("the sequence does not begin on lines of its own")
    end = line + 1
    while end < len(lines) and _belongs(lines[end], dash):
        end += 1
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):
        end -= 1
    lines.insert(end, f"{' ' * dash}- {item}{_ending(text)}")
    return "\n".join(lines)


def with_list(text: str, key: str, item: str) -> str:
    """A list of one item under a new key of the whole document, at its end."""
    ending = _ending(text) + "\n"
    gap = "" if not text or text.endswith("\n") else ending
    return f"{text}{gap}{key}:{ending}- {item}{ending}"


def _belongs(line: str, dash: int) -> bool:
    """Whether a line is part of the item above it, or says nothing."""
    said = line.strip()
    return not said or said.startswith("#") or len(line) - len(line.lstrip()) > dash


def _scalar(text: str, mapping: CommentedMap, key: object) -> tuple[int, int, int]:
    """(line, begin, end) of a value that is written on one line."""
    line, column = mapping.lc.value(key)
    pattern = _IN_FLOW if mapping.fa.flow_style() else _IN_BLOCK
    found = pattern.match(text.split("\n")[line], column)
    if found is None or found[0][0] in "|>&*!":
        raise ValueError(f"the value of {key} is not written on one line")
    return line, found.start(), found.end()


def _ending(text: str) -> str:
    """What stands before the line feed in this file."""
    return "\r" if "\r\n" in text else ""
