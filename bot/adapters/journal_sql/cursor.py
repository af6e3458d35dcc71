"""How far each projection of the journal has come."""

from sqlalchemy import Engine, select

from bot.adapters.journal_sql.engine import put_row, reading
from bot.adapters.journal_sql.tables import CURSORS
from bot.domain.ids import IncidentId


class SqlCursor:
    """The port `Cursor` on a SQL database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, name: str, incident: IncidentId) -> int:
        """Last seq that was projected; 0 at first."""
        place = select(CURSORS.c.seq).where(CURSORS.c.name == name, CURSORS.c.incident_id == incident)
        with reading(self._engine) as connection:
            return connection.scalar(place) or 0

    def all(self, name: str) -> dict[IncidentId, int]:
        """The same of every incident of which any was projected. Cost: one query."""
        places = select(CURSORS.c.incident_id, CURSORS.c.seq).where(CURSORS.c.name == name)
        with reading(self._engine) as connection:
            return {IncidentId(row.incident_id): row.seq for row in connection.execute(places)}

    def set(self, name: str, incident: IncidentId, seq: int) -> None:
        """Remember it."""
        put_row(self._engine, CURSORS, {"name": name, "incident_id": incident}, {"seq": seq})
