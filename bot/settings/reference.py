"""The reference of all settings, made from the models, so that it cannot lag behind them."""

import types
import typing
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.domain.record import Record
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
            description=field.description or "",
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
    lines += [f"| `{name.upper()}` | {field.description} |" for name, field in secrets.items()]
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
