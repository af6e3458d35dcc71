"""The incident's record as files in its thread."""

from typing import Any

from slack_sdk import WebClient

from bot.incident.incident import fold
from bot.observation.ids import IncidentId
from bot.observation.sentences import users_in
from bot.ports import Post
from bot.service.services import Services
from bot.slack.directory import names_of
from bot.slack.sent_before import said_instead

KIND = "record"


def record_post(incident: IncidentId, seq: int, channel: str, card: str, asked: str) -> Post:
    """The record up to entry `seq`, for one request: `asked` is the same for a redelivery, another for a second
    click."""
    return Post(key=f"{incident}/{KIND}/{seq}/{asked}", incident=incident, channel=channel, thread_of=card)


def instead_of(post: Post, problem: str) -> Post:
    """Says in the thread that the files are not there, and where to get them."""
    asked = post.key.split("/", 2)[2]
    what = f"The record of {post.incident} could not be posted"
    otherwise = f"Export it in a terminal: waterline record export {post.incident}."
    return said_instead(post, f"{KIND}/{asked}", what, otherwise, problem)


def file_name(post: Post) -> str:
    """Of its HTML form."""
    return f"{_name(post)}.html"


def _name(post: Post) -> str:
    return f"{post.incident}-{post.key.split('/')[2]}"


def made(client: WebClient, services: Services, post: Post) -> tuple[str, list[dict[str, Any]]]:
    """(comment, the record up to the entry that the post names in each form, with its proof)."""
    assert post.incident is not None
    seq, store, records = int(post.key.split("/")[2]), services.store, services.records
    incident, lines = fold(store.get(post.incident).entries[:seq]), store.lines(post.incident)[:seq]
    names = names_of(client, users_in(entry.model_dump_json() for entry in incident.entries))
    forms = {"html": records.html, "md": records.markdown, "json": records.json}
    return f"The record of {incident.id}.", [
        {
            "content": write(incident, names=names, lines=lines),
            "filename": f"{_name(post)}.{ending}",
            "title": f"{incident.id} record",
        }
        for ending, write in forms.items()
    ]
