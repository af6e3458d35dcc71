"""The append-only record: one transaction an append, decided by compare-and-swap on the chain's end."""

import json
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from datetime import datetime

from pydantic import TypeAdapter
from sqlalchemy import Connection, Engine, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from bot.adapters.journal_sql.engine import reading, writing
from bot.adapters.journal_sql.schema import INBOX, INCIDENTS, JOURNAL, OPEN_TABLES, iso
from bot.incident.entries import Body, IncidentClosed, IncidentOpened, once_key
from bot.incident.journal import GENESIS, WATERLINE, Anchor, ChainFault, Entry, Line, body_text, chain_fault, parsed
from bot.observation.errors import CouldNotKeep, CouldNotLook, JournalMoved, Refused, UnknownIncident
from bot.observation.ids import IncidentId
from bot.observation.masking import Masking

TIED_TO: ContextVar[tuple[str, str] | None] = ContextVar("tied_to", default=None)
"""Key of the delivery that this thread works on, and the claim by which it was taken."""


def count_with_delivery(connection: Connection, entries: int, by: str) -> None:
    """Say with the entries, in their transaction, whose work they are: after a crash it is not done again.

    What the bot writes on the way, on its own account (the end of a hold, evidence that it collects first), does not
    show that the person's act was carried out, and is not counted.

    Raises CouldNotKeep where the delivery was claimed anew meanwhile, because this process had lost its lock: what that
    claim writes counts, and nothing of this is written.
    """
    tied = TIED_TO.get()
    if tied is None or by == WATERLINE:
        return
    key, claim = tied
    mine = update(INBOX).where(INBOX.c.key == key, INBOX.c.state == "taken", INBOX.c.worker == claim)
    if connection.execute(mine.values(written=INBOX.c.written + entries)).rowcount != 1:
        raise CouldNotKeep(
            "Another process now works on this request.",
            "This process had lost its hold on the record for a moment, and another one took its work over.",
            "Nothing was written here. The other process answers.",
        )


def take_table(connection: Connection, opened: IncidentOpened, number: int) -> None:
    """The table is this incident's until it is closed. Raises Refused if it is another one's; of two at the same
    moment the second meets the primary key, and finds the first when it tries again."""
    holder = connection.scalar(select(OPEN_TABLES.c.number).where(OPEN_TABLES.c.table_name == opened.table))
    if holder is not None:
        raise Refused(
            f"Incident wl-{holder} is already open on {opened.table}.",
            "Expected no open incident on that table; somebody else was first.",
            "Continue in that incident.",
        )
    connection.execute(insert(OPEN_TABLES).values(table_name=opened.table, number=number))


def free_table(connection: Connection, number: int, bodies: Iterable[Body]) -> None:
    if any(isinstance(body, IncidentClosed) for body in bodies):
        connection.execute(delete(OPEN_TABLES).where(OPEN_TABLES.c.number == number))


_COLUMNS = [JOURNAL.c[name] for name in Line.__dataclass_fields__]
_OPEN_ATTEMPTS = 50
_BODY: TypeAdapter[Body] = TypeAdapter(Body)


