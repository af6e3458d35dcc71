"""The record's seal at a milestone, in small print: a witness that is not the database."""

from slack_sdk.models.blocks import Block

from bot.domain.journal import Entry
from bot.domain.seal import seal_of
from bot.slack.blocks.parts import context
from bot.slack.text import code


def seal_message(entry: Entry) -> tuple[str, list[Block]]:
    """(notification text, blocks); both hold the seal, so that it can be read back."""
    seal = str(seal_of(entry))
    told = f"Seal of the record up to entry {entry.seq}:"
    return f"{told} {seal}", [context(f":lock: {told} {code(seal)}")]
