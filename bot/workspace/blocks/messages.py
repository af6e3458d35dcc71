"""Checks what a message carries, and answers with Slack's error code when Slack would refuse it."""

from collections.abc import Iterable

from bot.workspace.blocks.findings import Findings
from bot.workspace.blocks.layout import IN_MESSAGES, MARKDOWN, check_blocks
from bot.workspace.blocks.rich import TABLE_CHARACTERS
from bot.workspace.payload import Payload
from bot.workspace.refusal import SlackRefusal

MESSAGE_BLOCKS = 50
TOTAL_CHARACTERS = 12_000
BLOCK_OVERHEAD = 20
"""Slack's undocumented sum (slackapi/bolt-js#2509, #2867) counts containers too; this stands for each of them."""

_TEXT_KEYS = ("text", "alt_text", "title", "label", "hint", "placeholder", "description")


def check_message(blocks: object) -> None:
    """Raises SlackRefusal when Slack would refuse these blocks in a message."""
    if not isinstance(blocks, list):
        raise SlackRefusal("invalid_blocks_format")
    found = Findings()
    check_blocks(blocks, "/blocks", found, most=MESSAGE_BLOCKS, allowed=IN_MESSAGES)
    if found.messages:
        raise SlackRefusal("invalid_blocks", found.messages)
    _check_sums(blocks)


def _check_sums(blocks: list[Payload]) -> None:
    markdown = sum(len(block["text"]) for block in blocks if block["type"] == "markdown")
    if markdown > MARKDOWN:
        place = "[json-pointer:/blocks]"
        raise SlackRefusal("invalid_blocks", [f"markdown must be less than {MARKDOWN + 1} characters {place}"])
    tables = [block for block in blocks if block["type"] == "table"]
    if len(tables) > 1:
        raise SlackRefusal("invalid_attachments", ["only_one_table_allowed"])
    if sum(map(characters, tables)) > TABLE_CHARACTERS:
        place = "[json-pointer:/blocks]"
        raise SlackRefusal("invalid_blocks", [f"table must be less than {TABLE_CHARACTERS + 1} characters {place}"])
    others = [block for block in blocks if block["type"] not in ("markdown", "table")]
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
