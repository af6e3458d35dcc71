"""Layout blocks: what each kind of block may hold, and the kinds that Slack knows on each surface."""

from collections.abc import Callable

from bot.workspace.blocks.elements import (
    ID_LENGTH,
    IN_ACTIONS,
    IN_INPUT,
    IN_SECTION,
    check_action_ids,
    check_element,
)
from bot.workspace.blocks.findings import Findings
from bot.workspace.blocks.rich import check_rich_text, check_table
from bot.workspace.payload import Payload

MARKDOWN = 12_000
Check = Callable[[Payload, str, Findings], None]


def _section(block: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(block, frozenset({"type", "block_id", "text", "fields", "accessory", "expand"}), at)
    if not block.get("text") and not block.get("fields"):
        found.add(at, "must have text or fields")
    found.text(block, "text", at, most=3000, required=False)
    if "fields" in block:
        for field, place in found.items(block["fields"], f"{at}/fields", least=1, most=10):
            found.text_object(field, place, most=2000)
    if block.get("accessory") is not None:
        accessory = found.mapping(block["accessory"], f"{at}/accessory")
        if accessory is not None:
            check_element(accessory, f"{at}/accessory", found, allowed=IN_SECTION)


def _header(block: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(block, frozenset({"type", "block_id", "text", "level"}), at)
    found.text(block, "text", at, most=150, kinds=("plain_text",))


def _divider(block: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(block, frozenset({"type", "block_id"}), at)


def _image(block: Payload, at: str, found: Findings) -> None:
    found.string(block, "image_url", at, most=3000, required="slack_file" not in block)
    found.string(block, "alt_text", at, most=2000, required=True)
    found.text(block, "title", at, most=2000, kinds=("plain_text",), required=False)


def _actions(block: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(block, frozenset({"type", "block_id", "elements"}), at)
    elements = list(found.items(block.get("elements"), f"{at}/elements", least=1, most=25))
    for element, place in elements:
        check_element(element, place, found, allowed=IN_ACTIONS)
    check_action_ids(elements, found)


def _context(block: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(block, frozenset({"type", "block_id", "elements"}), at)
    for element, place in found.items(block.get("elements"), f"{at}/elements", least=1, most=10):
        if element.get("type") == "image":
            check_element(element, place, found, allowed=frozenset({"image"}))
        else:
            found.text_object(element, place, most=3000)


def _input(block: Payload, at: str, found: Findings) -> None:
    fields = {"type", "block_id", "label", "element", "hint", "optional", "dispatch_action"}
    found.unknown_fields(block, frozenset(fields), at)
    found.text(block, "label", at, most=2000, kinds=("plain_text",))
    found.text(block, "hint", at, most=2000, kinds=("plain_text",), required=False)
    found.flag(block, "optional", at)
    element = found.mapping(block.get("element"), f"{at}/element")
    if element is not None:
        check_element(element, f"{at}/element", found, allowed=IN_INPUT)


def _markdown(block: Payload, at: str, found: Findings) -> None:
    found.string(block, "text", at, most=MARKDOWN, required=True)


def _alert(block: Payload, at: str, found: Findings) -> None:
    found.text(block, "text", at, most=200)
    if block.get("level", "default") not in ("default", "info", "warning", "error", "success"):
        found.add(f"{at}/level", "must be one of default, info, warning, error, success")


CHECKS: dict[str, Check] = {
    "section": _section,
    "header": _header,
    "divider": _divider,
    "image": _image,
    "actions": _actions,
    "context": _context,
    "input": _input,
    "markdown": _markdown,
    "rich_text": check_rich_text,
    "table": check_table,
    "alert": _alert,
}
IN_MESSAGES = frozenset(CHECKS) - {"alert"}
IN_MODALS = frozenset(CHECKS) - {"markdown", "table"}
IN_HOME = IN_MODALS - {"alert"}


def check_blocks(blocks: object, at: str, found: Findings, *, most: int, allowed: frozenset[str]) -> None:
    """A list of blocks of kinds that the surface knows, with block ids of their own."""
    seen: set[object] = set()
    for block, place in found.items(blocks, at, least=0, most=most):
        kind = block.get("type")
        if kind not in allowed:
            found.add(f"{place}/type", f"unsupported type: {kind}")
            continue
        CHECKS[kind](block, place, found)
        found.string(block, "block_id", place, most=ID_LENGTH)
        block_id = block.get("block_id")
        if block_id is not None and block_id in seen:
            found.add(f"{place}/block_id", f"must be unique, found {block_id!r} twice")
        seen.add(block_id)
