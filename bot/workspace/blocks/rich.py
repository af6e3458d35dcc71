"""Rich text and tables."""

from bot.workspace.blocks.findings import Findings
from bot.workspace.payload import Payload

TABLE_ROWS = 100
TABLE_CELLS = 20
TABLE_CHARACTERS = 10_000
_PARTS = frozenset({"rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"})
_NEEDED = {
    "text": "text",
    "link": "url",
    "emoji": "name",
    "user": "user_id",
    "usergroup": "usergroup_id",
    "channel": "channel_id",
    "broadcast": "range",
    "date": "timestamp",
    "color": "value",
}


def check_rich_text(block: Payload, at: str, found: Findings) -> None:
    """A rich_text block: sections, lists, preformatted parts and quotes."""
    for part, place in found.items(block.get("elements"), f"{at}/elements", least=1, most=1000):
        kind = part.get("type")
        if kind not in _PARTS:
            found.add(f"{place}/type", f"unsupported type: {kind}")
        elif kind == "rich_text_list":
            if part.get("style") not in ("bullet", "ordered"):
                found.add(f"{place}/style", "must be one of bullet, ordered")
            for item, item_place in found.items(part.get("elements"), f"{place}/elements", least=1, most=1000):
                _inline(item, item_place, found)
        else:
            _inline(part, place, found)


def _inline(part: Payload, at: str, found: Findings) -> None:
    for element, place in found.items(part.get("elements"), f"{at}/elements", least=0, most=1000):
        kind = element.get("type")
        if kind not in _NEEDED:
            found.add(f"{place}/type", f"unsupported type: {kind}")
        elif element.get(_NEEDED[kind]) in (None, ""):
            found.add(place, f"missing required field: {_NEEDED[kind]}")


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
    match cell.get("type"):
        case "raw_text":
            found.string(cell, "text", at, most=TABLE_CHARACTERS, required=True)
        case "raw_number":
            if not isinstance(cell.get("value"), int | float):
                found.add(f"{at}/value", "must be a number")
            found.string(cell, "text", at, most=TABLE_CHARACTERS)
        case "rich_text":
            check_rich_text(cell, at, found)
        case kind:
            found.add(f"{at}/type", f"unsupported type: {kind}")
