"""What the app puts into channels: messages and files."""

import secrets

from pydantic import BaseModel, ConfigDict

from bot.workspace.api.call import Call, Method
from bot.workspace.blocks import check_message
from bot.workspace.people import Channel, Payload, SlackRefusal
from bot.workspace.world import StoredMessage, World


class Content(BaseModel):
    model_config = ConfigDict(frozen=True)

    text: str = ""
    blocks: tuple[Payload, ...] = ()
    metadata: Payload | None = None


def content_of(call: Call, *, text_limit: int, keeps: StoredMessage | None = None) -> Content:
    """The content of a call; what is not given stays as in `keeps`. Raises SlackRefusal when Slack would refuse it."""
    text = call.text("text")
    blocks = call.parsed("blocks", "invalid_blocks_format")
    metadata = call.parsed("metadata", "invalid_metadata_format")
    if len(text) > text_limit:
        raise SlackRefusal("msg_too_long")
    if blocks is not None:
        check_message(blocks)
    _check_metadata(metadata)
    content = Content(
        text=text if text or keeps is None or blocks else keeps.text,
        blocks=named(blocks) if isinstance(blocks, list) else (keeps.blocks if keeps else ()),
        metadata=metadata if isinstance(metadata, dict) else None,
    )
    if not (text or blocks):
        raise SlackRefusal("no_text")
    return content


def named(blocks: list[Payload]) -> tuple[Payload, ...]:
    """The blocks with an id for each block and element that came without one, as Slack gives them."""
    return tuple(_named_block(dict(block)) for block in blocks)


def _named_block(block: Payload) -> Payload:
    block["block_id"] = block.get("block_id") or secrets.token_urlsafe(4)
    if block["type"] == "actions":
        block["elements"] = [_named_element(element) for element in block["elements"]]
    for key in ("accessory", "element"):
        if isinstance(block.get(key), dict):
            block[key] = _named_element(block[key])
    return block


def _named_element(element: Payload) -> Payload:
    if element.get("action_id"):
        return dict(element)
    return {**element, "action_id": secrets.token_urlsafe(4)}


def _check_metadata(metadata: object) -> None:
    if metadata is None:
        return
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_payload"), dict):
        raise SlackRefusal("invalid_metadata_schema")
    if not metadata.get("event_type"):
        raise SlackRefusal("invalid_metadata_schema", ["missing required field: event_type"])


POST_TEXT = 40_000
UPDATE_TEXT = 4_000


def post_message(world: World, call: Call) -> Payload:
    """Post as the bot, into a channel, a thread or a conversation with one person."""
    ref, in_thread = call.required("channel", "channel_not_found"), bool(call.text("thread_ts"))
    channel = world.directory.channel_to_post(ref, in_thread=in_thread)
    content = content_of(call, text_limit=POST_TEXT)
    message = world.conversations.add(
        _message(world, call, channel, content).model_copy(update={"metadata": content.metadata})
    )
    shown = message.on_the_wire(team=world.cast.team_id, app_id=world.cast.app.app_id)
    return {"channel": channel.id, "ts": message.ts, "message": shown}


def post_ephemeral(world: World, call: Call) -> Payload:
    """Post what only one member of the channel sees."""
    channel = world.directory.channel_to_post(call.required("channel", "channel_not_found"))
    person = call.required("user", "user_not_found")
    if person not in world.directory.people:
        raise SlackRefusal("user_not_found")
    if person not in channel.members:
        raise SlackRefusal("user_not_in_channel")
    content = content_of(call, text_limit=POST_TEXT)
    message = _message(world, call, channel, content).model_copy(update={"ephemeral_to": person})
    world.conversations.add(message)
    return {"message_ts": message.ts}


def update(world: World, call: Call) -> Payload:
    """Replace a message of the bot's own; blocks that are not given stay, an empty list removes them."""
    message = _own(world, call, "cant_update_message")
    if world.directory.channels[message.channel].is_archived:
        raise SlackRefusal("is_archived")
    window = world.rules.edit_window_s
    if window is not None and world.clock.seconds() - float(message.ts) > window:
        raise SlackRefusal("edit_window_closed")
    content = content_of(call, text_limit=UPDATE_TEXT, keeps=message)
    message = world.conversations.change(
        message,
        text=content.text,
        blocks=content.blocks,
        edited_ts=world.conversations.next_ts(),
        metadata=content.metadata or message.metadata,
    )
    shown = message.on_the_wire(team=world.cast.team_id, app_id=world.cast.app.app_id)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shown}


