"""Pictures of the ledger in an incident's thread: uploaded once, looked for before they are uploaded again."""

from slack_sdk import WebClient

from bot.domain.evidence import Evidence
from bot.domain.findings import LedgerFinding
from bot.domain.ids import EvidenceId
from bot.domain.incident import Incident
from bot.ports import Post
from bot.service.incident_store import IncidentStore
from bot.service.ledger_picture import Picture
from bot.service.ledger_view import ledger_view
from bot.service.ledger_words import not_drawn
from bot.slack.ledger_png import png
from bot.slack.not_uploaded import said_instead
from bot.slack.sent_before import INTERRUPTED, file_is_there

KIND = "picture"
_COMMENT = (
    "Newest on top, times in UTC. One shape per writer; numbers are checkpoints. Hollow: no longer in the table. "
    "Cross: files may be missing."
)
_READERS_UNKNOWN = " Readers are unknown: no lineage source answered."


def has_picture(incident: Incident, run: EvidenceId) -> bool:
    """Whether this run answered with a ledger that has commits, and that shows something new."""
    evidence = incident.runs[run].evidence
    if evidence is None or not _shown(evidence):
        return False
    answered = [other.evidence for other in incident.runs.values() if other.run != run and other.evidence is not None]
    earlier = [other for other in answered if isinstance(other.finding, LedgerFinding) and other.at < evidence.at]
    before = max(earlier, key=lambda other: other.at, default=None)
    return before is None or _shown(before) != _shown(evidence)


def _shown(evidence: Evidence) -> list[object]:
    """What a picture of its ledger would show; empty for any other finding."""
    if not isinstance(evidence.finding, LedgerFinding) or not evidence.finding.ledger.rows:
        return []
    ledger = evidence.finding.ledger
    return [ledger.trailing, *((row.snapshot_id, row.on_main, row.readers, row.skipped) for row in ledger.rows)]


def instead_of(post: Post, problem: str) -> Post:
    """Says once in the incident's thread that pictures cannot be posted, and what would mend it."""
    what, otherwise = "The ledger could not be posted as a picture", "The table above says the same."
    return said_instead(post, KIND, what, otherwise, problem)


class Pictures:
    """Draws and uploads."""

    def __init__(self, client: WebClient, store: IncidentStore) -> None:
        self._client = client
        self._store = store

    def send(self, post: Post, thread_ts: str | None, *, may_be_there: bool) -> None:
        """Upload the picture of the post's run. Raises what the client raises.

        `may_be_there`: the last try may have arrived without an answer; then the thread is searched for the file.
        """
        assert post.incident is not None
        name = _file_name(post)
        is_there = file_is_there(self._client, post.channel, thread_ts, name) if may_be_there else False
        if is_there:
            return
        incident = self._store.get(post.incident)
        view = ledger_view(incident, EvidenceId(post.key.rsplit("/", 1)[1]))
        assert view is not None
        self._client.files_upload_v2(
            channel=post.channel,
            thread_ts=thread_ts,
            filename=name,
            file=png(view.picture),
            title=f"Ledger of {incident.opened.table}",
            alt_txt=view.picture.alt[:1000],
            initial_comment=comment_on(view.picture, may_be_twice=is_there is None),
        )


def comment_on(picture: Picture, *, may_be_twice: bool) -> str:
    """How it is to be read, and what it does not show."""
    told = _COMMENT
    if picture.left_out:
        told += f" {not_drawn(picture.left_out)}."
    if not picture.readers_known:
        told += _READERS_UNKNOWN
    return told + (INTERRUPTED if may_be_twice else "")


def _file_name(post: Post) -> str:
    """Tells this picture from every other of the incident."""
    run = post.key.rsplit("/", 1)[1]
    return f"{post.incident}-ledger-{run[-8:].lower()}.png"
