"""Slack's payloads as typed requests: what a person asked for, and where to answer.

The words of a message, wherever Slack keeps them, without markup: other bots write them into attachments.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.observation.ids import UserId
from bot.observation.record import Record
from bot.ports import Delivery
from bot.slack.ids import NOTICE_ANSWERS, Form

_MARKED = re.compile(r"<(?P<to>[^<>|]*)(?:\|(?P<label>[^<>]*))?>")
_MOST = 8000
"""Characters that are read: a name further down is not what a message is about."""


def words_of(message: Mapping[str, Any]) -> str:
    """Text, attachments and blocks in reading order, a line each. Never raises, whatever the message looks like."""
    text = message.get("text")
    parts = (str(text or "")[:_MOST].strip(), *_more(message))
    return _plain("\n".join(dict.fromkeys(part for part in parts if part.strip())))[:_MOST].strip()


def _more(message: Mapping[str, Any]) -> Iterator[str]:
    """What stands in attachments (as Alertmanager, Grafana and many others write) and in blocks."""
    for attachment in _records(message.get("attachments")):
        told = [str(attachment.get(key) or "") for key in ("pretext", "title", "text")]
        told += [f"{f.get('title') or ''}: {f.get('value') or ''}" for f in _records(attachment.get("fields"))]
        yield from told if any(told) else [str(attachment.get("fallback") or "")]
        yield from _of_blocks(attachment.get("blocks"))
    yield from _of_blocks(message.get("blocks"))


def _of_blocks(blocks: Any) -> Iterator[str]:
    """Sections, headings and small print. What a person typed is in the text already."""
    for block in _records(blocks):
        if block.get("type") in {"section", "header", "context"}:
            for each in _records([block.get("text")], block.get("fields"), block.get("elements")):
                if isinstance(each.get("text"), str):
                    yield each["text"]


def _records(*lists: Any) -> Iterator[dict[str, Any]]:
    """What is an object in these lists, if they are any."""
    for each in lists:
        yield from (one for one in (each if isinstance(each, list) else ()) if isinstance(one, dict))


def _plain(text: str) -> str:
    """Links by their label, mentions as an @ that names nobody, and the three characters that Slack escapes."""

    def shown(found: re.Match[str]) -> str:
        to, label = found["to"], found["label"]
        if to.startswith(("@", "!")):
            return f"@{label or to[1:].partition('^')[0]}"
        return label or to

    return html.unescape(_MARKED.sub(shown, text))


AGAIN = "again"
"""What `/waterline notify` takes for a kind where it sends once more what did not arrive."""


class Asked(Record):
    user: UserId
    team: str = ""
    """Of the person; empty where the payload names none, which says nothing. Another one than the bot's in a channel
    that is shared with another organisation (Slack Connect)."""


class Command(Asked):
    """`/waterline TEXT` typed in a channel."""

    channel: str
    text: str
    trigger: str

    @property
    def verb(self) -> str:
        return self.text.split(maxsplit=1)[0].lower() if self.text.strip() else "help"

    @property
    def rest(self) -> str:
        parts = self.text.split(maxsplit=1)
        return parts[1].strip() if len(parts) > 1 else ""


class Clicked(Asked):
    """A button of a message, of a form or of App Home."""

    channel: str
    """Where they can be answered: of a form, the channel that it came from."""
    action: str
    value: str
    trigger: str
    view: str = ""
    """Id of the form, if it is in one."""

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.value.split("/"))


class Submitted(Asked):
    """A modal that was submitted. `values` maps block id -> what was entered or chosen."""

    form: str
    about: str
    """The modal's private_metadata: ids."""
    values: dict[str, str]
    trigger: str


class HomeOpened(Asked):
    """Somebody opened App Home."""


class MessageChosen(Asked):
    """The shortcut in a message's menu: somebody wants an incident opened from what is written there."""

    channel: str
    ts: str
    """The message."""
    words: str
    """Without Slack's markup."""
    trigger: str


Request = Command | Clicked | Submitted | HomeOpened | MessageChosen


