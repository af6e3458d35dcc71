"""What a person fills in reaches the app whole, and its answer decides what stays open."""

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from slack_bolt import App
from slack_sdk import WebClient

from bot.workspace import Actor, Workspace
from tests.workspace.blocks import actions, button, modal, option, plain, select, text_field
from tests.workspace.conftest import eventually
from tests.workspace.triggered import triggers

__all__ = ["triggers"]

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
    assert outcome.errors == {"what": "Must be at least 3 characters.", "table": "Please complete this required field."}
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

    eventually(lambda: bool(seen) and bool(ws.wire("delivery", "view_closed")))
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
