"""Interactive elements, those that the bot uses; and the rule that action ids differ within a block."""

from collections.abc import Callable, Iterator, Sequence

from bot.workspace.people import Payload

TEXT_KINDS = ("plain_text", "mrkdwn")


class Findings:
    """Collects what is wrong; empty means that Slack would take it."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def add(self, at: str, message: str) -> None:
        self.messages.append(f"{message} [json-pointer:{at}]")

    def mapping(self, value: object, at: str) -> Payload | None:
        if isinstance(value, dict):
            return value
        self.add(at, "must be an object")
        return None

    def items(self, value: object, at: str, *, least: int, most: int) -> Iterator[tuple[Payload, str]]:
        """The objects of a list with their places, if their number is within bounds (both inclusive)."""
        if not isinstance(value, list):
            self.add(at, "must be an array")
            return
        if len(value) < least:
            self.add(at, f"must contain at least {least} item{'s' if least > 1 else ''}")
        if len(value) > most:
            self.add(at, f"no more than {most} items allowed")
            return
        for index, item in enumerate(value):
            if (entry := self.mapping(item, f"{at}/{index}")) is not None:
                yield entry, f"{at}/{index}"

    def string(self, owner: Payload, key: str, at: str, *, most: int, required: bool = False) -> None:
        """A string field: there if required, not empty if required, at most `most` characters."""
        value = owner.get(key)
        if value is None:
            if required:
                self.add(at, f"missing required field: {key}")
            return
        if not isinstance(value, str):
            self.add(f"{at}/{key}", "must be a string")
        elif required and not value:
            self.add(f"{at}/{key}", "must be more than 0 characters")
        elif len(value) > most:
            self.add(f"{at}/{key}", f"must be less than {most + 1} characters")

    def flag(self, owner: Payload, key: str, at: str) -> None:
        if key in owner and not isinstance(owner[key], bool):
            self.add(f"{at}/{key}", "must be a boolean")

    def text(
        self, owner: Payload, key: str, at: str, *, most: int, kinds: Sequence[str] = TEXT_KINDS, required: bool = True
    ) -> None:
        """A text object under a key: of an allowed kind, not empty, at most `most` characters."""
        value = owner.get(key)
        if value is None:
            if required:
                self.add(at, f"missing required field: {key}")
            return
        self.text_object(value, f"{at}/{key}", most=most, kinds=kinds)

    def text_object(self, value: object, at: str, *, most: int, kinds: Sequence[str] = TEXT_KINDS) -> None:
        """A text object: of an allowed kind, not empty, at most `most` characters."""
        entry = self.mapping(value, at)
        if entry is None:
            return
        kind = entry.get("type")
        if kind not in kinds:
            self.add(f"{at}/type", f"must be one of {', '.join(kinds)}, found {kind!r}")
        if kind == "plain_text" and "verbatim" in entry:
            self.add(f"{at}/verbatim", "is not allowed in plain_text")
        if kind == "mrkdwn" and "emoji" in entry:
            self.add(f"{at}/emoji", "is not allowed in mrkdwn")
        self.string(entry, "text", at, most=most, required=True)

    def unknown_fields(self, owner: Payload, allowed: frozenset[str], at: str) -> None:
        """Fields that Slack does not know on this object."""
        for key in owner:
            if key not in allowed:
                self.add(at, f"invalid additional property: {key}")


OPTION_TEXT = 75
OPTION_VALUE = 150
OPTION_DESCRIPTION = 75
PLACEHOLDER = 150


def check_confirm(owner: Payload, at: str, found: Findings) -> None:
    if owner.get("confirm") is None:
        return
    place = f"{at}/confirm"
    confirm = found.mapping(owner["confirm"], place)
    if confirm is None:
        return
    found.unknown_fields(confirm, frozenset({"title", "text", "confirm", "deny", "style"}), place)
    found.text(confirm, "title", place, most=100, kinds=("plain_text",))
    found.text(confirm, "text", place, most=300)
    found.text(confirm, "confirm", place, most=30, kinds=("plain_text",))
    found.text(confirm, "deny", place, most=30, kinds=("plain_text",))
    if confirm.get("style") not in (None, "primary", "danger"):
        found.add(f"{place}/style", "must be one of primary, danger")


def check_option(option: Payload, at: str, found: Findings, *, rich: bool) -> None:
    """One option; `rich` (checkboxes) allows mrkdwn."""
    kinds = ("plain_text", "mrkdwn") if rich else ("plain_text",)
    found.unknown_fields(option, frozenset({"text", "value", "description"}), at)
    found.text(option, "text", at, most=OPTION_TEXT, kinds=kinds)
    found.string(option, "value", at, most=OPTION_VALUE, required=True)
    found.text(option, "description", at, most=OPTION_DESCRIPTION, kinds=kinds, required=False)


def check_options(owner: Payload, at: str, found: Findings, *, most: int, rich: bool = False) -> None:
    """What is offered, and that what is chosen from the start is one of it."""
    values: set[object] = set()
    for option, place in found.items(owner.get("options"), f"{at}/options", least=1, most=most):
        check_option(option, place, found, rich=rich)
        value = option.get("value")
        if value in values:
            found.add(f"{place}/value", f"must be unique, found {value!r} twice")
        values.add(value)
    for chosen in (owner.get("initial_option"), *(owner.get("initial_options") or ())):
        if chosen is not None and chosen not in (owner.get("options") or ()):
            found.add(f"{at}/initial_option", "must equal one of the options")


ID_LENGTH = 255
_BASE = frozenset({"type", "action_id", "confirm", "focus_on_load", "placeholder"})
Check = Callable[[Payload, str, Findings], None]


def _button(element: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(element, _BASE - {"placeholder"} | {"text", "value", "style"}, at)
    found.text(element, "text", at, most=75, kinds=("plain_text",))
    found.string(element, "value", at, most=2000)
    if element.get("style") not in (None, "primary", "danger"):
        found.add(f"{at}/style", "must be one of primary, danger")


def _static_select(element: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(element, _BASE | {"options", "initial_option"}, at)
    check_options(element, at, found, most=100)


def _picker(field: str) -> Check:
    def check(element: Payload, at: str, found: Findings) -> None:
        found.unknown_fields(element, _BASE | {field}, at)

    return check


def _checkboxes(element: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(element, _BASE - {"placeholder"} | {"options", "initial_options"}, at)
    check_options(element, at, found, most=10, rich=True)


def _plain_text_input(element: Payload, at: str, found: Findings) -> None:
    fields = {"initial_value", "multiline", "max_length"}
    found.unknown_fields(element, _BASE - {"confirm"} | fields, at)
    found.string(element, "initial_value", at, most=3000)
    found.flag(element, "multiline", at)
    longest = element.get("max_length", 1)
    if not isinstance(longest, int) or not 1 <= longest <= 3000:
        found.add(f"{at}/max_length", "must be a whole number from 1 to 3000")


CHECKS: dict[str, Check] = {
    "button": _button,
    "static_select": _static_select,
    "users_select": _picker("initial_user"),
    "datepicker": _picker("initial_date"),
    "checkboxes": _checkboxes,
    "plain_text_input": _plain_text_input,
}
CLICKED = frozenset({"button"})
"""In a row of actions, and beside a section; the others are for inputs."""
FILLED_IN = frozenset(CHECKS) - CLICKED


def check_element(element: Payload, at: str, found: Findings, *, allowed: frozenset[str]) -> None:
    kind = element.get("type")
    if kind not in CHECKS:
        found.add(f"{at}/type", f"unsupported type: {kind}")
        return
    if kind not in allowed:
        found.add(f"{at}/type", f"{kind} is not allowed here")
        return
    CHECKS[kind](element, at, found)
    found.string(element, "action_id", at, most=ID_LENGTH)
    check_confirm(element, at, found)
    found.text(element, "placeholder", at, most=PLACEHOLDER, kinds=("plain_text",), required=False)


def check_action_ids(elements: list[tuple[Payload, str]], found: Findings) -> None:
    seen: set[object] = set()
    for element, at in elements:
        action_id = element.get("action_id")
        if action_id is not None and action_id in seen:
            found.add(f"{at}/action_id", f"must be unique in its block, found {action_id!r} twice")
        seen.add(action_id)
