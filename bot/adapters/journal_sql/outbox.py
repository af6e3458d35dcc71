"""Every message before it is sent: one row a message, and the revision that Slack should show."""

from datetime import datetime
from threading import Lock
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Engine,
    Row,
    and_,
    case,
    exists,
    func,
    insert,
    literal,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from bot.adapters.journal_sql.engine import put_row, reading, scalar, write, writing
from bot.adapters.journal_sql.membership import Presence
from bot.adapters.journal_sql.schema import OUTBOX, PAUSES, Moment
from bot.observation.ids import IncidentId, UserId
from bot.observation.masking import Masking
from bot.ports import LONGEST_WAIT, Clock, Post

_FIELDS = ("key", "channel", "thread_of", "text", "ts", "wanted", "shown", "state", "tries", "problem")
_IS_OVER = OUTBOX.c.state.in_(["sent", "failed"])
_WITHOUT_THE_LAST = case((OUTBOX.c.tries > 0, OUTBOX.c.tries - 1), else_=0)
"""A try that was refused left nothing behind; those before it may have."""


class SqlOutbox:
    """The port `Outbox` on a SQL database. Sends no secret: an answer may quote the error of a library."""

    def __init__(self, engine: Engine, presence: Presence, clock: Clock, masking: Masking) -> None:
        self._engine = engine
        self._presence = presence
        self._clock = clock
        self._masking = masking
        self._claiming = Lock()
        self._claims: dict[str, str] = {}
        """Of each post that is being sent here, by its key."""

    def put(self, post: Post) -> bool:
        row = {name: getattr(post, name) for name in _FIELDS}
        row["text"] = post.text and self._masking.text(post.text)
        row |= {"incident": post.incident, "recipient": post.user, "queued_at": self._clock.now()}
        try:
            write(self._engine, insert(OUTBOX).values(row))
        except IntegrityError:
            return False
        return True

    def touch(self, key: str) -> None:
        """One more revision is wanted. Ephemeral posts and those that never came to Slack stay as they are: it updates
        neither. One that stands there is updated though the last revision was refused: this one may not be."""
        is_failed = OUTBOX.c.state == "failed"
        is_shown = and_(OUTBOX.c.recipient.is_(None), or_(~is_failed, OUTBOX.c.ts.is_not(None)))
        touched = {
            "wanted": OUTBOX.c.wanted + 1,
            "state": case((_IS_OVER, "queued"), else_=OUTBOX.c.state),
            "queued_at": case((_IS_OVER, self._now()), else_=OUTBOX.c.queued_at),
            "tries": case((is_failed, _WITHOUT_THE_LAST), else_=OUTBOX.c.tries),
            "due_at": case((is_failed, null()), else_=OUTBOX.c.due_at),
        }
        write(self._engine, update(OUTBOX).where(OUTBOX.c.key == key, is_shown).values(touched))

    def claim(self, now: datetime) -> Post | None:
        """The next post that wants sending, in the order of being put.

        Passed over: posts whose channel pauses (not what one person alone is to see: they wait for an answer, and where
        the channel is lost they get it directly) or is being sent to (one would overtake the other), that are not due
        yet, and replies whose thread has not begun (a reply goes out by itself if its thread's post has failed).
        """
        self._presence.join()
        with self._claiming, self._presence.hands.reaching() as claim:
            post = self._taken(now, claim)
            if post is None:
                self._presence.hands.lets_go(claim)
            else:
                self._claims[post.key] = claim
            return post

    def _taken(self, now: datetime, claim: str) -> Post | None:
        root = OUTBOX.alias("root")
        waits_for_thread = exists().where(
            root.c.key == OUTBOX.c.thread_of, root.c.ts.is_(None), root.c.state.in_(["queued", "sending"])
        )
        believed = now + LONGEST_WAIT
        is_paused = and_(PAUSES.c.until > now, PAUSES.c.until <= believed)
        pausing = and_(OUTBOX.c.recipient.is_(None), exists().where(PAUSES.c.channel == OUTBOX.c.channel, is_paused))
        other = OUTBOX.alias("other")
        is_busy = exists().where(other.c.channel == OUTBOX.c.channel, other.c.state == "sending")
        due = or_(OUTBOX.c.due_at.is_(None), OUTBOX.c.due_at <= now, OUTBOX.c.due_at > believed)
        following = (
            select(OUTBOX)
            .where(OUTBOX.c.state == "queued", due, ~pausing, ~is_busy, ~waits_for_thread)
            .order_by(OUTBOX.c.position)
            .limit(1)
        )
        taken = {"state": "sending", "worker": claim, "tries": OUTBOX.c.tries + 1}
        with writing(self._engine) as connection:
            row = connection.execute(following).first()
            if row is None:
                return None
            is_queued = (OUTBOX.c.key == row.key) & (OUTBOX.c.state == "queued")
            if connection.execute(update(OUTBOX).where(is_queued).values(taken)).rowcount != 1:
                return None  # another process has just become the one that works on the record
        return _post(row).model_copy(update={"state": "sending", "tries": row.tries + 1})

    def sent(self, key: str, revision: int, ts: str | None, *, pause_until: datetime | None = None) -> None:
        """Slack accepted this revision; if a newer one is wanted by now, the post is queued again.

        Saying it twice, or late, changes nothing. The channel's pause is there before the next claim can be; what one
        person alone sees does not wait for a pause, and begins none.
        """
        if pause_until is not None and (post := self.find(key)) and post.user is None:
            self._pause(post.channel, pause_until)
        is_wanted = OUTBOX.c.wanted > revision
        shown = {
            "shown": revision,
            "ts": OUTBOX.c.ts if ts is None else ts,
            "state": case((is_wanted, "queued"), else_="sent"),
            "queued_at": case((is_wanted, self._now()), else_=OUTBOX.c.queued_at),
            "due_at": None,
            "tries": 0,
            "problem": None,
        }
        write(self._engine, update(OUTBOX).where(OUTBOX.c.key == key, OUTBOX.c.shown < revision).values(shown))
        self._let_go(key)

    def postpone(self, key: str, until: datetime, problem: str, *, whole_channel: bool) -> None:
        """Not now: try again at `until`. The channel's pause is written first: it must not be lost. A post that another
        replica is sending by now is left to it."""
        if whole_channel and (post := self.find(key)):
            self._pause(post.channel, until)
        ours = and_(OUTBOX.c.state == "sending", OUTBOX.c.worker == self._claims.get(key, ""))
        queued = {"state": "queued", "due_at": until, "problem": self._masking.text(problem)}
        write(self._engine, update(OUTBOX).where(OUTBOX.c.key == key, ours).values(queued))
        self._let_go(key)

    def failed(self, key: str, revision: int, problem: str) -> None:
        """Slack does not accept this revision; kept with its problem, and queued if it is wanted again by now."""
        is_wanted = OUTBOX.c.wanted > revision
        ours = or_(OUTBOX.c.state != "sending", OUTBOX.c.worker == self._claims.get(key, ""))
        refused = {
            "state": case((is_wanted, "queued"), else_="failed"),
            "tries": case((is_wanted, _WITHOUT_THE_LAST), else_=OUTBOX.c.tries),
            "problem": self._masking.text(problem),
        }
        write(self._engine, update(OUTBOX).where(OUTBOX.c.key == key, ours).values(refused))
        self._let_go(key)

    def again(self, key: str) -> None:
        """Queue what has failed; where its failure is only about to be written, it is queued by that."""
        queued = {"state": "queued", "tries": _WITHOUT_THE_LAST, "due_at": None, "queued_at": self._clock.now()}
        post = update(OUTBOX).where(OUTBOX.c.key == key)
        write(
            self._engine,
            post.where(OUTBOX.c.state == "sending").values(wanted=OUTBOX.c.wanted + 1),
            post.where(OUTBOX.c.state == "failed").values(queued),
        )

    def waits_since(self) -> datetime | None:
        oldest: datetime | None = scalar(self._engine, select(func.min(OUTBOX.c.queued_at)).where(~_IS_OVER))
        return oldest

    def find(self, key: str) -> Post | None:
        with reading(self._engine) as connection:
            row = connection.execute(select(OUTBOX).where(OUTBOX.c.key == key)).first()
        return None if row is None else _post(row)

    def _now(self) -> ColumnElement[datetime]:
        """With its type, which PostgreSQL does not guess within a CASE."""
        return literal(self._clock.now(), Moment())

    def _pause(self, channel: str, until: datetime) -> None:
        """A longer one that is believed stays: what passes it by must not end it."""
        standing = scalar(self._engine, select(PAUSES.c.until).where(PAUSES.c.channel == channel))
        if standing is None or not until < standing <= until + LONGEST_WAIT:
            put_row(self._engine, PAUSES, {"channel": channel}, {"until": until})

    def _let_go(self, key: str) -> None:
        if (claim := self._claims.pop(key, None)) is not None:
            self._presence.hands.lets_go(claim)


def _post(row: Row[Any]) -> Post:
    return Post(
        **{name: getattr(row, name) for name in _FIELDS},
        incident=None if row.incident is None else IncidentId(row.incident),
        user=None if row.recipient is None else UserId(row.recipient),
    )
