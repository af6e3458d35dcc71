"""Layout blocks, and the messages, modals and Home that hold them: what each may hold, and what Slack says when not.

Of Slack's blocks those that the bot uses; any other is refused as unknown.
"""

import json
from collections.abc import Callable, Iterable

from bot.workspace.blocks.elements import (
    CLICKED,
    FILLED_IN,
    ID_LENGTH,
    Findings,
    check_action_ids,
    check_element,
)
from bot.workspace.people import Payload, SlackRefusal

TABLE_ROWS = 100
TABLE_CELLS = 20
TABLE_CHARACTERS = 10_000
Check = Callable[[Payload, str, Findings], None]


def check_table(block: Payload, at: str, found: Findings) -> None:
    """A table: at most 100 rows of 20 cells, rows of equal length, 10,000 characters in all."""
    found.unknown_fields(block, frozenset({"type", "block_id", "rows", "column_settings"}), at)
    rows = block.get("rows")
    if not isinstance(rows, list) or not rows:
        found.add(f"{at}/rows", "must contain at least 1 item")
        return
    if len(rows) > TABLE_ROWS:
        found.add(f"{at}/rows", f"no more than {TABLE_ROWS} items allowed")
        return
    for index, row in enumerate(rows):
        for cell, place in found.items(row, f"{at}/rows/{index}", least=1, most=TABLE_CELLS):
            _cell(cell, place, found)
        if isinstance(row, list) and isinstance(rows[0], list) and len(row) != len(rows[0]):
            found.add(f"{at}/rows/{index}", f"must have as many cells as the first row ({len(rows[0])})")
    for setting, place in found.items(
        block.get("column_settings") or [], f"{at}/column_settings", least=0, most=TABLE_CELLS
    ):
        if setting.get("align", "left") not in ("left", "center", "right"):
            found.add(f"{place}/align", "must be one of left, center, right")
        found.flag(setting, "is_wrapped", place)


def _cell(cell: Payload, at: str, found: Findings) -> None:
    if cell.get("type") != "raw_text":
        found.add(f"{at}/type", f"unsupported type: {cell.get('type')}")
    found.string(cell, "text", at, most=TABLE_CHARACTERS, required=True)


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
            check_element(accessory, f"{at}/accessory", found, allowed=CLICKED)


