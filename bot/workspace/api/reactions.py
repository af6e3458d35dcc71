"""reactions.add, reactions.remove and pins.add."""

from bot.workspace.api.call import Call, Method
from bot.workspace.message import StoredMessage
from bot.workspace.refusal import Payload, SlackRefusal
from bot.workspace.world import World


def add(world: World, call: Call) -> Payload:
    """React to a message as the bot."""
    message, name = _target(world, call)
    if world.cast.app.user_id in dict(message.reactions).get(name, ()):
        raise SlackRefusal("already_reacted")
    world.conversations.react(message, name, world.cast.app.user_id, add=True)
    return {}


def remove(world: World, call: Call) -> Payload:
    """Take a reaction of the bot's back."""
    message, name = _target(world, call)
    if world.cast.app.user_id not in dict(message.reactions).get(name, ()):
        raise SlackRefusal("no_reaction")
    world.conversations.react(message, name, world.cast.app.user_id, add=False)
    return {}


def pin(world: World, call: Call) -> Payload:
    """Accepts a pin; the page does not show pins."""
    channel = world.directory.channel_to_post(call.required("channel", "channel_not_found"))
    if world.conversations.find(channel.id, call.text("timestamp")) is None:
        raise SlackRefusal("message_not_found")
    return {}


def _target(world: World, call: Call) -> tuple[StoredMessage, str]:
    channel = world.directory.channel_to_post(call.required("channel", "channel_not_found"))
    message = world.conversations.find(channel.id, call.text("timestamp"))
    if message is None or message.ephemeral_to:
        raise SlackRefusal("message_not_found")
    return message, call.required("name", "no_item_specified")


METHODS = {
    "reactions.add": Method(add, scope="reactions:write"),
    "reactions.remove": Method(remove, scope="reactions:write"),
    "pins.add": Method(pin, scope="pins:write"),
}
