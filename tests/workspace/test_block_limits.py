"""Block Kit as strict as Slack: the largest that is taken, and the code and place of the smallest that is not."""

from collections.abc import Callable
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.workspace import Workspace
from tests.workspace.asking import ONCALL
from tests.workspace.blocks import Block, actions, button, confirm, mrkdwn, option, plain, section, select


def container(*blocks: Block, title: str = "More", **more: Any) -> Block:
    return {"type": "container", "title": {"type": "plain_text", "text": title}, "child_blocks": [*blocks], **more}


def table(rows: int, cells: int) -> Block:
    """A table of short cells."""
    return {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * cells for _ in range(rows)]}


def context(count: int) -> Block:
    """A context block with so many texts."""
    return {"type": "context", "elements": [mrkdwn("x")] * count}


def menu(*options: Block, **more: object) -> Block:
    """A static select with these options."""
    return {"type": "input", "label": plain("L"), "element": select("s", *options, **more)}


def buttons(count: int) -> Block:
    """A row of so many buttons."""
    return actions(*(button("b", f"a{n}") for n in range(count)))


LIMITS: list[tuple[str, Callable[[int], list[Block]], int, str]] = [
    ("blocks", lambda n: [{"type": "divider"}] * n, 50, "/blocks"),
    ("section text", lambda n: [section("x" * n)], 3000, "/blocks/0/text/text"),
    ("fields", lambda n: [{"type": "section", "fields": [mrkdwn("x")] * n}], 10, "/blocks/0/fields"),
    ("field text", lambda n: [{"type": "section", "fields": [mrkdwn("x" * n)]}], 2000, "/blocks/0/fields/0/text"),
    ("header", lambda n: [{"type": "header", "text": plain("x" * n)}], 150, "/blocks/0/text/text"),
    ("elements", lambda n: [buttons(n)], 25, "/blocks/0/elements"),
    ("context", lambda n: [context(n)], 10, "/blocks/0/elements"),
    ("button text", lambda n: [actions(button("x" * n, "a"))], 75, "/blocks/0/elements/0/text/text"),
    ("button value", lambda n: [actions(button("b", "a", value="x" * n))], 2000, "/blocks/0/elements/0/value"),
    ("action id", lambda n: [actions(button("b", "x" * n))], 255, "/blocks/0/elements/0/action_id"),
    ("block id", lambda n: [section("x", block_id="x" * n)], 255, "/blocks/0/block_id"),
    ("options", lambda n: [menu(*(option(f"o{m}", str(m)) for m in range(n)))], 100, "/blocks/0/element/options"),
    (
        "option text",
        lambda n: [menu(option("x" * n, "v"))],
        75,
        "/blocks/0/element/options/0/text/text",
    ),
    (
        "option value",
        lambda n: [menu(option("o", "x" * n))],
        150,
        "/blocks/0/element/options/0/value",
    ),
    (
        "confirm title",
        lambda n: [actions(button("b", "a", confirm=confirm("x" * n)))],
        100,
        "/blocks/0/elements/0/confirm/title/text",
    ),
    ("container title", lambda n: [container(section("x"), title="x" * n)], 150, "/blocks/0/title/text"),
    ("container blocks", lambda n: [container(*[section("x")] * n)], 10, "/blocks/0/child_blocks"),
    ("table rows", lambda n: [table(n, 1)], 100, "/blocks/0/rows"),
    ("table cells", lambda n: [table(1, n)], 20, "/blocks/0/rows/0"),
]


@pytest.fixture(scope="module")
def posts() -> Any:
    """Posts blocks to one workspace for all limits; answers the response."""

    with Workspace().serve() as ws:
        client = WebClient(ws.bot_token, base_url=ws.api_url)
        yield lambda blocks: client.chat_postMessage(channel=ONCALL, text="fallback", blocks=blocks)


@pytest.mark.parametrize(("make", "most", "place"), [limit[1:] for limit in LIMITS], ids=[limit[0] for limit in LIMITS])
def test_what_is_just_inside_a_limit_is_taken_and_one_more_is_refused(
    posts: Any, make: Callable[[int], list[Block]], most: int, place: str
) -> None:
    """The documented maximum itself is allowed; above it all is invalid_blocks, and the message names the place."""
    assert posts(make(most))["ok"]

    with pytest.raises(SlackApiError) as refused:
        posts(make(most + 1))

    answer = refused.value.response
    assert answer["error"] == "invalid_blocks"
    assert f"[json-pointer:{place}]" in answer["response_metadata"]["messages"][0]


REFUSED = {
    "unknown type": ([{"type": "hologram"}], "unsupported type: hologram"),
    "no text": ([{"type": "section"}], "must have text or fields"),
    "empty text": ([section("")], "must be more than 0 characters"),
    "header in mrkdwn": ([{"type": "header", "text": mrkdwn("x")}], "must be one of plain_text"),
    "same action id": ([actions(button("a", "same"), button("b", "same"))], "must be unique in its block"),
    "same block id": ([section("x", block_id="same"), section("y", block_id="same")], "must be unique"),
    "same option value": ([menu(option("a", "v"), option("b", "v"))], "must be unique"),
    "style": ([actions(button("b", "a", style="loud"))], "must be one of primary, danger"),
    "input in actions": ([actions({"type": "plain_text_input", "action_id": "a"})], "must be one of button"),
    "unknown property": ([section("x", colour="red")], "invalid additional property: colour"),
    "initial option": ([menu(option("a", "1"), initial_option=option("b", "2"))], "must equal one"),
    "button in a container": ([container(actions(button("b", "a")))], "unsupported type: actions"),
    "closed for good": ([container(section("x"), default_collapsed=True)], "requires is_collapsible"),
    "ragged table": (
        [{"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * 2, [{"type": "raw_text", "text": "x"}]]}],
        "must have as many cells",
    ),
}


@pytest.mark.parametrize(("blocks", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_malformed_blocks_are_refused(posts: Any, blocks: list[Block], message: str) -> None:
    """What Slack does not know or allow is invalid_blocks, with the reason."""
    with pytest.raises(SlackApiError) as refused:
        posts(blocks)

    assert refused.value.response["error"] == "invalid_blocks"
    assert message in refused.value.response["response_metadata"]["messages"][0]


def test_all_text_together_has_a_limit(posts: Any) -> None:
    """Each block may be fine and the message still too long: the sum that Slack does not document."""
    fits = [section("x" * 2900)] * 4

    assert posts(fits)["ok"]
    with pytest.raises(SlackApiError, match="msg_blocks_too_long"):
        posts([*fits, section("x" * 500)])


def test_a_message_has_one_table(posts: Any) -> None:
    """A second table is refused with Slack's own code for it."""
    with pytest.raises(SlackApiError) as refused:
        posts([table(1, 1), table(1, 1)])

    assert refused.value.response["error"] == "invalid_attachments"


@pytest.mark.parametrize("blocks", ["not json", "{}"])
def test_blocks_are_a_list(posts: Any, blocks: str) -> None:
    """Blocks that are no JSON list at all have a code of their own."""
    with pytest.raises(SlackApiError, match="invalid_blocks_format"):
        posts(blocks)
