"""A person clicks a button or chooses in a menu, in a message, a modal or the Home."""

import asyncio

from bot.workspace.deliveries import Delivery
from bot.workspace.people import Act, CannotDo, Payload, Person
from bot.workspace.persons.modals import Outcome, RawValues, by_person, elements_of, state_of
from bot.workspace.views import OpenView
from bot.workspace.world import StoredMessage, World


class Click(Act):
    """Where a person clicked, and what they had on the screen."""

    block_id: str
    action_id: str
    channel: str | None = None
    ts: str | None = None
    rev: int | None = None
    view_id: str | None = None
    values: RawValues = {}


class Chosen(Act):
    """A shortcut of a message."""

    callback_id: str
    channel: str
    ts: str


async def choose_shortcut(world: World, person: Person, chosen: Chosen) -> Outcome:
    """Deliver a message shortcut, as `message_action`. Slack offers none on what only one person sees."""
    known = {shortcut.callback_id for shortcut in world.cast.app.shortcuts if not person.team_id}
    message = _message(world, person, chosen.channel, chosen.ts)
    if chosen.callback_id not in known or message.ephemeral_to is not None:
        raise CannotDo("not_rendered", f"There is no shortcut {chosen.callback_id!r} on this message. Look again.")
    place = _in_message(world, message)
    payload = {
        "type": "message_action",
        "callback_id": chosen.callback_id,
        **by_person(world, person),
        "action_ts": world.conversations.next_ts(),
        "message_ts": message.ts,
        **{key: place[key] for key in ("channel", "message", "response_url")},
    }
    return Outcome.of(await world.deliveries.send(Delivery(kind="interactive", payload=payload)))


async def click(world: World, person: Person, at: Click) -> Outcome:
    """Deliver a click; as two clicks, each with its own trigger, when that fault is armed."""
    deliveries = [_delivery(world, person, at)]
    if world.faults.take("double-click"):
        deliveries.append(_delivery(world, person, at))
    acks = await asyncio.gather(*(world.deliveries.send(delivery) for delivery in deliveries))
    return Outcome.of(acks[0])


def _delivery(world: World, person: Person, at: Click) -> Delivery:
    if at.view_id is not None:
        view = _view(world, person, at.view_id)
        place = _in_view(world, view, at)
        blocks = view.given["blocks"]
    else:
        message = _message(world, person, at.channel, at.ts, at.rev)
        place = _in_message(world, message)
        blocks = list(message.blocks)
    element = _element(blocks, at)
    payload = {"type": "block_actions", **by_person(world, person), **place, "actions": [_action(world, element, at)]}
    return Delivery(kind="interactive", payload=payload)


def _message(
    world: World, person: Person, channel_ref: str | None, ts: str | None, rev: int | None = None
) -> StoredMessage:
    channel = world.directory.channel(channel_ref or "")
    if person.id not in channel.members and channel.is_private:
        raise CannotDo("channel_not_found", f"{person.display_name} cannot see #{channel.name}, so cannot click there.")
    newest = world.conversations.find(channel.id, ts or "")
    shown = newest if rev is None else world.conversations.revision(channel.id, ts or "", rev)
    if newest is None or shown is None or not newest.seen_by(person.id):
        raise CannotDo(
            "message_not_found",
            f"The message {ts} is not shown to {person.display_name} in #{channel.name} (any more). "
            "Click in a message that is.",
        )
    return shown


def _view(world: World, person: Person, view_id: str) -> OpenView:
    view = world.views.find(view_id)
    if view is None or view.person != person.id:
        raise CannotDo("not_found", f"{person.display_name} has no view {view_id} open (any more). Open it again.")
    return view


def _in_message(world: World, message: StoredMessage) -> Payload:
    container = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel,
        "is_ephemeral": message.ephemeral_to is not None,
    }
    if message.thread_ts:
        container["thread_ts"] = message.thread_ts
    channel = world.directory.channels[message.channel]
    name = "directmessage" if channel.is_im else channel.name
    place: Payload = {
        "container": container,
        "channel": {"id": channel.id, "name": name},
        "state": {"values": {}},
        "response_url": world.response_url(),
    }
    if message.ephemeral_to is None:
        place["message"] = message.on_the_wire(team=world.cast.team_id, app_id=world.cast.app.app_id)
    return place


def _in_view(world: World, view: OpenView, at: Click) -> Payload:
    shown = view.on_the_wire(world.cast, state_of(view.given["blocks"], at.values))
    return {"container": {"type": "view", "view_id": view.id}, "view": shown}


def _element(blocks: list[Payload], at: Click) -> Payload:
    for block in blocks:
        if block["block_id"] == at.block_id:
            for element in elements_of(block):
                if element.get("action_id") == at.action_id:
                    return element
    raise CannotDo("not_rendered", f"There is no element {at.action_id!r} in block {at.block_id!r}. Look again.")


def _action(world: World, element: Payload, at: Click) -> Payload:
    action: Payload = {
        "type": element["type"],
        "action_id": at.action_id,
        "block_id": at.block_id,
        "action_ts": world.conversations.next_ts(),
    }
    return action | {key: element[key] for key in ("text", "value", "style") if key in element}