def _header(block: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(block, frozenset({"type", "block_id", "text", "level"}), at)
    found.text(block, "text", at, most=150, kinds=("plain_text",))


def _divider(block: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(block, frozenset({"type", "block_id"}), at)


def _actions(block: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(block, frozenset({"type", "block_id", "elements"}), at)
    elements = list(found.items(block.get("elements"), f"{at}/elements", least=1, most=25))
    for element, place in elements:
        check_element(element, place, found, allowed=CLICKED)
    check_action_ids(elements, found)


def _context(block: Payload, at: str, found: Findings) -> None:
    found.unknown_fields(block, frozenset({"type", "block_id", "elements"}), at)
    for element, place in found.items(block.get("elements"), f"{at}/elements", least=1, most=10):
        found.text_object(element, place, most=3000)


def _input(block: Payload, at: str, found: Findings) -> None:
    fields = {"type", "block_id", "label", "element", "hint", "optional"}
    found.unknown_fields(block, frozenset(fields), at)
    found.text(block, "label", at, most=2000, kinds=("plain_text",))
    found.text(block, "hint", at, most=2000, kinds=("plain_text",), required=False)
    found.flag(block, "optional", at)
    element = found.mapping(block.get("element"), f"{at}/element")
    if element is not None:
        check_element(element, f"{at}/element", found, allowed=FILLED_IN)


CHECKS: dict[str, Check] = {
    "section": _section,
    "header": _header,
    "divider": _divider,
    "actions": _actions,
    "context": _context,
    "input": _input,
    "table": check_table,
}
IN_VIEWS = frozenset(CHECKS) - {"table"}


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


VIEW_BLOCKS = 100
VIEW_BYTES = 250_000
_SHARED = {"type", "blocks", "private_metadata", "callback_id", "external_id"}
_MODAL = frozenset(_SHARED | {"title", "submit", "close"})


def check_view(view: object, *, kind: str) -> Payload:
    """The view, when Slack would take it on that surface (`modal` or `home`); raises SlackRefusal otherwise."""
    if not isinstance(view, dict):
        raise SlackRefusal("invalid_arguments", ["must be an object [json-pointer:/view]"])
    if len(json.dumps(view)) > VIEW_BYTES:
        raise SlackRefusal("view_too_large")
    found = Findings()
    if view.get("type") != kind:
        found.add("/view/type", f"must be {kind}, found {view.get('type')!r}")
    found.string(view, "private_metadata", "/view", most=3000)
    found.string(view, "callback_id", "/view", most=255)
    found.string(view, "external_id", "/view", most=255)
    if kind == "modal":
        _check_modal(view, found)
    else:
        found.unknown_fields(view, frozenset(_SHARED), "/view")
    if "blocks" not in view:
        found.add("/view", "missing required field: blocks")
    check_blocks(view.get("blocks", []), "/view/blocks", found, most=VIEW_BLOCKS, allowed=IN_VIEWS)
    if found.messages:
        raise SlackRefusal("invalid_arguments", found.messages)
    return view


def _check_modal(view: Payload, found: Findings) -> None:
    found.unknown_fields(view, _MODAL, "/view")
    found.text(view, "title", "/view", most=24, kinds=("plain_text",))
    found.text(view, "submit", "/view", most=24, kinds=("plain_text",), required=False)
    found.text(view, "close", "/view", most=24, kinds=("plain_text",), required=False)
    blocks = view.get("blocks")
    has_input = isinstance(blocks, list) and any(isinstance(b, dict) and b.get("type") == "input" for b in blocks)
    if has_input and not view.get("submit"):
        found.add("/view", "missing required field: submit, which a view with input blocks needs")


MESSAGE_BLOCKS = 50
TOTAL_CHARACTERS = 12_000
BLOCK_OVERHEAD = 20
"""Slack's undocumented sum (slackapi/bolt-js#2509, #2867) counts containers too; this stands for each of them."""

_TEXT_KEYS = ("text", "title", "label", "hint", "placeholder", "description")


def check_message(blocks: object) -> None:
    """Raises SlackRefusal when Slack would refuse these blocks in a message."""
    if not isinstance(blocks, list):
        raise SlackRefusal("invalid_blocks_format")
    found = Findings()
    check_blocks(blocks, "/blocks", found, most=MESSAGE_BLOCKS, allowed=frozenset(CHECKS))
    if found.messages:
        raise SlackRefusal("invalid_blocks", found.messages)
    _check_sums(blocks)


def _check_sums(blocks: list[Payload]) -> None:
    tables = [block for block in blocks if block["type"] == "table"]
    if len(tables) > 1:
        raise SlackRefusal("invalid_attachments", ["only_one_table_allowed"])
    if sum(map(characters, tables)) > TABLE_CHARACTERS:
        place = "[json-pointer:/blocks]"
        raise SlackRefusal("invalid_blocks", [f"table must be less than {TABLE_CHARACTERS + 1} characters {place}"])
    others = [block for block in blocks if block["type"] != "table"]
    if sum(characters(block) + BLOCK_OVERHEAD for block in others) > TOTAL_CHARACTERS:
        raise SlackRefusal("msg_blocks_too_long")


def characters(value: object) -> int:
    """How many characters a person would read in a block, with everything nested in it."""
    if isinstance(value, dict):
        return sum(
            len(inner) if isinstance(inner, str) and key in _TEXT_KEYS else characters(inner)
            for key, inner in value.items()
            if not isinstance(inner, str) or key in _TEXT_KEYS
        )
    if isinstance(value, Iterable) and not isinstance(value, str):
        return sum(characters(inner) for inner in value)
    return 0
