"""A person writes a message or a slash command, or opens the app's Home."""

import re

from bot.workspace.deliveries import Delivery
from bot.workspace.people import Act, CannotDo, Channel, Directory, Payload, Person, SlashCommand
from bot.workspace.persons.modals import Outcome, answer_command, slackbot_says
from bot.workspace.world import StoredMessage, World

_NAME = re.compile(r"(?<![\w/])([@#])([\w][\w.-]*)")
_BROADCASTS = ("here", "channel", "everyone")


def with_marks(text: str, directory: Directory, *, labelled: bool) -> str:
    """The text with `@ana`, `@orders-approvers` and `#general` as marks; `labelled` adds names as slash commands do."""

    def mark(found: re.Match[str]) -> str:
        sign, name = found.groups()
        if sign == "#":
            channel = next((c for c in directory.channels.values() if c.name == name and not c.is_im), None)
            return _mark(f"#{channel.id}", name, labelled) if channel else found.group()
        if name in _BROADCASTS:
            return f"<!{name}>"
        if group := directory.group_named(name):
            return _mark(f"!subteam^{group.id}", f"@{name}", labelled)
        if name == directory.app.name:
            return _mark(f"@{directory.app.user_id}", name, labelled)
        person = next((p for p in directory.people.values() if p.name == name.lower()), None)
        return _mark(f"@{person.id}", person.name, labelled) if person else found.group()

    return _NAME.sub(mark, text)


def escaped(text: str) -> str:
    """The text with `&`, `<` and `>` as Slack stores what people type."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _mark(target: str, label: str, labelled: bool) -> str:
    return f"<{target}|{label}>" if labelled else f"<{target}>"


MOST = 40_000


class Said(Act):
    """What was typed into the composer of a channel or a thread."""

    channel: str
    text: str
    thread_ts: str | None = None


async def say(world: World, person: Person, said: Said) -> Outcome:
    """Post what a person typed, or deliver the slash command that it is."""
    if said.text.startswith("/"):
        return await run_command(world, person, said)
    channel, text, thread_ts = channel_to_write(world, person, said.channel), said.text, said.thread_ts
    if not text.strip() or len(text) > MOST:
        raise CannotDo("no_text", f"Nothing was said. A message has 1 to {MOST} characters, this one {len(text)}.")
    root = world.conversations.find(channel.id, thread_ts) if thread_ts else None
    if thread_ts and root is None:
        raise CannotDo("thread_not_found", f"No message {thread_ts} in #{channel.name}. Answer one that is there.")
    message = StoredMessage(
        channel=channel.id,
        ts=world.conversations.next_ts(),
        user=person.id,
        text=with_marks(escaped(text), world.directory, labelled=False),
        thread_ts=(root.thread_ts or root.ts) if root else None,
    )
    world.conversations.add(message)
    return Outcome(outcome="done", ts=message.ts)


class Looked(Act):
    """A channel comes on the screen, or the app's Home where none is named."""

    channel: str | None = None


async def look(world: World, person: Person, looked: Looked) -> Outcome:
    """What was unread there has been read; the app is told of its Home."""
    if looked.channel is None:
        _open_home(world, person)
    else:
        world.conversations.read(world.directory.channel(looked.channel).id, person.id)
    return Outcome(outcome="done")


def _open_home(world: World, person: Person) -> None:
    home = world.views.home(person.id)
    event: Payload = {
        "type": "app_home_opened",
        "user": person.id,
        "channel": world.directory.direct_message(person.id).id,
        "tab": "home",
        "event_ts": world.conversations.next_ts(),
    }
    if home is not None:
        event["view"] = home.on_the_wire(world.cast)
    world.deliveries.post_event(event)


def channel_to_write(world: World, person: Person, ref: str) -> Channel:
    channel = world.directory.channel(ref)
    if person.id not in channel.members:
        raise CannotDo(
            "not_in_channel",
            f"{person.display_name} cannot write in #{channel.name}: only its members can. Use a channel they are in.",
        )
    if channel.is_archived:
        raise CannotDo("is_archived", f"#{channel.name} is archived, so nobody can write there. Use another channel.")
    return channel


_FAILED = {"timed-out": "operation_timeout", "unreachable": "dispatch_failed", "refused": "dispatch_failed"}


async def run_command(world: World, person: Person, said: Said) -> Outcome:
    """Deliver a slash command; a failure is told to the person as Slack tells it."""
    channel = channel_to_write(world, person, said.channel)
    word, _, rest = said.text.strip().partition(" ")
    if person.team_id:
        raise CannotDo("unknown_command", f"{word} is a command of another organisation's app. Type a message.")
    if said.thread_ts is not None:
        raise CannotDo("command_in_thread", f"{word} is not supported in threads. Type it in #{channel.name}.")
    command = _registered(world, word)
    text = rest.strip()
    payload = {
        "token": "verification-token-is-unused",
        "team_id": world.cast.team_id,
        "team_domain": world.cast.team_domain,
        "channel_id": channel.id,
        "channel_name": "directmessage" if channel.is_im else channel.name,
        "user_id": person.id,
        "user_name": person.name,
        "command": command.command,
        "text": with_marks(text, world.directory, labelled=True),
        "api_app_id": world.cast.app.app_id,
        "is_enterprise_install": "false",
        "response_url": world.response_url(),
        "trigger_id": world.handles.new_trigger(person.id),
    }
    ack = await world.deliveries.send(Delivery(kind="slash_commands", payload=payload))
    if ack.in_time:
        answer_command(world, person, channel.id, ack.payload)
    else:
        failure = _FAILED[ack.outcome]
        slackbot_says(world, person.id, channel.id, f'{word} failed with the error "{failure}"')
    return Outcome.of(ack)


def _registered(world: World, word: str) -> SlashCommand:
    for command in world.cast.app.commands:
        if command.command == word:
            return command
    known = ", ".join(command.command for command in world.cast.app.commands)
    raise CannotDo("unknown_command", f"{word} is not a valid command. Registered here: {known}. Type one of these.")
