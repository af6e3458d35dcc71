"""Reads the YAML file and says of each problem where it stands: file, line, setting.

The reference of all settings, made from the models, so that it cannot lag behind them.
"""

import difflib
import types
import typing
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from bot.observation.errors import BadConfiguration
from bot.observation.record import Record, unwrapped
from bot.settings.secrets import AlertSecrets, NoticeSecrets, SlackSecrets, WebSecrets


class Setting(Record):
    name: str
    """`tables.<name>.contract.key`; `<name>` stands for what people choose, `[]` for each item."""
    description: str
    unit: str
    default: str
    example: str
    is_group: bool
    """Whether it only holds other settings."""


def settings_of(model: type[BaseModel], prefix: str = "") -> Iterator[Setting]:
    """Every setting below the model, parents before children, in the order of the models."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        below = list(_models_in(field.annotation, path))
        extra = field.json_schema_extra
        yield Setting(
            name=path,
            description=unwrapped(field.description or ""),
            unit=str(extra.get("unit", "")) if isinstance(extra, dict) else "",
            default=_default(field),
            example=_written(field.examples[0]) if field.examples else "",
            is_group=bool(below),
        )
        for inner, inner_path in below:
            yield from settings_of(inner, f"{inner_path}.")


def field_names(model: type[BaseModel]) -> list[str]:
    """The last parts of all settings' names, for suggestions."""
    return sorted({setting.name.rsplit(".", 1)[-1] for setting in settings_of(model)})


def as_markdown(model: type[BaseModel]) -> str:
    lines = ["# Settings", "", "One YAML file. Durations are ISO 8601 (`PT30M`) or numbers of seconds.", ""]
    lines += ["| setting | meaning | default | example |", "|---|---|---|---|"]
    for each in settings_of(model):
        meaning = f"{each.description} Unit: {each.unit}." if each.unit else each.description
        cells = (f"`{each.name}`", meaning, _code(each.default), _code(each.example))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines += [
        "",
        "## Secrets",
        "",
        "They come from the environment, or from the file that `NAME_FILE` names. A token in the YAML file is refused.",
        "",
    ]
    lines += ["| variable | meaning |", "|---|---|"]
    classes = (SlackSecrets, WebSecrets, AlertSecrets, NoticeSecrets)
    secrets = {name: field for each in classes for name, field in each.model_fields.items()}
    lines += [f"| `{name.upper()}` | {unwrapped(field.description or '')} |" for name, field in secrets.items()]
    return "\n".join(lines) + "\n"


def _models_in(annotation: object, path: str) -> Iterator[tuple[type[BaseModel], str]]:
    """The models that a field holds: itself, the items of a list, the values of a mapping, a union's members."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, path
        return
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from _models_in(inside[0], path)
    elif origin is dict:
        yield from _models_in(inside[1], f"{path}.<name>")
    elif origin is tuple:
        yield from _models_in(inside[0], f"{path}[]")
    elif origin in {typing.Union, types.UnionType}:
        for member in inside:
            kind = _kind(member)
            yield from _models_in(member, f"{path}({kind})" if kind else path)


def _kind(member: object) -> str:
    if isinstance(member, type) and issubclass(member, BaseModel) and "kind" in member.model_fields:
        return str(typing.get_args(member.model_fields["kind"].annotation)[0])
    return ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    return "" if value is None or isinstance(value, BaseModel) else _written(value)


def _written(value: object) -> str:
    if isinstance(value, timedelta):
        return f"P{value.days}D" if value.days and not value.seconds else f"PT{value.total_seconds():g}S"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {each}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(str(each) for each in value) + "]"
    return str(value.as_posix() if isinstance(value, Path) else value)


def _code(text: str) -> str:
    return f"`{text}`" if text not in {"", "required"} else text


M = TypeVar("M", bound=BaseModel)
_REFERENCE = "Every setting is described in deploy/settings.md."


def _found(error: OSError | UnicodeDecodeError) -> str:
    return "no file there" if isinstance(error, FileNotFoundError) else f"{type(error).__name__}: {error}"


def yaml_of(path: Path) -> CommentedMap:
    """The file's content with its line numbers. Raises BadConfiguration."""
    try:
        content = YAML(typ="rt").load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(
            f"{path}: the configuration cannot be read.",
            f"Expected a YAML file in UTF-8; found {_found(error)}.",
            "Name another file with --config, or copy deploy/waterline.example.yaml there.",
        ) from error
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadConfiguration(
            f"{path}:{line}: this is not YAML.",
            f"Expected a well-formed file; found: {error.problem or error}.",
            "Check the indentation and quotes, and look for a name that occurs twice.",
        ) from error
    except YAMLError as error:
        raise BadConfiguration(
            f"{path}: this is not YAML.", f"Found: {error}.", "Compare it with deploy/waterline.example.yaml."
        ) from error
    if not isinstance(content, CommentedMap):
        raise BadConfiguration(
            f"{path}:1: there are no settings.",
            f"Expected names and values; found {_shown(content)}.",
            "Copy deploy/waterline.example.yaml and change it.",
        )
    return content


