"""The record with secrets masked on the way in: what is not written cannot be read."""

import json
import re
from collections.abc import Sequence
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import Engine

from bot.adapters.journal_sql.inbox import SqlInbox
from bot.adapters.journal_sql.journal import SqlJournal
from bot.adapters.journal_sql.outbox import SqlOutbox
from bot.adapters.journal_sql.presence import Presence
from bot.domain.entries import Body
from bot.domain.ids import IncidentId
from bot.domain.journal import Entry
from bot.domain.masking import MASK, Masking
from bot.ports import Delivery, Post

_BODY: TypeAdapter[Body] = TypeAdapter(Body)
_CAPABILITY = re.compile(r'("(?:token|response_url)": ?")[^"]+')
"""What Slack sends along and this bot does not use: whoever has it can speak in the channel for half an hour."""


class MaskedJournal(SqlJournal):
    """A journal that writes no secret. An effect must not hold one either: it would be carried out without it."""

    def __init__(self, engine: Engine, masking: Masking) -> None:
        super().__init__(engine)
        self._masking = masking

    def open(self, body: Body, *, by: str, at: datetime) -> Entry:
        """See the port."""
        return super().open(self._masked(body), by=by, at=at)

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        """See the port."""
        return super().append(incident, after_seq, [self._masked(body) for body in bodies], by=by, at=at)

    def _masked(self, body: Body) -> Body:
        """The very same body where nothing is masked, which is nearly always."""
        content = body.model_dump(mode="json")
        masked = self._masking.of(content)
        return body if masked == content else _BODY.validate_json(json.dumps(masked))


class MaskedInbox(SqlInbox):
    """Keeps what people asked for, without Slack's own short-lived secrets."""

    def __init__(self, engine: Engine, presence: Presence, masking: Masking) -> None:
        super().__init__(engine, presence)
        self._masking = masking

    def put(self, delivery: Delivery) -> bool:
        """See the port."""
        masked = json.dumps(self._masking.of(json.loads(delivery.payload)))  # as one text, JSON's own quotes would go
        payload = _CAPABILITY.sub(rf"\g<1>{MASK}", masked)
        return super().put(delivery.model_copy(update={"payload": payload}))

    def done(self, delivery: Delivery, problem: str | None = None) -> None:
        """See the port."""
        super().done(delivery, None if problem is None else self._masking.text(problem))


class MaskedOutbox(SqlOutbox):
    """Sends no secret: an answer may quote the error of a library."""

    def __init__(self, engine: Engine, presence: Presence, masking: Masking) -> None:
        super().__init__(engine, presence)
        self._masking = masking

    def put(self, post: Post) -> bool:
        """See the port."""
        text = None if post.text is None else self._masking.text(post.text)
        return super().put(post.model_copy(update={"text": text}))

    def postpone(self, key: str, until: datetime, problem: str, *, whole_channel: bool) -> None:
        """See the port."""
        super().postpone(key, until, self._masking.text(problem), whole_channel=whole_channel)

    def failed(self, key: str, revision: int, problem: str) -> None:
        """See the port."""
        super().failed(key, revision, self._masking.text(problem))
