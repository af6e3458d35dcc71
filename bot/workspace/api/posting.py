"""What a call wants to post: text, blocks, attachments, metadata; checked as Slack checks them."""

import secrets

from pydantic import BaseModel, ConfigDict

from bot.workspace.api.call import Call
from bot.workspace.blocks import check_message
from bot.workspace.message import StoredMessage
from bot.workspace.payload import Payload
from bot.workspace.refusal import SlackRefusal

_MISSING_TEXT = "missing_text_in_message"


class Content(BaseModel):
    """Checked content of a message."""

    model_config = ConfigDict(frozen=True)

    text: str = ""
    blocks: tuple[Payload, ...] = ()
    attachments: tuple[Payload, ...] = ()
    metadata: Payload | None = None

    def warning(self) -> Payload:
        """Slack warns about blocks without a text for notifications and screen readers."""
        if self.blocks and not self.text:
            return {"warning": _MISSING_TEXT, "response_metadata": {"warnings": [_MISSING_TEXT]}}
        return {}


def content_of(call: Call, *, text_limit: int, keeps: StoredMessage | None = None) -> Content:
    """The content of a call; what is not given stays as in `keeps`. Raises SlackRefusal when Slack would refuse it."""
    text = call.text("text")
    blocks = call.parsed("blocks", "invalid_blocks_format")
    attachments = call.parsed("attachments", "invalid_attachments")
    metadata = call.parsed("metadata", "invalid_metadata_format")
    if len(text) > text_limit:
        raise SlackRefusal("msg_too_long")
    if blocks is not None:
        check_message(blocks)
    if attachments is not None and not isinstance(attachments, list):
        raise SlackRefusal("invalid_attachments")
    _check_metadata(metadata)
    content = Content(
        text=text if text or keeps is None or blocks else keeps.text,
        blocks=named(blocks) if isinstance(blocks, list) else (keeps.blocks if keeps else ()),
        attachments=tuple(attachments) if attachments is not None else (keeps.attachments if keeps else ()),
        metadata=metadata if isinstance(metadata, dict) else None,
    )
    given = text or blocks or attachments
    if not given:
        raise SlackRefusal("no_text")
    return content


def named(blocks: list[Payload]) -> tuple[Payload, ...]:
    """The blocks with an id for each block and element that came without one, as Slack gives them."""
    return tuple(_named_block(dict(block)) for block in blocks)


def _named_block(block: Payload) -> Payload:
    block["block_id"] = block.get("block_id") or secrets.token_urlsafe(4)
    if block["type"] == "actions":
        block["elements"] = [_named_element(element) for element in block["elements"]]
    for key in ("accessory", "element"):
        if isinstance(block.get(key), dict):
            block[key] = _named_element(block[key])
    return block


def _named_element(element: Payload) -> Payload:
    if element["type"] == "image" or element.get("action_id"):
        return dict(element)
    return {**element, "action_id": secrets.token_urlsafe(4)}


def _check_metadata(metadata: object) -> None:
    if metadata is None:
        return
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_payload"), dict):
        raise SlackRefusal("invalid_metadata_schema")
    if not metadata.get("event_type"):
        raise SlackRefusal("invalid_metadata_schema", ["missing required field: event_type"])
