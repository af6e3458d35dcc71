"""A person submits or closes a modal, and the app answers with errors, an update, a push or a clear."""

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict

from bot.workspace.api.call import Call
from bot.workspace.api.chat import content_of
from bot.workspace.api.views import checked_view
from bot.workspace.deliveries import Ack, Delivery
from bot.workspace.people import Act, CannotDo, Payload, Person, SlackRefusal
from bot.workspace.views import OpenView
from bot.workspace.world import StoredMessage, World

Raw = str | list[str] | None
RawValues = dict[str, dict[str, Raw]]

_SINGLE = {
    "users_select": ("selected_user", "initial_user"),
    "datepicker": ("selected_date", "initial_date"),
    "plain_text_input": ("value", "initial_value"),
}
STATEFUL = frozenset(_SINGLE) | {"static_select", "checkboxes"}


def elements_of(block: Payload) -> Iterator[Payload]:
    if block["type"] == "actions":
        yield from block["elements"]
    elif block["type"] == "input":
        yield block["element"]
    elif isinstance(block.get("accessory"), dict):
        yield block["accessory"]


def chosen(element: Payload, raw: Raw) -> Payload:
    """The value of an element as interaction payloads carry it; raises CannotDo for what is not offered."""
    kind = element["type"]
    if kind in _SINGLE:
        return {_SINGLE[kind][0]: raw or None}
    values = raw if isinstance(raw, list) else ([raw] if raw else [])
    options = [_option(element, value) for value in values]
    if kind == "checkboxes":
        return {"selected_options": options}
    return {"selected_option": options[0] if options else None}


def initial(element: Payload) -> Payload:
    kind = element["type"]
    if kind in _SINGLE:
        return {_SINGLE[kind][0]: element.get(_SINGLE[kind][1])}
    if kind == "checkboxes":
        return {"selected_options": element.get("initial_options") or []}
    return {"selected_option": element.get("initial_option")}


def state_of(blocks: Iterable[Payload], given: RawValues) -> Payload:
    """`state.values` of a message or view: by block id and action id, what was given or else what was initial."""
    values: Payload = {}
    for block in blocks:
        for element in elements_of(block):
            if element["type"] not in STATEFUL:
                continue
            raw = given.get(block["block_id"], {})
            action_id = element["action_id"]
            value = chosen(element, raw[action_id]) if action_id in raw else initial(element)
            values.setdefault(block["block_id"], {})[action_id] = {"type": element["type"], **value}
    return values


def missing(blocks: Iterable[Payload], values: Payload) -> dict[str, str]:
    """What Slack's client itself objects to before anything is sent, by block id."""
    errors: dict[str, str] = {}
    for block in blocks:
        if block["type"] != "input":
            continue
        element = block["element"]
        state = values[block["block_id"]][element["action_id"]]
        value = next((v for k, v in state.items() if k != "type"), None)
        if not value:
            if not block.get("optional"):
                errors[block["block_id"]] = "Please complete this required field."
        elif isinstance(value, str) and len(value) > element.get("max_length", 3000):
            errors[block["block_id"]] = f"Must be at most {element.get('max_length', 3000)} characters."
    return errors


def _option(element: Payload, value: str) -> Payload:
    options: list[Payload] = element["options"]
    for option in options:
        if option.get("value") == value:
            return option
    offered = ", ".join(repr(option.get("value")) for option in options)
    raise CannotDo("no_such_option", f"{value!r} is not offered. Offered: {offered}. Choose one of these.")


PersonOutcome = Literal["done", "acked", "timed-out", "unreachable", "refused", "invalid", "cancelled"]


class Outcome(BaseModel):
    """What the person's client knows after an act: whether the app acknowledged, how fast, what it objected to."""

    model_config = ConfigDict(frozen=True)

    outcome: PersonOutcome
    took_ms: float = 0.0
    errors: dict[str, str] = {}
    ts: str | None = None

    @classmethod
    def of(cls, ack: Ack) -> "Outcome":
        """The outcome of a delivery."""
        return cls(outcome=ack.outcome, took_ms=ack.took_ms)


class Submitted(Act):
    """A modal with what was filled in."""

    view_id: str
    values: RawValues = {}


class Closed(Act):
    """A modal that is given up."""

    view_id: str


async def submit(world: World, person: Person, submitted: Submitted) -> Outcome:
    """Deliver a submission; what the client itself finds missing is answered without asking the app."""
    view = _open_view(world, person, submitted.view_id)
    state = state_of(view.given["blocks"], submitted.values)
    if errors := missing(view.given["blocks"], state):
        return Outcome(outcome="invalid", errors=errors)
    payload = {
        "type": "view_submission",
        **by_person(world, person),
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


async def close(world: World, person: Person, closed: Closed) -> Outcome:
    """Close a modal."""
    view = _open_view(world, person, closed.view_id)
    world.views.close(person.id, view)
    return Outcome(outcome="done")


def _apply(world: World, person: Person, view: OpenView, answer: Payload) -> dict[str, str]:
    match answer.get("response_action"):
        case None:
            world.views.close(person.id, view)
        case "update":
            given = checked_view(answer.get("view"), "modal")
            if (current := world.views.find(view.id)) is not None:
                world.views.update(current, given)
        case "push":
            world.views.push(person.id, checked_view(answer.get("view"), "modal"))
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


def by_person(world: World, person: Person) -> Payload:
    """What every interaction says of whoever acts, with a trigger of its own."""
    return {
        "team": world.team(),
        "user": world.user(person.id),
        "api_app_id": world.cast.app.app_id,
        "token": "verification-token-is-unused",
        "is_enterprise_install": False,
        "enterprise": None,
        "trigger_id": world.handles.new_trigger(person.id),
    }


def answer_command(world: World, person: Person, channel: str, ack_payload: Payload | None) -> None:
    """Post what an acknowledgement of a slash command carries, if anything, for this person alone."""
    if not ack_payload or not any(ack_payload.get(key) for key in ("text", "blocks")):
        return
    try:
        content = content_of(Call("answer of a slash command", None, ack_payload), text_limit=40_000)
    except SlackRefusal as refusal:
        world.wire.add("ack", "answer of a slash command", error=refusal.code, answered=refusal.body())
        return
    world.conversations.add(
        StoredMessage(
            channel=channel,
            ts=world.conversations.next_ts(),
            user=world.cast.app.user_id,
            bot_id=world.cast.app.bot_id,
            text=content.text,
            blocks=content.blocks,
            ephemeral_to=person.id,
        )
    )


def slackbot_says(world: World, person: str, channel: str, text: str) -> None:
    """What Slack itself tells a person, only visible to them."""
    world.conversations.add(
        StoredMessage(
            channel=channel,
            ts=world.conversations.next_ts(),
            user="USLACKBOT",
            text=text,
            ephemeral_to=person,
        )
    )
