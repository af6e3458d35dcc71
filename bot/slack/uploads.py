"""What is uploaded as a file and not posted as a message: pictures of the ledger, and the record."""

from slack_sdk import WebClient

from bot.ports import Post
from bot.service.services import Services
from bot.slack import pictures, record_files
from bot.slack.pictures import Pictures
from bot.slack.record_files import RecordFiles

MOST_TRIES = 5
"""Uploads go to another host than messages, which a proxy may not let through: then words must do."""
_INSTEAD = {pictures.KIND: pictures.instead_of, record_files.KIND: record_files.instead_of}


def is_upload(post: Post) -> bool:
    """Whether the post is an upload and no message."""
    return post.incident is not None and _kind(post) in _INSTEAD


def instead_of(post: Post, problem: str) -> Post:
    """Says in the incident's thread that the file is not there, and what would mend it."""
    return _INSTEAD[_kind(post)](post, problem)


def _kind(post: Post) -> str:
    return post.key.split("/")[1] if "/" in post.key else ""


class Uploads:
    """Makes and uploads them."""

    def __init__(self, client: WebClient, services: Services) -> None:
        self._pictures = Pictures(client, services.store)
        self._records = RecordFiles(client, services.store, services.records)

    def send(self, post: Post, thread_ts: str | None, *, may_be_there: bool) -> None:
        """Upload it. Raises what the client raises. `may_be_there`: the last try may have arrived."""
        sender = self._pictures if _kind(post) == pictures.KIND else self._records
        sender.send(post, thread_ts, may_be_there=may_be_there)
