"""views.open, update and publish."""

from bot.workspace.api.call import Call, Method
from bot.workspace.api.chat import named
from bot.workspace.blocks import check_view
from bot.workspace.people import Payload, SlackRefusal
from bot.workspace.views import OpenView
from bot.workspace.world import World


def open_modal(world: World, call: Call) -> Payload:
    view = checked_view(call.parsed("view", "invalid_arguments"), "modal")
    external_id = view.get("external_id")
    if external_id and world.views.find(None, external_id):
        raise SlackRefusal("duplicate_external_id")
    person = world.handles.redeem_trigger(call.required("trigger_id"), world.rules)
    return _answer(world, world.views.open(person, view))


def update(world: World, call: Call) -> Payload:
    """Replace an open modal or Home."""
    existing = world.views.find(call.text("view_id") or None, call.text("external_id") or None)
    given = call.parsed("view", "invalid_arguments")
    if existing is None:
        raise SlackRefusal("not_found")
    view = checked_view(given, str(existing.given["type"]))
    return _answer(world, world.views.update(existing, view))


def publish(world: World, call: Call) -> Payload:
    """Show a person's App Home."""
    person = call.required("user_id")
    if person not in world.directory.people:
        raise SlackRefusal("user_not_found")
    view = checked_view(call.parsed("view", "invalid_arguments"), "home")
    return _answer(world, world.views.publish(person, view))


def checked_view(given: object, kind: str) -> Payload:
    view = check_view(given, kind=kind)
    return {**view, "blocks": list(named(view["blocks"]))}


def _answer(world: World, view: OpenView) -> Payload:
    return {"view": view.on_the_wire(world.cast)}


VIEWS = {
    "views.open": Method(open_modal),
    "views.update": Method(update),
    "views.publish": Method(publish),
}
