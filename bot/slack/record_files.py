"""The incident's record as files in its thread: uploaded once, looked for before they are uploaded again."""

from slack_sdk import WebClient

from bot.incident.incident import fold
from bot.observation.ids import IncidentId
from bot.observation.sentences import users_in
from bot.ports import Post
from bot.service.incident_store import IncidentStore
from bot.service.record import Records
from bot.slack.directory import names_of
from bot.slack.sent_before import INTERRUPTED, file_is_there, said_instead

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


class RecordFiles:
    """Writes each form with its proof; uploads all as one message."""

    def __init__(self, client: WebClient, store: IncidentStore, records: Records) -> None:
        self._client = client
        self._store = store
        self._forms = {"html": records.html, "md": records.markdown, "json": records.json}

    def send(self, post: Post, thread_ts: str | None, *, may_be_there: bool) -> None:
        """Upload the record up to the entry that the post names. Raises what the client raises.

        `may_be_there`: the last try may have arrived without an answer; then the thread is searched for the files.
        """
        assert post.incident is not None
        seq = int(post.key.split("/")[2])
        incident = fold(self._store.get(post.incident).entries[:seq])
        lines = self._store.lines(post.incident)[:seq]
        name = f"{incident.id}-{seq}"
        is_there = file_is_there(self._client, post.channel, thread_ts, f"{name}.html") if may_be_there else False
        if is_there:
            return
        names = names_of(self._client, users_in(entry.model_dump_json() for entry in incident.entries))
        files = [
            {
                "content": write(incident, names=names, lines=lines),
                "filename": f"{name}.{ending}",
                "title": f"{incident.id} record",
            }
            for ending, write in self._forms.items()
        ]
        self._client.files_upload_v2(
            channel=post.channel,
            thread_ts=thread_ts,
            file_uploads=files,
            initial_comment=f"The record of {incident.id}." + (INTERRUPTED if is_there is None else ""),
        )
