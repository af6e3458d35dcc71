"""A person submits or closes a modal, and the app answers with errors, an update, a push or a clear."""

from bot.workspace.api.views import checked_view
from bot.workspace.delivery import Delivery
from bot.workspace.payload import Payload
from bot.workspace.people import Person
from bot.workspace.persons.forms import RawValues, missing, state_of
from bot.workspace.persons.outcome import Outcome
from bot.workspace.refusal import CannotDo, SlackRefusal
from bot.workspace.views import OpenView
from bot.workspace.world import World


async def submit(world: World, person: Person, view_id: str, values: RawValues) -> Outcome:
    """Deliver a submission; what the client itself finds missing is answered without asking the app."""
    view = _open_view(world, person, view_id)
    state = state_of(view.given["blocks"], values)
    if errors := missing(view.given["blocks"], state):
        return Outcome(outcome="invalid", errors=errors)
    payload = {
        "type": "view_submission",
        **_who(world, person),
        "trigger_id": world.handles.new_trigger(person.id),
        "view": view.on_the_wire(world.cast, state),
        "response_urls": [],
    }
    ack = await world.deliveries.send(Delivery(kind="interactive", payload=payload))
    if not ack.in_time:
        return Outcome.of(ack)
    try:
        errors = _apply(world, person, view, ack.payload or {})
    except SlackRefusal as refusal:
        world.wire.add("ack", "answer of a submission", error=refusal.code, answered=refusal.body())
        return Outcome(outcome="refused", took_ms=ack.took_ms)
    return Outcome(outcome="invalid" if errors else "acked", took_ms=ack.took_ms, errors=errors)


async def close(world: World, person: Person, view_id: str, *, whole_stack: bool = False) -> Outcome:
    """Close a modal; the app hears of it when the view asked for that."""
    view = _open_view(world, person, view_id)
    world.views.close(person.id, None if whole_stack else view)
    if not view.given.get("notify_on_close"):
        return Outcome(outcome="done")
    payload = {
        "type": "view_closed",
        **_who(world, person),
        "view": view.on_the_wire(world.cast),
        "is_cleared": whole_stack,
    }
    return Outcome.of(await world.deliveries.send(Delivery(kind="interactive", payload=payload)))


def _apply(world: World, person: Person, view: OpenView, answer: Payload) -> dict[str, str]:
    match answer.get("response_action"):
        case None:
            world.views.close(person.id, view)
        case "clear":
            world.views.close(person.id)
        case "update":
            given = checked_view(answer.get("view"), "modal")
            if (current := world.views.find(view.id)) is not None:
                world.views.update(current, given, None)
        case "push":
            world.views.push(person.id, checked_view(answer.get("view"), "modal"), world.rules.modal_depth)
        case "errors":
            return _errors(view, answer.get("errors"))
        case unknown:
            raise SlackRefusal("invalid_arguments", [f"unknown response_action: {unknown}"])
    return {}


def _errors(view: OpenView, given: object) -> dict[str, str]:
    inputs = {block["block_id"] for block in view.given["blocks"] if block["type"] == "input"}
    if not isinstance(given, dict) or not given:
        raise SlackRefusal("invalid_arguments", ["response_action errors needs errors by block_id"])
    if strangers := sorted(set(given) - inputs):
        raise SlackRefusal("invalid_arguments", [f"no input block has the id {stranger}" for stranger in strangers])
    return {str(block_id): str(text) for block_id, text in given.items()}


def _open_view(world: World, person: Person, view_id: str) -> OpenView:
    stack = world.views.stack(person.id)
    if not stack or stack[-1].id != view_id:
        raise CannotDo("not_found", f"{person.display_name} has no modal {view_id} on top. Open it again.")
    return stack[-1]


def _who(world: World, person: Person) -> Payload:
    return {
        "team": world.team(),
        "user": world.user(person.id),
        "api_app_id": world.cast.app.app_id,
        "token": "verification-token-is-unused",
        "is_enterprise_install": False,
        "enterprise": None,
    }
