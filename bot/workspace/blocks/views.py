"""Checks a modal or an App Home, and answers with Slack's error code when Slack would refuse it."""

import json

from bot.workspace.blocks.findings import Findings
from bot.workspace.blocks.layout import IN_HOME, IN_MODALS, check_blocks
from bot.workspace.payload import Payload
from bot.workspace.refusal import SlackRefusal

VIEW_BLOCKS = 100
VIEW_BYTES = 250_000
_SHARED = {"type", "blocks", "private_metadata", "callback_id", "external_id"}
_MODAL = frozenset(_SHARED | {"title", "submit", "close", "clear_on_close", "notify_on_close", "submit_disabled"})


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
    allowed = IN_MODALS if kind == "modal" else IN_HOME
    check_blocks(view.get("blocks", []), "/view/blocks", found, most=VIEW_BLOCKS, allowed=allowed)
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
