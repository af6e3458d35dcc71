"""A message whose sending was cut short: looked for in Slack before it is sent again, else marked as a repetition.

What is said in an incident's thread instead of a file that could not be uploaded.
"""

from typing import Any

from slack_sdk import WebClient

from bot.ports import Post
from bot.slack.directory import UNREACHABLE

EVENT = "waterline_post"
"""Type of the metadata that carries a post's key."""
REFUSES_THE_BOT = {"token_revoked", "token_expired", "invalid_auth", "not_authed", "account_inactive", "missing_scope"}
"""Refusals of the bot, not of the message: it waits until somebody has mended the token or the scopes."""
PASSING = {"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"}
"""Refusals of the moment."""
_TO_MEND = {
    "not_in_channel": "Type /invite @waterline there.",
    "channel_not_found": "Type /invite @waterline there.",
    "is_archived": "Ask somebody to unarchive it.",
    "restricted_action": "Ask an admin of the workspace to let this app post in {room}, also in threads.",
}
"""Refusals that end when somebody does this: invites the bot, opens the channel, or changes who may post."""
CANNOT_EDIT = {"message_not_found", "cant_update_message", "edit_window_closed"}
"""Refusals to edit: the message is gone, is another token's, or is too old for the workspace's settings."""
NOT_JOINED = "user_not_in_channel"
"""Refusal of an answer to somebody who reads a public channel, and clicks there, without having joined it."""
INTERRUPTED = " Sending was interrupted, so this may appear twice."
"""Follows the comment of an upload."""
_LOST_BEFORE = "may be there, then "
"""Begins the problem of a post that was refused after a try whose answer was lost."""
_NOT_ASKED = "not asked: "
"""Begins the problem of a post for which Slack was not asked."""
_PAGE, _PAGES = 200, 10
"""How far it is looked for; replies come oldest first, so the newest are on the last page."""


def answer_was_lost(post: Post) -> bool:
    """Whether Slack may have taken the message although the last try ended without an answer, or in an error."""
    problem = post.problem or ""
    was_refused = problem in {"ratelimited", *REFUSES_THE_BOT} or problem.startswith(_NOT_ASKED) or may_mend(problem)
    return post.tries > 1 and not was_refused


def noted(post: Post, code: str) -> str:
    """What to write down of a refusal. It says nothing of an earlier try: what that may have left is not forgotten."""
    return f"{_LOST_BEFORE}{code}" if answer_was_lost(post) else code


def not_asked(post: Post, why: str) -> str:
    """What to write down where Slack was not asked at all this time."""
    return noted(post, f"{_NOT_ASKED}{why}")


def find_sent(client: WebClient, post: Post, thread_ts: str | None) -> tuple[str | None, bool]:
    """(ts of the message that carries this post's key, whether it may be there unseen).

    Reading history needs a scope that the bot does without unless it is given (channels:history).
    """
    asked: dict[str, Any] = {"channel": post.channel, "limit": _PAGE, "include_all_metadata": True}
    try:
        pages = (
            client.conversations_history(**asked)
            if thread_ts is None
            else client.conversations_replies(ts=thread_ts, **asked)
        )
        for number, page in enumerate(pages, start=1):
            for message in page.get("messages") or []:
                payload = (message.get("metadata") or {}).get("event_payload") or {}
                if payload.get("key") == post.key:
                    return str(message["ts"]), False
            if number == _PAGES:
                return None, bool(page.get("has_more"))
    except UNREACHABLE:
        return None, True
    return None, False


def file_is_there(client: WebClient, channel: str, thread_ts: str | None, name: str) -> bool | None:
    """Whether the thread has a file of this name; None when it cannot be read, which needs a scope, too."""
    if thread_ts is None:
        return None
    try:
        answer = client.conversations_replies(channel=channel, ts=thread_ts, limit=_PAGE)
    except UNREACHABLE:
        return None
    return any(file.get("name") == name for message in answer["messages"] for file in message.get("files") or [])


def repetition(post: Post) -> dict[str, Any]:
    """Says of itself that it may be a repetition, so that nobody acts on it twice."""
    text = f"Sending was interrupted, so this may appear twice. It counts once: `{post.key}`"
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text}]}


def may_mend(code: str) -> bool:
    """Whether a refusal ends when somebody invites the bot, opens the channel, or changes who may post there."""
    return _kind(code) in _TO_MEND


def is_of_replies(code: str) -> bool:
    """Whether replies are refused, or all but replies: other messages are posted."""
    return "thread" in code


def how_to_mend(code: str, room: str) -> str:
    """Sentences for whoever can ask an admin: what Slack says, and what to change."""
    return f"Slack says `{code}`. {_TO_MEND[_kind(code)].format(room=room)}"


def _kind(code: str) -> str:
    return "restricted_action" if code.startswith("restricted_action") else code


def directly(answer: Post, refusal: str) -> Post:
    """The same answer by direct message: to a person who asked where the bot cannot write, or cannot write to them."""
    room = f"<#{answer.channel}>"
    opening = f"You are not in {room}, so I answer here."
    if refusal != NOT_JOINED:
        opening = f"I cannot write in {room}. {how_to_mend(refusal, room)}"
    return Post(key=f"{answer.key}/direct", incident=None, channel=str(answer.user), text=f"{opening} {answer.text}")


def notice_key(post: Post) -> str | None:
    """Key of the notice that it carries; None for any other post."""
    return post.key.split("/notice/", 1)[1] if post.incident is not None and "/notice/" in post.key else None


def waits_for_channel(post: Post, code: str, responder: str) -> Post:
    """Tells the responder by direct message that messages wait, for which channel, and what to change. Once for each
    message that is refused so, or for all replies of a thread."""
    assert post.incident is not None
    room = f"<#{post.channel}>"
    what, meanwhile = f"messages of {post.incident} wait", ""
    if notice_key(post) is not None:
        what, meanwhile = f"a notice of {post.incident} waits", "Call its consumers if they must know now. "
    return Post(
        key=f"{post.incident}/waits/{code}/{post.thread_of or post.key}",
        incident=None,
        channel=responder,
        text=f"I cannot write in {room}, so {what}. {how_to_mend(code, room)} {meanwhile}"
        "While the incident is open, I try again and again, and then send what waits.",
    )


def said_instead(post: Post, name: str, what: str, otherwise: str, problem: str) -> Post:
    """`what` could not be posted, what would mend it, and where it is `otherwise`; once for each `name`."""
    mend = "Give the app the scope files:write. " if "missing_scope" in problem else ""
    return Post(
        key=f"{post.incident}/no-{name}",
        incident=post.incident,
        channel=post.channel,
        thread_of=post.thread_of,
        text=f"{what}: {problem}. {mend}{otherwise}",
    )
