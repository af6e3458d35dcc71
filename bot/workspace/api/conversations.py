"""conversations.info, history, replies."""

from bot.workspace.api.call import Call, Method
from bot.workspace.people import Channel, Payload, SlackRefusal
from bot.workspace.world import StoredMessage, World

PAGE = 100
MOST = 1_000


def info(world: World, call: Call) -> Payload:
    return {"channel": _shown(world, _by_id(world, call))}


def history(world: World, call: Call) -> Payload:
    """The messages of a channel, newest first, without replies and without ephemeral messages."""
    channel = _readable(world, call)
    found = [m for m in world.conversations.in_channel(channel.id) if not m.in_thread]
    return _slice(world, call, [m for m in reversed(found) if m.ephemeral_to is None])


def replies(world: World, call: Call) -> Payload:
    """A thread, its root first."""
    channel = _readable(world, call)
    root = world.conversations.find(channel.id, call.required("ts", "thread_not_found"))
    if root is None or root.ephemeral_to:
        raise SlackRefusal("thread_not_found")
    found = [m for m in world.conversations.replies(channel.id, root.ts) if m.ephemeral_to is None]
    return _slice(world, call, [root, *found])


def _slice(world: World, call: Call, messages: list[StoredMessage]) -> Payload:
    start, end, cursor = _window(call, len(messages))
    with_metadata = call.flag("include_all_metadata")
    team, app_id = world.cast.team_id, world.cast.app.app_id
    shown = [m.on_the_wire(team=team, app_id=app_id, with_metadata=with_metadata) for m in messages[start:end]]
    more = {"response_metadata": {"next_cursor": cursor}} if cursor else {}
    return {"messages": shown, "has_more": bool(cursor), **more}


def _window(call: Call, count: int) -> tuple[int, int, str]:
    start = _cursor(call)
    end = start + max(1, min(call.number("limit", PAGE), MOST))
    return start, end, f"after-{end}" if end < count else ""


def _cursor(call: Call) -> int:
    position = call.text("cursor").removeprefix("after-") or "0"
    if not position.isdigit():
        raise SlackRefusal("invalid_cursor")
    return int(position)


def _by_id(world: World, call: Call) -> Channel:
    ref = call.required("channel", "channel_not_found")
    if ref not in world.directory.channels:
        raise SlackRefusal("channel_not_found")
    return world.directory.channel_for_bot(ref)


def _readable(world: World, call: Call) -> Channel:
    channel = _by_id(world, call)
    if world.cast.app.user_id not in channel.members:
        raise SlackRefusal("not_in_channel")
    return channel


def _shown(world: World, channel: Channel) -> Payload:
    return {
        "id": channel.id,
        "name": channel.name,
        "is_channel": not channel.is_im,
        "is_im": channel.is_im,
        "is_private": channel.is_private,
        "is_archived": channel.is_archived,
        "is_ext_shared": channel.is_ext_shared,
        **({f"is_{channel.limit}": True} if channel.limit else {}),
        "is_member": world.cast.app.user_id in channel.members,
        "topic": {"value": channel.topic, "creator": "", "last_set": 0},
        "purpose": {"value": "", "creator": "", "last_set": 0},
    }


CONVERSATIONS = {
    "conversations.info": Method(info, scope="channels:read"),
    "conversations.history": Method(history, scope="channels:history"),
    "conversations.replies": Method(replies, scope="channels:history"),
}
