"""People at their screens: messages, modals, and what they submit."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from slack_bolt import App
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.workspace import Actor, CannotDo, NotShown, Rules, Workspace
from tests.workspace.asking import ONCALL, clicked, refusal
from tests.workspace.blocks import (
    Block,
    actions,
    button,
    confirm,
    field,
    modal,
    option,
    plain,
    section,
    select,
    text_field,
)
from tests.workspace.conftest import Connect, eventually


@pytest.fixture
def triggers(app: App, connect: Connect, ana: Actor) -> Callable[[], str]:
    """A fresh trigger of Ana's, each time it is called."""
    seen: list[str] = []

    @app.command("/waterline")
    def command(ack: Any, body: Any) -> None:
        ack()
        seen.append(body["trigger_id"])

    connect()

    def fresh() -> str:
        before = len(seen)
        ana.types("/waterline open")
        eventually(lambda: len(seen) > before)
        return seen[-1]

    return fresh


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
    seen = clicked(app, "go")
    connect()
    row = [actions(button("Go", "go"))]
    older = client.chat_postMessage(channel=ONCALL, text="x", blocks=row)["ts"]
    newer = client.chat_postMessage(channel=ONCALL, text="x", blocks=row, thread_ts=older)["ts"]

    ana.clicks("Go")
    eventually(lambda: len(seen) == 1)
    ana.clicks("Go", in_=ana.messages()[0])
    eventually(lambda: len(seen) == 2)

    assert [newer, older] == [body["container"]["message_ts"] for body in seen]


def test_a_click_on_an_old_screen_still_arrives(app: App, client: WebClient, connect: Connect, ben: Actor) -> None:
    """Ben clicks what he has on his screen while the message has just been updated."""
    seen = clicked(app, "approve")
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


def test_a_trigger_opens_one_modal(client: WebClient, triggers: Callable[[], str], ana: Actor) -> None:
    """Used twice it is exchanged; unknown it is invalid."""
    trigger = triggers()

    client.views_open(trigger_id=trigger, view=modal("One"))

    assert ana.modal.title == "One"
    assert refusal(client.views_open, trigger_id=trigger, view=modal("Two")) == "exchanged_trigger_id"
    assert refusal(client.views_open, trigger_id="1.2.3", view=modal("Two")) == "invalid_trigger_id"


def test_a_trigger_lives_three_seconds(ws: Workspace, client: WebClient, triggers: Callable[[], str]) -> None:
    """Slow work before views.open costs the modal. Here they are an hour: how slow the test is does not count."""
    ws.faults.sets_rules(trigger_s=3600)
    in_time, too_late = triggers(), triggers()

    ws.faults.time_passes(timedelta(minutes=40))
    client.views_open(trigger_id=in_time, view=modal("In time"))
    ws.faults.time_passes(timedelta(minutes=30))

    assert 3 == Rules().trigger_s
    assert refusal(client.views_open, trigger_id=too_late, view=modal("Late")) == "expired_trigger_id"


def test_a_view_that_is_gone_cannot_be_changed(client: WebClient, triggers: Callable[[], str], ana: Actor) -> None:
    """An update shows in the place of what was open."""
    view = client.views_open(trigger_id=triggers(), view=modal("One"))["view"]

    client.views_update(view_id=view["id"], view=modal("Two"))

    assert ana.modal.title == "Two"
    assert refusal(client.views_update, view_id="V0GONE", view=modal("Four")) == "not_found"


LIMITS: list[tuple[str, Callable[[int], Block], int, str]] = [
    ("title", lambda n: modal("x" * n), 24, "/view/title/text"),
    ("submit", lambda n: modal("T", submit=plain("x" * n)), 24, "/view/submit/text"),
    ("close", lambda n: modal("T", close=plain("x" * n)), 24, "/view/close/text"),
    ("private_metadata", lambda n: modal("T", private_metadata="x" * n), 3000, "/view/private_metadata"),
    ("callback_id", lambda n: modal("T", callback_id="x" * n), 255, "/view/callback_id"),
    ("blocks", lambda n: modal("T", *[{"type": "divider"}] * n), 100, "/view/blocks"),
    (
        "placeholder",
        lambda n: modal("T", text_field("L", "b", placeholder=plain("x" * n))),
        150,
        "/view/blocks/0/element/placeholder/text",
    ),
]


@pytest.mark.parametrize(("make", "most", "place"), [row[1:] for row in LIMITS], ids=[row[0] for row in LIMITS])
def test_views_have_limits(
    ws: Workspace, client: WebClient, make: Callable[[int], Block], most: int, place: str
) -> None:
    """The maximum passes the checks, one more is invalid_arguments with its place."""
    inside = refusal(client.views_open, trigger_id="unknown", view=make(most))

    with pytest.raises(SlackApiError) as refused:
        client.views_open(trigger_id="unknown", view=make(most + 1))

    assert inside == "invalid_trigger_id"
    assert refused.value.response["error"] == "invalid_arguments"
    assert f"[json-pointer:{place}]" in refused.value.response["response_metadata"]["messages"][0]


