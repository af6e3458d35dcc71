"""Composition objects: options, option groups, confirmation dialogs, placeholders."""

from bot.workspace.blocks.findings import Findings
from bot.workspace.payload import Payload

OPTION_TEXT = 75
OPTION_VALUE = 150
OPTION_DESCRIPTION = 75
PLACEHOLDER = 150


def check_confirm(owner: Payload, at: str, found: Findings) -> None:
    """A confirmation dialog, when there is one."""
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
    """The options of a menu, each with a value of its own."""
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
