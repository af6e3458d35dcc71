"""What one person sees: channels with unread counts, messages, modals, the app's Home."""

from starlette.requests import Request

from bot.workspace.message import StoredMessage
from bot.workspace.payload import Payload
from bot.workspace.people import Person
from bot.workspace.refusal import CannotDo
from bot.workspace.world import World


def overview(world: World, person: Person, _request: Request) -> Payload:
    """The frame of the page: people, channels, groups, the app and its commands."""
    app = world.cast.app
    return {
        "team": {"id": world.cast.team_id, "name": world.cast.team_name},
        "me": person.id,
        "people": [{**p.model_dump(), "initials": p.initials} for p in world.directory.people.values()],
        "app": {
            **app.model_dump(include={"user_id", "app_id", "bot_id", "name", "display_name", "color"}),
            "commands": [command.model_dump() for command in app.commands],
            "shortcuts": [shortcut.model_dump() for shortcut in app.shortcuts],
        },
        "groups": [group.model_dump() for group in world.directory.groups.values()],
        "channels": [
            {
                "id": channel.id,
                "name": channel.name,
                "topic": channel.topic,
                "is_im": channel.is_im,
                "is_archived": channel.is_archived,
                "is_member": person.id in channel.members,
                "member_count": len(channel.members),
                "unread": world.conversations.unread(channel.id, person.id) if person.id in channel.members else 0,
            }
            for channel in world.directory.visible_to(person.id)
        ],
    }


def channel_messages(world: World, person: Person, request: Request) -> Payload:
    """The messages of a channel that this person sees, oldest first: of a thread with `thread_ts`, all with `all`."""
    channel = world.directory.channel(request.query_params.get("channel", ""))
    if channel not in world.directory.visible_to(person.id):
        raise CannotDo("channel_not_found", f"{person.display_name} cannot see {channel.name}. Ask as a member.")
    thread_ts = request.query_params.get("thread_ts")
    seen = [m for m in world.conversations.in_channel(channel.id) if m.seen_by(person.id)]
    if thread_ts:
        seen = [m for m in seen if m.ts == thread_ts or m.thread_ts == thread_ts]
    elif "all" not in request.query_params:
        seen = [m for m in seen if _in_channel(m)]
    return {"channel": channel.id, "messages": [world.conversations.as_shown(m, person.id) for m in seen]}


def modals_of(world: World, person: Person, _request: Request) -> Payload:
    """The modals that this person has open, the visible one last."""
    return {"views": [view.on_the_wire(world.cast) for view in world.views.stack(person.id)]}


def home_of(world: World, person: Person, _request: Request) -> Payload:
    """The app's Home for this person; none when nothing was published yet."""
    home = world.views.home(person.id)
    return {"view": home.on_the_wire(world.cast) if home else None}


def _in_channel(message: StoredMessage) -> bool:
    return not message.in_thread or message.broadcast
