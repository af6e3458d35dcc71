"""People at their screens: what they see, what they can click, and what they are told when they cannot."""

from typing import Any

import pytest
from slack_bolt import App
from slack_sdk import WebClient

from bot.workspace import Actor, CannotDo, NotShown, Workspace
from tests.workspace.asking import ONCALL
from tests.workspace.blocks import actions, button, confirm, option, section, select
from tests.workspace.conftest import Connect, eventually


def test_a_button_that_is_not_shown_lists_what_is(client: WebClient, ana: Actor) -> None:
    """The error names the person, the label and the buttons that are there."""
    client.chat_postMessage(channel=ONCALL, text="x", blocks=[actions(button("Approve", "a"), button("Reject", "r"))])

    with pytest.raises(NotShown) as missing:
        ana.clicks("Aprove", within_s=0)

    assert "'Aprove'" in str(missing.value)
    assert "('Approve', 'Reject')" in str(missing.value)


def test_the_newest_message_with_the_button_is_clicked(
    app: App, client: WebClient, connect: Connect, ana: Actor
) -> None:
    """Of two messages with the same button the newer one, also when it is in a thread; a given message wins."""
    seen: list[str] = []

    @app.action("go")
    def go(ack: Any, body: Any) -> None:
        ack()
        seen.append(body["container"]["message_ts"])

    connect()
    row = [actions(button("Go", "go"))]
    older = client.chat_postMessage(channel=ONCALL, text="x", blocks=row)["ts"]
    newer = client.chat_postMessage(channel=ONCALL, text="x", blocks=row, thread_ts=older)["ts"]

    ana.clicks("Go")
    eventually(lambda: len(seen) == 1)
    ana.clicks("Go", in_=ana.messages()[0])
    eventually(lambda: len(seen) == 2)

    assert [newer, older] == seen


def test_a_click_on_an_old_screen_still_arrives(app: App, client: WebClient, connect: Connect, ben: Actor) -> None:
    """Ben clicks what he has on his screen while the message has just been updated."""
    seen: list[str] = []

    @app.action("approve")
    def approve(ack: Any, body: Any) -> None:
        ack()
        seen.append(body["user"]["name"])

    connect()
    row = [actions(button("Approve", "approve"))]
    ts = client.chat_postMessage(channel=ONCALL, text="x", blocks=row)["ts"]
    on_the_screen = ben.last_message()
    client.chat_update(channel=ONCALL, ts=ts, text="decided", blocks=[])

    outcome = ben.clicks("Approve", in_=on_the_screen)

    eventually(lambda: bool(seen))
    assert outcome.outcome == "acked"
    with pytest.raises(NotShown):
        ben.clicks("Approve", within_s=0)


def test_a_confirmation_can_be_declined(ws: Workspace, client: WebClient, ana: Actor) -> None:
    """Declining delivers nothing; a button without a dialog has nothing to decline."""
    row = actions(button("Drop", "drop", confirm=confirm()), button("Look", "look"))
    client.chat_postMessage(channel=ONCALL, text="x", blocks=[row])

    outcome = ana.clicks("Drop", confirm=False)

    assert outcome.outcome == "cancelled"
    assert ws.wire("delivery") == ()
    with pytest.raises(NotShown, match="no confirmation"):
        ana.clicks("Look", confirm=False)


def test_a_menu_is_chosen_from_by_what_it_shows(app: App, client: WebClient, connect: Connect, ana: Actor) -> None:
    """The option is named by its text; one that is not offered is an error that lists the offer."""
    seen: list[str] = []

    @app.action("step")
    def step(ack: Any, body: Any) -> None:
        ack()
        seen.append(body["actions"][0]["selected_option"]["value"])

    connect()
    menu = select("step", option("Collect evidence", "s1"), option("Skip", "s2"))
    client.chat_postMessage(channel=ONCALL, text="x", blocks=[section("Next?", accessory=menu)])

    ana.chooses("step", "Skip")

    eventually(lambda: bool(seen))
    assert seen == ["s2"]
    with pytest.raises(NotShown, match="Collect evidence"):
        ana.chooses("step", "Explode")


def test_waiting_ends_with_what_is_there(client: WebClient, ana: Actor) -> None:
    """The error after the deadline shows the last messages."""
    client.chat_postMessage(channel=ONCALL, text="still at it")

    with pytest.raises(NotShown, match="still at it"):
        ana.waits_for("done", timeout=0.2)


def test_a_message_after_another_is_awaited(client: WebClient, ana: Actor) -> None:
    """`after` passes over what was there before."""
    client.chat_postMessage(channel=ONCALL, text="step")
    first = ana.waits_for("step")
    client.chat_postMessage(channel=ONCALL, text="step again")

    assert ana.waits_for("step", after=first).plain == "step again"
    assert ana.waits_for(lambda message: message.plain == "step").plain == "step"


def test_text_is_read_as_it_is_shown(client: WebClient, ana: Actor) -> None:
    """Names, links, dates and entities read as on the screen; styles are gone, code is kept as it is."""
    text = "*Bold* _it_ `a_b_c` <@U0BEN00002> <#C0GENERAL4> <!here> <https://example.com|link> &lt;b&gt; &amp;lt;"

    client.chat_postMessage(channel=ONCALL, text=text)

    assert ana.last_message().plain == "Bold it a_b_c @Ben Okafor #general @here link <b> &lt;"


def test_what_a_person_types_is_escaped_and_marked(ws: Workspace, ana: Actor) -> None:
    """Slack's client escapes three characters and turns names into marks; it never lets a person inject marks."""
    said = ana.says("<!channel> @ben a&b #general @nobody ana@ben.example")

    assert said.text == "&lt;!channel&gt; <@U0BEN00002> a&amp;b <#C0GENERAL4> @nobody ana@ben.example"


@pytest.mark.parametrize(
    ("who", "text", "where", "code"),
    [
        ("ana", "/unknown x", {"channel": "orders-oncall"}, "unknown_command"),
        ("dana", "hello", {"channel": "orders-oncall"}, "not_in_channel"),
        ("ana", "hello", {"channel": "nowhere"}, "channel_not_found"),
        ("ana", "   ", {"channel": "orders-oncall"}, "no_text"),
    ],
)
def test_what_slack_s_client_would_not_do_is_refused(
    ws: Workspace, who: str, text: str, where: dict[str, str], code: str
) -> None:
    """Unknown commands, other people's channels and empty messages never leave the composer."""
    with pytest.raises(CannotDo) as refused:
        ws.person(who).types(text, **where)

    assert refused.value.code == code


def test_a_command_does_not_work_in_a_thread(ana: Actor) -> None:
    """Slack refuses slash commands in threads."""
    root = ana.says("root")

    with pytest.raises(CannotDo, match="not supported in threads"):
        ana.types("/waterline status", thread_ts=root.ts)


def test_someone_outside_a_channel_counts_nothing_unread(ws: Workspace, client: WebClient, ben: Actor) -> None:
    """An update in place is no new message; a reply in a thread neither."""
    ts = client.chat_postMessage(channel=ONCALL, text="one")["ts"]
    client.chat_update(channel=ONCALL, ts=ts, text="one, corrected")
    client.chat_postMessage(channel=ONCALL, text="reply", thread_ts=ts)

    unread = ws.world.conversations.unread(ONCALL, ben.id)

    assert unread == 1
