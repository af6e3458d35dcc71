"""What the app answers to an interaction besides the Web API: in its acknowledgement, or at a response_url."""

from bot.workspace.api.call import Call
from bot.workspace.api.posting import Content, content_of
from bot.workspace.handles import AnswerUrl
from bot.workspace.message import StoredMessage
from bot.workspace.payload import Payload
from bot.workspace.refusal import SlackRefusal
from bot.workspace.world import World

_CONTENT = ("text", "blocks", "attachments")


def answer(world: World, to: AnswerUrl, given: Payload) -> None:
    """Post, replace or delete as the app asks; raises SlackRefusal when Slack would refuse the content."""
    call = Call("response_url", None, given)
    original = world.conversations.find(to.channel, to.message_ts) if to.message_ts else None
    if call.flag("delete_original"):
        if original is not None:
            world.conversations.remove(original)
        return
    content = content_of(call, text_limit=40_000)
    if call.flag("replace_original") and original is not None:
        world.conversations.change(
            original,
            text=content.text,
            blocks=content.blocks,
            attachments=content.attachments,
            edited_ts=world.conversations.next_ts(),
        )
        return
    for_all = call.text("response_type", "ephemeral") == "in_channel"
    _post(world, to, content, for_all=for_all, thread_ts=call.text("thread_ts") or None)


def answer_command(world: World, to: AnswerUrl, ack_payload: Payload | None) -> None:
    """Post what an acknowledgement of a slash command carries, if anything."""
    if ack_payload and any(ack_payload.get(key) for key in _CONTENT):
        try:
            answer(world, to, ack_payload)
        except SlackRefusal as refusal:
            world.wire.add("ack", "answer of a slash command", error=refusal.code, answered=refusal.body())


def slackbot_says(world: World, person: str, channel: str, text: str, thread_ts: str | None = None) -> None:
    """What Slack itself tells a person, only visible to them."""
    world.conversations.add(
        StoredMessage(
            channel=channel,
            ts=world.conversations.next_ts(),
            user="USLACKBOT",
            text=text,
            ephemeral_to=person,
            thread_ts=thread_ts,
        )
    )


def _post(world: World, to: AnswerUrl, content: Content, *, for_all: bool, thread_ts: str | None) -> None:
    world.conversations.add(
        StoredMessage(
            channel=to.channel,
            ts=world.conversations.next_ts(),
            user=world.cast.app.user_id,
            bot_id=world.cast.app.bot_id,
            text=content.text,
            blocks=content.blocks,
            attachments=content.attachments,
            thread_ts=thread_ts,
            ephemeral_to=None if for_all else to.person,
        )
    )
