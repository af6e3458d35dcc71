"""Short ways to write Block Kit in these tests."""

from typing import Any

Block = dict[str, Any]


def plain(text: str) -> Block:
    """A plain_text object."""
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Block:
    """A mrkdwn object."""
    return {"type": "mrkdwn", "text": text}


def section(text: str, **more: Any) -> Block:
    """A section with mrkdwn."""
    return {"type": "section", "text": mrkdwn(text), **more}


def button(label: str, action_id: str, **more: Any) -> Block:
    """A button."""
    return {"type": "button", "text": plain(label), "action_id": action_id, **more}


def actions(*elements: Block, **more: Any) -> Block:
    """A row of elements."""
    return {"type": "actions", "elements": list(elements), **more}


def option(label: str, value: str) -> Block:
    """One option of a menu."""
    return {"text": plain(label), "value": value}


def select(action_id: str, *options: Block, **more: Any) -> Block:
    """A static select."""
    return {"type": "static_select", "action_id": action_id, "options": list(options), **more}


def field(label: str, block_id: str, element: Block, **more: Any) -> Block:
    """An input block."""
    return {"type": "input", "block_id": block_id, "label": plain(label), "element": element, **more}


def text_field(label: str, block_id: str, **more: Any) -> Block:
    """An input block with a text input whose action id is `value`."""
    return field(label, block_id, {"type": "plain_text_input", "action_id": "value", **more})


def modal(title: str, *blocks: Block, **more: Any) -> Block:
    """A modal with a submit button."""
    view = {"type": "modal", "title": plain(title), "submit": plain("Save"), "blocks": list(blocks)}
    return {**view, **more}


def confirm(title: str = "Sure?") -> Block:
    """A confirmation dialog."""
    return {
        "title": plain(title),
        "text": plain("This cannot be undone."),
        "confirm": plain("Yes"),
        "deny": plain("No"),
    }
