"""Values of inputs: what is chosen from the start, what a person's raw choice means, what is missing.

What came of something that a person did.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict

from bot.workspace.deliveries import Ack
from bot.workspace.refusal import CannotDo, Payload

Raw = str | list[str] | None
RawValues = dict[str, dict[str, Raw]]

_SINGLE = {
    "users_select": ("selected_user", "initial_user"),
    "channels_select": ("selected_channel", "initial_channel"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "plain_text_input": ("value", "initial_value"),
    "number_input": ("value", "initial_value"),
}
STATEFUL = frozenset(_SINGLE) | {
    "static_select",
    "multi_static_select",
    "radio_buttons",
    "checkboxes",
    "multi_users_select",
}


def elements_of(block: Payload) -> Iterator[Payload]:
    if block["type"] == "actions":
        yield from block["elements"]
    elif block["type"] == "input":
        yield block["element"]
    elif isinstance(block.get("accessory"), dict):
        yield block["accessory"]


def options_of(element: Payload) -> list[Payload]:
    options = list(element.get("options") or ())
    for group in element.get("option_groups") or ():
        options += group["options"]
    return options


def chosen(element: Payload, raw: Raw) -> Payload:
    """The value of an element as interaction payloads carry it; raises CannotDo for what is not offered."""
    kind = element["type"]
    if kind in _SINGLE:
        return {_SINGLE[kind][0]: raw or None}
    values = raw if isinstance(raw, list) else ([raw] if raw else [])
    if kind == "multi_users_select":
        return {"selected_users": values}
    options = [_option(element, value) for value in values]
    if kind in ("checkboxes", "multi_static_select"):
        return {"selected_options": options}
    return {"selected_option": options[0] if options else None}


def initial(element: Payload) -> Payload:
    kind = element["type"]
    if kind in _SINGLE:
        return {_SINGLE[kind][0]: element.get(_SINGLE[kind][1])}
    if kind == "multi_users_select":
        return {"selected_users": element.get("initial_users") or []}
    if kind in ("checkboxes", "multi_static_select"):
        return {"selected_options": element.get("initial_options") or []}
    return {"selected_option": element.get("initial_option")}


def state_of(blocks: Iterable[Payload], given: RawValues) -> Payload:
    """`state.values` of a message or view: by block id and action id, what was given or else what was initial."""
    values: Payload = {}
    for block in blocks:
        for element in elements_of(block):
            if element["type"] not in STATEFUL:
                continue
            raw = given.get(block["block_id"], {})
            action_id = element["action_id"]
            value = chosen(element, raw[action_id]) if action_id in raw else initial(element)
            values.setdefault(block["block_id"], {})[action_id] = {"type": element["type"], **value}
    return values


def missing(blocks: Iterable[Payload], values: Payload) -> dict[str, str]:
    """What Slack's client itself objects to before anything is sent, by block id."""
    errors: dict[str, str] = {}
    for block in blocks:
        if block["type"] != "input":
            continue
        element = block["element"]
        state = values[block["block_id"]][element["action_id"]]
        value = next(iter([v for k, v in state.items() if k != "type"]), None)
        if not value:
            if not block.get("optional"):
                errors[block["block_id"]] = "Please complete this required field."
        elif isinstance(value, str):
            if len(value) < element.get("min_length", 0):
                errors[block["block_id"]] = f"Must be at least {element['min_length']} characters."
            elif len(value) > element.get("max_length", 3000):
                errors[block["block_id"]] = f"Must be at most {element.get('max_length', 3000)} characters."
    return errors


def _option(element: Payload, value: str) -> Payload:
    for option in options_of(element):
        if option.get("value") == value:
            return option
    offered = ", ".join(repr(option.get("value")) for option in options_of(element))
    raise CannotDo("no_such_option", f"{value!r} is not offered. Offered: {offered}. Choose one of these.")


PersonOutcome = Literal["done", "acked", "timed-out", "unreachable", "refused", "invalid", "cancelled"]


class Outcome(BaseModel):
    """What the person's client knows after an act: whether the app acknowledged, how fast, what it objected to."""

    model_config = ConfigDict(frozen=True)

    outcome: PersonOutcome
    took_ms: float = 0.0
    errors: dict[str, str] = {}
    ts: str | None = None

    @classmethod
    def of(cls, ack: Ack) -> "Outcome":
        """The outcome of a delivery."""
        return cls(outcome=ack.outcome, took_ms=ack.took_ms)