def checked(model: type[M], content: CommentedMap, path: Path) -> M:
    """`content` as the model. Raises BadConfiguration for the first problem; the others are counted."""
    try:
        return model.model_validate(_plain(content))
    except ValidationError as error:
        raise _translated(model, content, path, error) from error


def bad(
    content: CommentedMap, path: Path, where: tuple[str | int, ...], happened: str, found: str, remedy: str
) -> BadConfiguration:
    """A problem of the setting `where`, with its file and line."""
    line, names = _place(content, where)
    return BadConfiguration(f"{path}:{line}: {'.'.join(names)}: {happened}", found, remedy)


def near(name: str, names: Iterable[str]) -> str:
    """`Did you mean …? ` for a name that was mistyped, else nothing."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f"Did you mean `{close[0]}`? " if close else ""


def _translated(model: type[M], content: CommentedMap, path: Path, error: ValidationError) -> BadConfiguration:
    problems = error.errors(include_url=False)
    first = min(problems, key=lambda problem: _place(content, problem["loc"])[0])
    happened, found, remedy = _in_words(model, first)
    others = len(problems) - 1
    more = f" {others} more problem{'s' if others > 1 else ''} in this file." if others else ""
    return bad(content, path, first["loc"], happened, found, f"{remedy} {_REFERENCE}{more}")


def _in_words(model: type[BaseModel], problem: ErrorDetails) -> tuple[str, str, str]:
    name = str(problem["loc"][-1]) if problem["loc"] else ""
    match problem["type"]:
        case "extra_forbidden":
            return (
                "this setting does not exist.",
                f"Expected a setting that Waterline knows; found {name}.",
                f"{near(name, field_names(model))}Remove or rename it.",
            )
        case "missing":
            return f"the setting {name} is missing.", f"Expected {name}; found nothing.", "Add it."
        case "union_tag_not_found" | "union_tag_invalid":
            context = problem.get("ctx", {})
            return (
                "the kind is missing or not known.",
                f"Expected `kind` to be {context.get('expected_tags', 'sql-gateway or jar')}; "
                f"found {context.get('tag', 'none')}.",
                "Say which kind it is.",
            )
        case _:
            message = problem["msg"]
            return (
                "this value does not fit.",
                f"Expected: {message[:1].lower()}{message[1:]}; found {_shown(problem['input'])}.",
                "Correct it.",
            )


def _place(content: CommentedMap, where: tuple[str | int, ...]) -> tuple[int, list[str]]:
    """Line (1-based) of the deepest part that is in the file, and the setting's full name.

    Parts that pydantic adds (the tag of a union) are in neither.
    """
    line, names = 1, []
    current: object = content
    for number, part in enumerate(where):
        last = number == len(where) - 1
        if isinstance(current, CommentedMap) and part in current:
            line = current.lc.key(part)[0] + 1
            current = current[part]
        elif isinstance(current, CommentedSeq) and isinstance(part, int) and part < len(current):
            line = current.lc.item(part)[0] + 1
            current = current[part]
        elif not last:
            continue
        names.append(str(part))
    return line, names or ["(the whole file)"]


def _plain(value: object) -> object:
    """Plain dicts, lists and strings instead of ruamel's. A name without a value counts as absent: that is
    what is left of a section when all of it is commented out."""
    if isinstance(value, dict):
        return {_plain(key): _plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, str) else value


def _shown(value: object) -> str:
    text = repr(_plain(value))
    return text if len(text) <= 80 else f"{text[:79]}…"
