"""From what a person reads on the screen to the raw value that the page sends for an input."""

from collections.abc import Callable
from datetime import date

from bot.workspace.payload import Payload
from bot.workspace.persons.forms import Raw, options_of
from bot.workspace.seen import Control, NotShown, listed


def raw_value(control: Control, value: str | list[str] | date, person_id: Callable[[str], str]) -> Raw:
    """The raw value for a control: options by visible text or value, people by name, dates as ISO text."""
    kind = control.element["type"]
    if isinstance(value, date):
        return value.isoformat()
    if kind == "users_select" and isinstance(value, str):
        return person_id(value)
    if kind == "multi_users_select":
        return [person_id(name) for name in _several(value)]
    if kind in ("checkboxes", "multi_static_select"):
        return [_option_value(control, wanted) for wanted in _several(value)]
    if kind in ("static_select", "radio_buttons", "overflow") and isinstance(value, str):
        return _option_value(control, value)
    return value


def _several(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _option_value(control: Control, wanted: str) -> str:
    options = options_of(control.element)
    for option in options:
        if wanted in (_text(option), option.get("value")):
            return str(option["value"])
    offered = listed(_text(option) for option in options)
    raise NotShown(f"{control.label!r} does not offer {wanted!r}. It offers: {offered}.")


def _text(option: Payload) -> str:
    return str(option["text"]["text"])