class SqlJournal:
    """The port `Journal` on a SQL database. It writes no secret. An effect must not hold one either: it would be
    carried out without it."""

    def __init__(self, engine: Engine, masking: Masking) -> None:
        self._engine = engine
        self._masking = masking

    def open(self, body: Body, *, by: str, at: datetime) -> Entry:
        """Begin a new incident under the next free id.

        Raises Refused if one is open on its table. Where the database lets two of these run at once, a primary key
        refuses one, and that one tries again; nothing was written, so that is safe.
        """
        body = self._masked(body)
        if body.kind != "incident-opened":
            raise ValueError(f"an incident begins with its opening, not with {body.kind}")
        for _ in range(_OPEN_ATTEMPTS):
            try:
                with writing(self._engine) as connection:
                    return self._open(connection, body, by, at)
            except IntegrityError:
                continue
        raise JournalMoved(
            "No incident was opened.",
            f"Expected a free number; others took it {_OPEN_ATTEMPTS} times in a row.",
            "Open it again.",
        )

    def _open(self, connection: Connection, body: IncidentOpened, by: str, at: datetime) -> Entry:
        newest = connection.scalar(select(func.max(INCIDENTS.c.number)))
        number = (newest or 0) + 1
        line = _line(IncidentId(f"wl-{number}"), 1, body, by, at, GENESIS)
        take_table(connection, body, number)
        connection.execute(insert(INCIDENTS).values(number=number, last_seq=1, last_hash=line.hash))
        connection.execute(insert(JOURNAL).values(vars(line)))
        count_with_delivery(connection, 1, by)
        return _entry(line)

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        number, bodies = _number(incident), [self._masked(body) for body in bodies]
        try:
            with writing(self._engine) as connection:
                end = self._end(connection, incident, number, after_seq)
                lines: list[Line] = []
                for seq, body in enumerate(bodies, start=after_seq + 1):
                    lines.append(_line(incident, seq, body, by, at, lines[-1].hash if lines else end.hash))
                if lines:
                    self._write(connection, incident, number, after_seq, lines)
                    free_table(connection, number, bodies)
        except IntegrityError as clash:
            raise self._explained(incident, bodies) from clash
        return tuple(_entry(line) for line in lines)

    def _masked(self, body: Body) -> Body:
        """The very same body where nothing is masked, which is nearly always."""
        content = body.model_dump(mode="json")
        masked = self._masking.of(content)
        return body if masked == content else _BODY.validate_json(json.dumps(masked))

    def _end(self, connection: Connection, incident: IncidentId, number: int, after_seq: int) -> Anchor:
        found = connection.execute(
            select(INCIDENTS.c.last_seq, INCIDENTS.c.last_hash).where(INCIDENTS.c.number == number)
        ).first()
        if found is None:
            raise _unknown(incident)
        if found.last_seq != after_seq:
            raise _moved(incident, after_seq, found.last_seq)
        return Anchor(seq=found.last_seq, hash=found.last_hash)

    def _write(
        self, connection: Connection, incident: IncidentId, number: int, after_seq: int, lines: list[Line]
    ) -> None:
        swapped = connection.execute(
            update(INCIDENTS)
            .where(INCIDENTS.c.number == number, INCIDENTS.c.last_seq == after_seq)
            .values(last_seq=lines[-1].seq, last_hash=lines[-1].hash)
        )
        if swapped.rowcount != 1:
            raise _moved(incident, after_seq, None)
        connection.execute(insert(JOURNAL), [vars(line) for line in lines])
        count_with_delivery(connection, len(lines), lines[0].by)

    def _explained(self, incident: IncidentId, bodies: Sequence[Body]) -> Refused | JournalMoved:
        """Which uniqueness was hurt: an entry that may exist only once, or the sequence itself."""
        keys = [key for body in bodies if (key := once_key(incident, body))]
        with reading(self._engine) as connection:
            held = connection.scalars(select(JOURNAL.c.once).where(JOURNAL.c.once.in_(keys))).all()
        repeated = sorted({str(key) for key in held} | {key for key in keys if keys.count(key) > 1})
        if not repeated:
            return _moved(incident, None, None)
        return Refused(
            f"{' and '.join(repeated)} is already in the record.",
            "Expected it once; another request was first.",
            "Nothing was added. Read the incident again to see what happened.",
        )

    def entries(self, incident: IncidentId, after_seq: int = 0) -> tuple[Entry, ...]:
        with reading(self._engine) as connection:
            return tuple(_entry(line) for line in _lines(connection, incident, after_seq))

    def lines(self, incident: IncidentId) -> tuple[Line, ...]:
        with reading(self._engine) as connection:
            return tuple(_lines(connection, incident))

    def incidents(self) -> tuple[IncidentId, ...]:
        """Every incident, oldest first."""
        with reading(self._engine) as connection:
            numbers = connection.scalars(select(INCIDENTS.c.number).order_by(INCIDENTS.c.number))
            return tuple(IncidentId(f"wl-{number}") for number in numbers)

    def ends(self) -> dict[IncidentId, int]:
        with reading(self._engine) as connection:
            rows = connection.execute(select(INCIDENTS.c.number, INCIDENTS.c.last_seq).order_by(INCIDENTS.c.number))
            return {IncidentId(f"wl-{row.number}"): row.last_seq for row in rows}

    def verify(self) -> tuple[ChainFault, ...]:
        """The first fault of every incident whose stored text does not fit its chain; empty when all is whole.

        A cut tail, a missing entry, a missing incident, any changed column and what was put in are found, also
        under numbers that are never given (0 and below), which nobody else reads. Lines and anchors
        that were rewritten together, or the newest incident removed with its anchor, are not: for that,
        compare the last hash with an exported record. *cost*: reads every line once.
        """
        with reading(self._engine) as connection:
            ends = {
                row.number: Anchor(seq=row.last_seq, hash=row.last_hash)
                for row in connection.execute(select(INCIDENTS))
            }
            anchors = {IncidentId(f"wl-{number}"): end for number, end in ends.items()}
            written = connection.scalars(select(JOURNAL.c.incident_id).distinct())
            numbered = (IncidentId(f"wl-{number}") for number in range(1, max(ends, default=0) + 1))
            everyone = dict.fromkeys([*numbered, *anchors, *sorted(map(IncidentId, written))])
            faults = (chain_fault(each, _lines(connection, each, None), anchors.get(each)) for each in everyone)
            return tuple(fault for fault in faults if fault is not None)


