"""One message of the workspace: an immutable revision, and how Slack shows it to an app and to a person."""

from pydantic import BaseModel, ConfigDict

from bot.workspace.refusal import Payload


class StoredMessage(BaseModel):
    """One revision of a message; an edit makes a new revision with the same `ts`."""

    model_config = ConfigDict(frozen=True)

    channel: str
    ts: str
    user: str
    text: str = ""
    blocks: tuple[Payload, ...] = ()
    attachments: tuple[Payload, ...] = ()
    files: tuple[Payload, ...] = ()
    bot_id: str | None = None
    username: str | None = None
    thread_ts: str | None = None
    ephemeral_to: str | None = None
    edited_ts: str | None = None
    broadcast: bool = False
    metadata: Payload | None = None
    subtype: str | None = None
    rev: int = 1

    @property
    def in_thread(self) -> bool:
        """True for a reply; the root of a thread is not in it."""
        return self.thread_ts is not None and self.thread_ts != self.ts

    def seen_by(self, person: str) -> bool:
        """False for an ephemeral message that is somebody else's."""
        return self.ephemeral_to in (None, person)

    def on_the_wire(self, *, team: str, app_id: str, with_metadata: bool = False) -> Payload:
        body: Payload = {"type": "message", "ts": self.ts, "text": self.text, "team": team, **self._author(app_id)}
        if self.subtype:
            body["subtype"] = self.subtype
        if self.blocks:
            body["blocks"] = [dict(block) for block in self.blocks]
        if self.attachments:
            body["attachments"] = [dict(attachment) for attachment in self.attachments]
        if self.files:
            body["files"] = [dict(file) for file in self.files]
        if self.thread_ts:
            body["thread_ts"] = self.thread_ts
        if self.edited_ts:
            body["edited"] = {"user": self.user, "ts": self.edited_ts}
        if with_metadata and self.metadata:
            body["metadata"] = self.metadata
        return body

    def _author(self, app_id: str) -> Payload:
        """A person, the app, or another app that wrote by an incoming webhook and so has no user."""
        if self.bot_id is None:
            return {"user": self.user}
        if self.username is not None:
            return {"bot_id": self.bot_id, "username": self.username}
        return {"user": self.user, "bot_id": self.bot_id, "app_id": app_id}
