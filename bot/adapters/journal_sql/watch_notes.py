"""What the watch remembers: rows that are only ever added, one a key, so that replicas tell a thing once."""

from sqlalchemy import Engine, insert, select
from sqlalchemy.exc import IntegrityError

from bot.adapters.journal_sql.engine import reading, writing
from bot.adapters.journal_sql.tables import WATCH_NOTES
from bot.domain.ids import TableName
from bot.domain.masking import Masking
from bot.domain.watch import NOTE, WatchNote, note_key


class SqlWatchNotes:
    """The port `WatchNotes` on a SQL database; no secret is written."""

    def __init__(self, engine: Engine, masking: Masking) -> None:
        self._engine = engine
        self._masking = masking

    def add(self, note: WatchNote) -> bool:
        """See the port."""
        body = NOTE.validate_python(self._masking.of(note.model_dump(mode="json")))
        row = {"key": note_key(body), "table_name": body.table, "at": body.at, "body": body.model_dump_json()}
        try:
            with writing(self._engine) as connection:
                connection.execute(insert(WATCH_NOTES).values(row))
        except IntegrityError:
            return False
        return True

    def of(self, table: TableName) -> tuple[WatchNote, ...]:
        """See the port."""
        wanted = select(WATCH_NOTES.c.body).where(WATCH_NOTES.c.table_name == table).order_by(WATCH_NOTES.c.position)
        with reading(self._engine) as connection:
            return tuple(NOTE.validate_json(body) for body in connection.scalars(wanted))

    def find(self, key: str) -> WatchNote | None:
        """See the port."""
        with reading(self._engine) as connection:
            body = connection.scalar(select(WATCH_NOTES.c.body).where(WATCH_NOTES.c.key == key))
        return None if body is None else NOTE.validate_json(body)