def _lines(connection: Connection, incident: IncidentId, after_seq: int | None = 0) -> list[Line]:
    """By rising seq; `after_seq` None: every one that is there."""
    wanted = select(*_COLUMNS).where(JOURNAL.c.incident_id == incident)
    if after_seq is not None:
        wanted = wanted.where(JOURNAL.c.seq > after_seq)
    rows = connection.execute(wanted.order_by(JOURNAL.c.seq))
    return [Line(**row._mapping) for row in rows]


def _line(incident: IncidentId, seq: int, body: Body, by: str, at: datetime, prev_hash: str) -> Line:
    unsealed = Line(
        incident_id=incident,
        seq=seq,
        kind=body.kind,
        once=once_key(incident, body),
        at=iso(at),
        by=by,
        body=body_text(body),
        prev_hash=prev_hash,
        hash="",
    )
    return Line(**{**vars(unsealed), "hash": unsealed.computed_hash()})


def _entry(line: Line) -> Entry:
    try:
        return parsed(line)
    except ValueError as damage:
        raise CouldNotLook(
            f"Entry {line.seq} of {line.incident_id} cannot be read.",
            f"Expected an entry of kind {line.kind}, found text that does not parse as one.",
            "Run `waterline record verify`, which names the first entry that was changed.",
        ) from damage


def _number(incident: IncidentId) -> int:
    number = incident.removeprefix("wl-")
    if not (number.isascii() and number.isdigit() and incident == f"wl-{int(number)}"):
        raise _unknown(incident)
    return int(number)


def _unknown(incident: IncidentId) -> UnknownIncident:
    return UnknownIncident(
        f"There is no incident {incident}.",
        "Incident ids look like wl-12.",
        "List the incidents and use one of their ids.",
    )


def _moved(incident: IncidentId, after_seq: int | None, found: int | None) -> JournalMoved:
    expected = "" if after_seq is None else f"Expected entry {after_seq} to be the last"
    seen = "" if found is None else f", found entry {found}"
    return JournalMoved(
        f"The record of {incident} has changed meanwhile.",
        f"{expected}{seen}." if expected else "Its next entry already exists.",
        "Nothing was added. Read the incident again and decide again.",
    )
