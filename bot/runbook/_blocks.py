"""A step block's few lines: which ones each kind of step takes."""

import re

from bot.runbook._yaml import Field
from bot.runbook.problem import Problems

KINDS: dict[str, tuple[str, ...]] = {
    "evidence": ("task",),
    "decision": ("on",),
    "action": ("action",),
    "manual": (),
    "notice": ("notice",),
    "review": (),
}
"""Kind of step -> the lines that it needs besides id and kind."""
_ANYWHERE = ("id", "kind", "next", "branches")
_ID = re.compile(r"[a-z][a-z0-9-]*")


def block(given: dict[str, Field], line: int, problems: Problems) -> dict[str, object] | None:
    """The block's content as a step's fields; None with the problems noted. `line` is where the block begins."""
    before = len(problems.found)
    kind = _word(given, "kind", line, problems)
    if kind is not None and kind not in KINDS:
        problems.add(given["kind"].line, f"kind: one of {', '.join(KINDS)}", f"`{kind}`", "Correct the kind")
    content: dict[str, object] = {"kind": kind, "id": _id(_word(given, "id", line, problems), given, problems)}
    needed = KINDS.get(kind or "", ())
    for name in needed:
        content[name] = _word(given, name, line, problems)
    if content.get("on") is not None and content["on"] not in {"diagnosis", "remedy", "choice"}:
        problems.add(given["on"].line, "on: diagnosis, on: remedy or on: choice", given["on"].shape, "Correct it")
    if content.get("on") == "choice":
        content["choices"] = _choices(given.get("choices"), line, problems)
        needed = (*needed, "choices")
    if "next" in given:
        content["next"] = _word(given, "next", line, problems)
    content["branches"] = _branches(given.get("branches"), problems)
    if kind in KINDS:
        for name, value in given.items():
            if name not in needed and name not in _ANYWHERE:
                allowed = ", ".join((*_ANYWHERE[:2], *needed, *_ANYWHERE[2:]))
                problems.add(value.line, f"in a step of kind {kind}: {allowed}", f"`{name}`", "Remove the line")
    return content if len(problems.found) == before else None


def _word(given: dict[str, Field], name: str, line: int, problems: Problems) -> str | None:
    value = given.get(name)
    if value is None or not value.text:
        problems.add(value.line if value else line, f"`{name}: …`", value.shape if value else "none", "Write it")
        return None
    return value.text


def _id(step_id: str | None, given: dict[str, Field], problems: Problems) -> str | None:
    if step_id is not None and (step_id == "end" or not _ID.fullmatch(step_id)):
        problems.add(given["id"].line, "an id of a-z, 0-9 and `-` that is not `end`", f"`{step_id}`", "Rename the step")
    return step_id


def _choices(given: Field | None, line: int, problems: Problems) -> list[dict[str, str]]:
    if given is None or not given.by_key:
        found = given.shape if given else "none"
        problems.add(given.line if given else line, "`choices:` with lines `key: label`", found, "Write two or more")
        return []
    for key, label in given.by_key.items():
        if not label.text:
            problems.add(label.line, f"a label for the choice `{key}`", label.shape, "Write what the button says")
    return [{"key": key, "label": label.text or ""} for key, label in given.by_key.items()]


def _branches(given: Field | None, problems: Problems) -> dict[str, str]:
    if given is None:
        return {}
    if given.by_key is None:
        problems.add(given.line, "`branches:` with lines `outcome: step`", given.shape, "Write one line an outcome")
        return {}
    for key, target in given.by_key.items():
        if not target.text:
            problems.add(target.line, f"a step id or `end` for `{key}`", target.shape, "Name the step to go to")
    return {key: target.text or "" for key, target in given.by_key.items()}
