"""files.getUploadURLExternal and files.completeUploadExternal."""

from bot.workspace.api.call import Call, Method
from bot.workspace.message import StoredMessage
from bot.workspace.refusal import Payload, SlackRefusal
from bot.workspace.world import World


def upload_url(world: World, call: Call) -> Payload:
    """Where to send the bytes of a file."""
    name = call.required("filename")
    length = call.number("length", 0)
    if length == 0:
        raise SlackRefusal("invalid_arguments", ["must be greater than 0 [json-pointer:/length]"])
    token, file = world.files.expect(name, length, call.text("alt_txt"))
    return {"upload_url": f"{world.url}/upload/v1/{token}", "file_id": file.id}


def complete(world: World, call: Call) -> Payload:
    """Show uploaded files in a channel or thread."""
    given = call.parsed("files", "invalid_arguments")
    if not isinstance(given, list) or not given:
        raise SlackRefusal("invalid_arguments", ["missing required field: files"])
    channel_ref = call.text("channel_id")
    channel = world.directory.channel_to_post(channel_ref) if channel_ref else None
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


METHODS = {
    "files.getUploadURLExternal": Method(upload_url, scope="files:write"),
    "files.completeUploadExternal": Method(complete, scope="files:write"),
}
