"""What an app in a channel is told of a message there: also of its own, and of those of other apps."""

from bot.workspace.message import StoredMessage
from bot.workspace.people import Channel
from bot.workspace.world import World


def tell_app(world: World, channel: Channel, message: StoredMessage) -> None:
    """Send the events that follow from a message, if the app is in its channel."""
    app = world.cast.app
    if app.user_id not in channel.members or message.ephemeral_to:
        return
    kind = "im" if channel.is_im else "group" if channel.is_private else "channel"
    event = {
        **message.on_the_wire(team=world.cast.team_id, app_id=app.app_id),
        "channel": channel.id,
        "event_ts": message.ts,
    }
    world.deliveries.post_event({**event, "channel_type": kind})
    if f"<@{app.user_id}>" in message.text and message.bot_id != app.bot_id and not channel.is_im:
        world.deliveries.post_event({**event, "type": "app_mention"})