def test_inputs_need_a_submit_button(client: WebClient) -> None:
    """Without one nobody could send what they filled in."""
    view = {"type": "modal", "title": plain("T"), "blocks": [text_field("L", "b")]}

    assert refusal(client.views_open, trigger_id="unknown", view=view) == "invalid_arguments"


def test_the_home_is_published_per_person(client: WebClient, ana: Actor, ben: Actor) -> None:
    """Each person has a Home of their own."""
    home = {"type": "home", "blocks": [section("Ana's tables")]}

    client.views_publish(user_id=ana.id, view=home)

    assert ana.home(within_s=0.1).plain == "Ana's tables"
    with pytest.raises(NotShown, match="no Home"):
        ben.home(within_s=0.1)


FORM = modal(
    "Open",
    text_field("What", "what", max_length=10),
    field("Table", "table", select("pick", option("Orders", "t-1"), option("Payments", "t-2"))),
    field("Lead", "lead", {"type": "users_select", "action_id": "who"}, optional=True),
    field(
        "Tell",
        "tell",
        {"type": "checkboxes", "action_id": "whom", "options": [option("Revenue", "r"), option("Fraud", "f")]},
        optional=True,
    ),
    field("Since", "since", {"type": "datepicker", "action_id": "day", "initial_date": "2026-11-01"}, optional=True),
    callback_id="form",
)


def test_a_filled_form_arrives_as_state(app: App, client: WebClient, triggers: Callable[[], str], ana: Actor) -> None:
    """Options arrive whole, people as ids, what nobody touched with its initial value."""
    seen: list[dict[str, Any]] = []

    @app.view("form")
    def submitted(ack: Any, view: Any) -> None:
        ack()
        seen.append(view["state"]["values"])

    client.views_open(trigger_id=triggers(), view=FORM)

    outcome = ana.fills({"What": "twice", "Table": "Payments", "Lead": "ben", "Tell": ["Fraud"]}).submits()

    eventually(lambda: bool(seen))
    assert outcome.outcome == "acked"
    assert not ana.has_modal
    values = seen[0]
    assert values["what"]["value"]["value"] == "twice"
    assert values["table"]["pick"]["selected_option"] == option("Payments", "t-2")
    assert values["lead"]["who"]["selected_user"] == "U0BEN00002"
    assert [option("Fraud", "f")] == values["tell"]["whom"]["selected_options"]
    assert values["since"]["day"]["selected_date"] == "2026-11-01"


def test_the_client_itself_asks_for_what_is_missing(
    ws: Workspace, client: WebClient, triggers: Callable[[], str], ana: Actor
) -> None:
    """Required and too long fields never reach the app."""
    client.views_open(trigger_id=triggers(), view=FORM)

    outcome = ana.fills({"What": "more than ten", "Since": date(2026, 11, 2)}).submits()

    assert outcome.outcome == "invalid"
    assert outcome.errors == {"what": "Must be at most 10 characters.", "table": "Please complete this required field."}
    assert ws.wire("delivery", "view_submission") == ()


ANSWERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "errors": ({"response_action": "errors", "errors": {"what": "No."}}, ["One"]),
    "update": ({"response_action": "update", "view": modal("Next")}, ["Next"]),
    "push": ({"response_action": "push", "view": modal("Next")}, ["One", "Next"]),
    "nothing": ({}, []),
}


@pytest.mark.parametrize(("answer", "left"), ANSWERS.values(), ids=ANSWERS.keys())
def test_a_submission_is_answered_in_four_ways(
    app: App, client: WebClient, triggers: Callable[[], str], ana: Actor, answer: dict[str, Any], left: list[str]
) -> None:
    """Errors stay, update replaces, push adds, and nothing closes it."""

    @app.view("one")
    def submitted(ack: Any) -> None:
        ack(**answer)

    client.views_open(trigger_id=triggers(), view=modal("One", text_field("What", "what"), callback_id="one"))

    outcome = ana.fills({"What": "x"}).submits()

    titles = []
    while ana.has_modal:
        titles.append(ana.modal.title)
        ana.dismisses()
    assert left == titles[::-1]
    assert outcome.errors == answer.get("errors", {})


def test_a_click_in_a_modal_carries_the_form(
    app: App, client: WebClient, triggers: Callable[[], str], ana: Actor
) -> None:
    """Buttons in a modal see what is filled in so far, and belong to the view."""
    seen = clicked(app, "check")
    view = modal("Form", text_field("What", "what"), actions(button("Check", "check")))
    client.views_open(trigger_id=triggers(), view=view)

    ana.fills({"What": "draft"}).clicks("Check")

    eventually(lambda: bool(seen))
    assert seen[0]["container"] == {"type": "view", "view_id": ana.modal.id}
    assert seen[0]["view"]["state"]["values"]["what"]["value"]["value"] == "draft"
