"""Modals: triggers, stacks, hashes, limits, and the Home."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.workspace import Actor, NotShown, Rules, Workspace
from tests.workspace.blocks import Block, modal, plain, section, text_field
from tests.workspace.triggered import code, triggers

__all__ = ["triggers"]


def test_a_trigger_opens_one_modal(client: WebClient, triggers: Callable[[], str], ana: Actor) -> None:
    """Used twice it is exchanged; unknown it is invalid."""
    trigger = triggers()

    client.views_open(trigger_id=trigger, view=modal("One"))

    assert ana.modal.title == "One"
    assert code(client.views_open, trigger_id=trigger, view=modal("Two")) == "exchanged_trigger_id"
    assert code(client.views_open, trigger_id="1.2.3", view=modal("Two")) == "invalid_trigger_id"


def test_a_trigger_lives_three_seconds(ws: Workspace, client: WebClient, triggers: Callable[[], str]) -> None:
    """Slow work before views.open costs the modal. Here they are an hour: how slow the test is does not count."""
    ws.faults.sets_rules(trigger_s=3600)
    in_time, too_late = triggers(), triggers()

    ws.faults.time_passes(timedelta(minutes=40))
    client.views_open(trigger_id=in_time, view=modal("In time"))
    ws.faults.time_passes(timedelta(minutes=30))

    assert 3 == Rules().trigger_s
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


def test_the_home_is_published_per_person(client: WebClient, ana: Actor, ben: Actor) -> None:
    """Each person has a Home of their own; a stale hash is a conflict."""
    home = {"type": "home", "blocks": [section("Ana's tables")]}

    first = client.views_publish(user_id=ana.id, view=home)["view"]
    client.views_publish(user_id=ana.id, view=home, hash=first["hash"])

    assert ana.home(within_s=0.1).plain == "Ana's tables"
    assert code(client.views_publish, user_id=ana.id, view=home, hash=first["hash"]) == "hash_conflict"
    with pytest.raises(NotShown, match="no Home"):
        ben.home(within_s=0.1)
