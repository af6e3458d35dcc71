"""Interactive elements: buttons, menus, pickers, inputs; and the rule that action ids differ within a block."""

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

    def whole(self, owner: Payload, key: str, at: str, *, least: int, most: int) -> None:
        """A whole number within bounds (both inclusive) when it is there."""
        value = owner.get(key)
        if value is None:
            return
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self.add(f"{at}/{key}", f"must be a whole number from {least} to {most}")

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


def check_option(option: Payload, at: str, found: Findings, *, rich: bool = False) -> None:
    """One option; `rich` (checkboxes, radio buttons) allows mrkdwn."""
    kinds = ("plain_text", "mrkdwn") if rich else ("plain_text",)
    found.unknown_fields(option, frozenset({"text", "value", "description", "url"}), at)
    found.text(option, "text", at, most=OPTION_TEXT, kinds=kinds)
    found.string(option, "value", at, most=OPTION_VALUE, required=True)
    found.text(option, "description", at, most=OPTION_DESCRIPTION, kinds=kinds, required=False)


def check_options(owner: Payload, at: str, found: Findings, *, least: int, most: int, rich: bool = False) -> None:
    if "options" not in owner:
        found.add(at, "missing required field: options")
        return
    values: set[object] = set()
    for option, place in found.items(owner["options"], f"{at}/options", least=least, most=most):
        check_option(option, place, found, rich=rich)
        value = option.get("value")
        if value in values:
            found.add(f"{place}/value", f"must be unique, found {value!r} twice")
        values.add(value)


def check_initial(owner: Payload, at: str, found: Findings) -> None:
    """Options that are chosen from the start must equal one that is offered."""
    offered = [option for option in owner.get("options") or () if isinstance(option, dict)]
    for group in owner.get("option_groups") or ():
        offered += group.get("options") or () if isinstance(group, dict) else ()
    if (chosen := owner.get("initial_option")) is not None and chosen not in offered:
        found.add(f"{at}/initial_option", "must equal one of the options")
    for index, chosen in enumerate(owner.get("initial_options") or ()):
        if chosen not in offered:
            found.add(f"{at}/initial_options/{index}", "must equal one of the options")


def check_static_options(owner: Payload, at: str, found: Findings) -> None:
    """The options of a static select: either `options` or `option_groups`, 100 of each at most."""
    if ("options" in owner) == ("option_groups" in owner):
        found.add(at, "must have either options or option_groups")
        return
    if "options" in owner:
        check_options(owner, at, found, least=1, most=100)
    else:
        for group, place in found.items(owner["option_groups"], f"{at}/option_groups", least=1, most=100):
            found.text(group, "label", place, most=75, kinds=("plain_text",))
            check_options(group, place, found, least=1, most=100)
    check_initial(owner, at, found)


ID_LENGTH = 255
_BASE = frozenset({"type", "action_id", "confirm", "focus_on_load", "placeholder"})
Check = Callable[[Payload, str, Findings], None]


def _button(element: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(
        element, _BASE - {"placeholder"} | {"text", "value", "url", "style", "accessibility_label"}, at
    )
    found.text(element, "text", at, most=75, kinds=("plain_text",))
    found.string(element, "value", at, most=2000)
    found.string(element, "url", at, most=3000)
    found.string(element, "accessibility_label", at, most=75)
    if element.get("style") not in (None, "primary", "danger"):
        found.add(f"{at}/style", "must be one of primary, danger")


def _static_select(element: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(element, _BASE | {"options", "option_groups", "initial_option"}, at)
    check_static_options(element, at, found)


def _multi_static_select(element: Payload, at: str, found: Findings) -> None:
    fields = {"options", "option_groups", "initial_options", "max_selected_items"}
    found.unknown_fields(element, _BASE | fields, at)
    check_static_options(element, at, found)
    found.whole(element, "max_selected_items", at, least=1, most=1000)


def _picker(*fields: str) -> Check:
    def check(element: Payload, at: str, found: Findings) -> None:
        found.unknown_fields(element, _BASE | set(fields), at)

    return check


def _overflow(element: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(element, _BASE - {"placeholder"} | {"options"}, at)
    check_options(element, at, found, least=1, most=5)


def _radio_buttons(element: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(element, _BASE - {"placeholder"} | {"options", "initial_option"}, at)
    check_options(element, at, found, least=1, most=10, rich=True)
    check_initial(element, at, found)


def _checkboxes(element: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(element, _BASE - {"placeholder"} | {"options", "initial_options"}, at)
    check_options(element, at, found, least=1, most=10, rich=True)
    check_initial(element, at, found)


def _plain_text_input(element: Payload, at: str, found: Findings) -> None:
    fields = {"initial_value", "multiline", "min_length", "max_length", "dispatch_action_config"}
    found.unknown_fields(element, _BASE - {"confirm"} | fields, at)
    found.string(element, "initial_value", at, most=3000)
    found.flag(element, "multiline", at)
    found.whole(element, "min_length", at, least=0, most=3000)
    found.whole(element, "max_length", at, least=1, most=3000)


def _number_input(element: Payload, at: str, found: Findings) -> None:
    fields = {"initial_value", "is_decimal_allowed", "min_value", "max_value", "dispatch_action_config"}
    found.unknown_fields(element, _BASE - {"confirm"} | fields, at)
    if "is_decimal_allowed" not in element:
        found.add(at, "missing required field: is_decimal_allowed")


def _image(element: Payload, at: str, found: Findings) -> None:
    found.string(element, "image_url", at, most=3000, required="slack_file" not in element)
    found.string(element, "alt_text", at, most=2000, required=True)


CHECKS: dict[str, Check] = {
    "button": _button,
    "static_select": _static_select,
    "multi_static_select": _multi_static_select,
    "users_select": _picker("initial_user"),
    "multi_users_select": _picker("initial_users", "max_selected_items"),
    "channels_select": _picker("initial_channel", "response_url_enabled"),
    "conversations_select": _picker(
        "initial_conversation", "default_to_current_conversation", "response_url_enabled", "filter"
    ),
    "datepicker": _picker("initial_date"),
    "timepicker": _picker("initial_time", "timezone"),
    "overflow": _overflow,
    "radio_buttons": _radio_buttons,
    "checkboxes": _checkboxes,
    "plain_text_input": _plain_text_input,
    "number_input": _number_input,
    "image": _image,
}
IN_ACTIONS = frozenset(CHECKS) - {"plain_text_input", "number_input", "image"}
IN_SECTION = IN_ACTIONS | {"image"}
IN_INPUT = IN_ACTIONS - {"button", "overflow"} | {"plain_text_input", "number_input"}


def check_element(element: Payload, at: str, found: Findings, *, allowed: frozenset[str]) -> None:
    kind = element.get("type")
    if kind not in CHECKS:
        found.add(f"{at}/type", f"unsupported type: {kind}")
        return
    if kind not in allowed:
        found.add(f"{at}/type", f"{kind} is not allowed here")
        return
    CHECKS[kind](element, at, found)
    if kind != "image":
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