def is_wanted(body: dict[str, Any]) -> bool:
    """Whether a delivery is stored at all: of events only those that somebody is answered for."""
    return body.get("type") != "event_callback" or _kind(body) == "app_home_opened"


def delivery_key(body: dict[str, Any]) -> tuple[str, str]:
    """(kind, key): the same for a redelivery of the same thing, different for a second click.

    A slash command and an interaction carry a trigger_id of their own, an event its event_id.
    """
    if "command" in body:
        return "command", f"command/{body['trigger_id']}"
    kind = str(body.get("type", "unknown"))
    if kind == "event_callback":
        return kind, f"event/{body.get('event_id')}"
    if kind == "view_submission":
        view = body["view"]
        return kind, f"view/{view['id']}/{view.get('hash')}"
    actions = body.get("actions") or [{}]
    stamp = actions[0].get("action_ts") or ""
    return kind, f"{kind}/{body.get('trigger_id')}/{stamp}"


def answers_notice(request: Asked) -> bool:
    """Whether a consumer says what became of a notice."""
    match request:
        case Clicked():
            return request.action in NOTICE_ANSWERS
        case Submitted():
            return request.form == Form.HELP
        case _:
            return False


def parse(delivery: Delivery) -> Request | None:
    """The request in a stored delivery; None for kinds that ask for nothing (view_closed, other events)."""
    body = json.loads(delivery.payload)
    request = _parsed(delivery.kind, body)
    return request if request is None else request.model_copy(update={"team": _team(body)})


def _team(body: dict[str, Any]) -> str:
    """Of a command, a click or a form. An event names the bot's team only, and `app_home_opened` no other."""
    if "event" in body:
        return ""
    told = [(body.get("user") or {}).get("team_id"), (body.get("team") or {}).get("id"), body.get("team_id")]
    return next((str(team) for team in told if team), "")


def _parsed(kind: str, body: dict[str, Any]) -> Request | None:
    match kind:
        case "command":
            return Command(
                user=UserId(body["user_id"]),
                channel=body["channel_id"],
                text=(body.get("text") or "").strip(),
                trigger=body["trigger_id"],
            )
        case "block_actions":
            action, form = body["actions"][0], body.get("view") or {}
            came_from = (form.get("private_metadata") or "").split("/")[-1]
            return Clicked(
                user=UserId(body["user"]["id"]),
                channel=(body.get("channel") or {}).get("id")
                or body.get("container", {}).get("channel_id")
                or came_from,
                action=action["action_id"].split(":")[0],
                value=action.get("value") or "",
                trigger=body.get("trigger_id") or "",
                view=form.get("id") or "",
            )
        case "view_submission":
            view = body["view"]
            return Submitted(
                user=UserId(body["user"]["id"]),
                form=view["callback_id"],
                about=view.get("private_metadata") or "",
                values=entered(view["state"]["values"]),
                trigger=body["trigger_id"],
            )
        case "message_action":
            return MessageChosen(
                user=UserId(body["user"]["id"]),
                channel=body["channel"]["id"],
                ts=str(body.get("message_ts") or body["message"]["ts"]),
                words=words_of(body["message"]),
                trigger=body["trigger_id"],
            )
        case "event_callback" if _kind(body) == "app_home_opened":
            return HomeOpened(user=UserId(body["event"]["user"]))
        case _:
            return None


def _kind(body: dict[str, Any]) -> str | None:
    return (body.get("event") or {}).get("type")


def entered(state: dict[str, dict[str, dict[str, Any]]]) -> dict[str, str]:
    """Block id -> entered text or chosen option's value; what was left empty is left out."""
    entered: dict[str, str] = {}
    for block_id, elements in state.items():
        for element in elements.values():
            chosen = (element.get("selected_option") or {}).get("value")
            ticked = ",".join(option["value"] for option in element.get("selected_options") or [])
            picked = element.get("selected_user") or element.get("selected_date")
            people = ",".join(element.get("selected_users") or [])
            value = element.get("value") or chosen or picked or ticked or people
            if value:
                entered[block_id] = value
    return entered