def permalink(world: World, call: Call) -> Payload:
    channel = world.directory.channel_for_bot(call.required("channel", "channel_not_found"))
    message = world.conversations.find(channel.id, call.required("message_ts", "message_not_found"))
    if message is None or message.ephemeral_to:
        raise SlackRefusal("message_not_found")
    return {"channel": channel.id, "permalink": world.permalink(channel.id, message.ts)}


def _own(world: World, call: Call, not_own: str) -> StoredMessage:
    channel = world.directory.channel_for_bot(call.required("channel", "channel_not_found"))
    message = world.conversations.find(channel.id, call.required("ts", "message_not_found"))
    if message is None or message.ephemeral_to:
        raise SlackRefusal("message_not_found")
    if message.bot_id != world.cast.app.bot_id:
        raise SlackRefusal(not_own)
    return message


def _message(world: World, call: Call, channel: Channel, content: Content) -> StoredMessage:
    return StoredMessage(
        channel=channel.id,
        ts=world.conversations.next_ts(),
        user=world.cast.app.user_id,
        bot_id=world.cast.app.bot_id,
        text=content.text,
        blocks=content.blocks,
        thread_ts=_thread(world, call, channel),
    )


def _thread(world: World, call: Call, channel: Channel) -> str | None:
    thread_ts = call.text("thread_ts")
    if not thread_ts:
        return None
    root = world.conversations.find(channel.id, thread_ts)
    if root is None:
        raise SlackRefusal("thread_not_found")
    if root.ephemeral_to:
        raise SlackRefusal("cannot_reply_to_message")
    return root.thread_ts or root.ts


CHAT = {
    "chat.postMessage": Method(post_message, scope="chat:write"),
    "chat.postEphemeral": Method(post_ephemeral, scope="chat:write"),
    "chat.update": Method(update, scope="chat:write"),
    "chat.getPermalink": Method(permalink),
}


def upload_url(world: World, call: Call) -> Payload:
    """Where to send the bytes of a file."""
    name = call.required("filename")
    length = call.number("length", 0)
    if length == 0:
        raise SlackRefusal("invalid_arguments", ["must be greater than 0 [json-pointer:/length]"])
    token, file = world.files.expect(name, length, call.text("alt_txt"))
    return {"upload_url": f"{world.url}/upload/v1/{token}", "file_id": file.id}


def complete(world: World, call: Call) -> Payload:
    given = call.parsed("files", "invalid_arguments")
    if not isinstance(given, list) or not given:
        raise SlackRefusal("invalid_arguments", ["missing required field: files"])
    channel_ref = call.text("channel_id")
    in_thread = bool(call.text("thread_ts"))
    channel = world.directory.channel_to_post(channel_ref, in_thread=in_thread) if channel_ref else None
    stored = [world.files.complete(str(entry.get("id")), str(entry.get("title") or "")) for entry in given]
    shown = [file.on_the_wire(f"{world.url}/files/{file.id}/{file.name}") for file in stored]
    if channel is not None:
        thread_ts = call.text("thread_ts") or None
        if thread_ts and world.conversations.find(channel.id, thread_ts) is None:
            raise SlackRefusal("thread_not_found")
        world.conversations.add(
            StoredMessage(
                channel=channel.id,
                ts=world.conversations.next_ts(),
                user=world.cast.app.user_id,
                bot_id=world.cast.app.bot_id,
                text=call.text("initial_comment"),
                files=tuple(shown),
                thread_ts=thread_ts,
                subtype="file_share",
            )
        )
    return {"files": shown}


FILES = {
    "files.getUploadURLExternal": Method(upload_url, scope="files:write"),
    "files.completeUploadExternal": Method(complete, scope="files:write"),
}
