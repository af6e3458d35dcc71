"""Modals: triggers, stacks, hashes, and the four answers to a submission."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from slack_bolt import App
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.workspace import Actor, NotShown, Workspace
from tests.workspace.blocks import Block, actions, button, modal, option, plain, section, select, text_field
from tests.workspace.conftest import Connect, eventually

Opened = Callable[..., str]


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


def code(call: Any, **arguments: Any) -> str:
    """The error code of a refused call."""
    with pytest.raises(SlackApiError) as refused:
        call(**arguments)
    return str(refused.value.response["error"])


def test_a_trigger_opens_one_modal(client: WebClient, triggers: Callable[[], str], ana: Actor) -> None:
    """Used twice it is exchanged; unknown it is invalid."""
    trigger = triggers()

    client.views_open(trigger_id=trigger, view=modal("One"))

    assert ana.modal.title == "One"
    assert code(client.views_open, trigger_id=trigger, view=modal("Two")) == "exchanged_trigger_id"
    assert code(client.views_open, trigger_id="1.2.3", view=modal("Two")) == "invalid_trigger_id"


def test_a_trigger_lives_three_seconds(ws: Workspace, client: WebClient, triggers: Callable[[], str]) -> None:
    """Slow work before views.open costs the modal."""
    in_time, too_late = triggers(), triggers()

    ws.faults.time_passes(timedelta(seconds=2))
    client.views_open(trigger_id=in_time, view=modal("In time"))
    ws.faults.time_passes(timedelta(seconds=1.5))

    assert code(client.views_open, trigger_id=too_late, view=modal("Late")) == "expired_trigger_id"


def test_a_view_changes_only_from_what_was_seen(client: WebClient, triggers: Callable[[], str], ana: Actor) -> None:
    """An update with an old hash is a conflict and changes nothing."""
    view = client.views_open(trigger_id=triggers(), view=modal("One"))["view"]
    client.views_update(view_id=view["id"], hash=view["hash"], view=modal("Two"))

    conflict = code(client.views_update, view_id=view["id"], hash=view["hash"], view=modal("Three"))

    assert conflict == "hash_conflict"
    assert ana.modal.title == "Two"
    assert code(client.views_update, view_id="V0GONE", view=modal("Four")) == "not_found"


def test_three_modals_are_the_most(client: WebClient, triggers: Callable[[], str], ana: Actor) -> None:
    """The fourth push is refused; closing one shows the one below."""
    client.views_open(trigger_id=triggers(), view=modal("One"))
    client.views_push(trigger_id=triggers(), view=modal("Two"))
    client.views_push(trigger_id=triggers(), view=modal("Three"))

    assert code(client.views_push, trigger_id=triggers(), view=modal("Four")) == "push_limit_reached"
    ana.dismisses()
    assert ana.modal.title == "Two"


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
    inside = code(client.views_open, trigger_id="unknown", view=make(most))

    with pytest.raises(SlackApiError) as refused:
        client.views_open(trigger_id="unknown", view=make(most + 1))

    assert inside == "invalid_trigger_id"
    assert refused.value.response["error"] == "invalid_arguments"
    assert f"[json-pointer:{place}]" in refused.value.response["response_metadata"]["messages"][0]


def test_inputs_need_a_submit_button(client: WebClient) -> None:
    """Without one nobody could send what they filled in."""
    view = {"type": "modal", "title": plain("T"), "blocks": [text_field("L", "b")]}

    assert code(client.views_open, trigger_id="unknown", view=view) == "invalid_arguments"


FORM = modal(
    "Open",
    text_field("What", "what", min_length=3),
    {
        "type": "input",
        "block_id": "table",
        "label": plain("Table"),
        "element": select("pick", option("Orders", "t-1"), option("Payments", "t-2")),
    },
    {
        "type": "input",
        "block_id": "lead",
        "label": plain("Lead"),
        "optional": True,
        "element": {"type": "users_select", "action_id": "who"},
    },
    {
        "type": "input",
        "block_id": "tell",
        "label": plain("Tell"),
        "optional": True,
        "element": {
            "type": "checkboxes",
            "action_id": "whom",
            "options": [option("Revenue", "r"), option("Fraud", "f")],
        },
    },
    {
        "type": "input",
        "block_id": "since",
        "label": plain("Since"),
        "optional": True,
        "element": {"type": "datepicker", "action_id": "day", "initial_date": "2026-11-01"},
    },
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
    """Required and too short fields never reach the app."""
    client.views_open(trigger_id=triggers(), view=FORM)

    outcome = ana.fills({"What": "ab", "Since": date(2026, 11, 2)}).submits()

    assert outcome.outcome == "invalid"
    assert outcome.errors == {
        "what": "Must be at least 3 characters.",
        "table": "Please complete this required field.",
    }
    assert ws.wire("delivery", "view_submission") == ()


ANSWERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "errors": ({"response_action": "errors", "errors": {"what": "No."}}, ["One", "Two"]),
    "update": ({"response_action": "update", "view": modal("Next")}, ["One", "Next"]),
    "push": ({"response_action": "push", "view": modal("Next")}, ["One", "Two", "Next"]),
    "clear": ({"response_action": "clear"}, []),
    "nothing": ({}, ["One"]),
}


@pytest.mark.parametrize(("answer", "left"), ANSWERS.values(), ids=ANSWERS.keys())
def test_a_submission_is_answered_in_five_ways(
    app: App, client: WebClient, triggers: Callable[[], str], ana: Actor, answer: dict[str, Any], left: list[str]
) -> None:
    """Errors stay, update replaces, push adds, clear closes all, and nothing closes one."""

    @app.view("two")
    def submitted(ack: Any) -> None:
        ack(**answer)

    client.views_open(trigger_id=triggers(), view=modal("One"))
    client.views_push(trigger_id=triggers(), view=modal("Two", text_field("What", "what"), callback_id="two"))

    outcome = ana.fills({"What": "x"}).submits()

    titles = []
    while ana.has_modal:
        titles.append(ana.modal.title)
        ana.dismisses()
    assert left == titles[::-1]
    assert outcome.errors == answer.get("errors", {})


def test_closing_is_told_when_asked_for(
    ws: Workspace, app: App, client: WebClient, triggers: Callable[[], str], ana: Actor
) -> None:
    """view_closed arrives for a view with notify_on_close, and says whether all were closed."""
    seen: list[bool] = []

    @app.view_closed("told")
    def closed(ack: Any, body: Any) -> None:
        ack()
        seen.append(body["is_cleared"])

    client.views_open(trigger_id=triggers(), view=modal("Quiet"))
    ana.dismisses()
    client.views_open(trigger_id=triggers(), view=modal("Told", callback_id="told", notify_on_close=True))
    ana.dismisses(whole_stack=True)

    eventually(lambda: bool(seen))
    assert seen == [True]
    assert len(ws.wire("delivery", "view_closed")) == 1


def test_a_click_in_a_modal_carries_the_form(
    app: App, client: WebClient, triggers: Callable[[], str], ana: Actor
) -> None:
    """Buttons in a modal see what is filled in so far, and belong to the view."""
    seen: list[dict[str, Any]] = []

    @app.action("check")
    def check(ack: Any, body: Any) -> None:
        ack()
        seen.append(body)

    view = modal("Form", text_field("What", "what"), actions(button("Check", "check")))
    client.views_open(trigger_id=triggers(), view=view)

    ana.fills({"What": "draft"}).clicks("Check")

    eventually(lambda: bool(seen))
    assert seen[0]["container"] == {"type": "view", "view_id": ana.modal.id}
    assert seen[0]["view"]["state"]["values"]["what"]["value"]["value"] == "draft"


def test_the_home_is_published_per_person(client: WebClient, ana: Actor, ben: Actor) -> None:
    """Each person has a Home of their own; a stale hash is a conflict."""
    home = {"type": "home", "blocks": [section("Ana's tables")]}

    first = client.views_publish(user_id=ana.id, view=home)["view"]
    client.views_publish(user_id=ana.id, view=home, hash=first["hash"])

    assert ana.home(within_s=0.1).plain == "Ana's tables"
    assert code(client.views_publish, user_id=ana.id, view=home, hash=first["hash"]) == "hash_conflict"
    with pytest.raises(NotShown, match="no Home"):
        ben.home(within_s=0.1)
