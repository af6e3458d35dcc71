"""The chain: any change to any column of any line is found and named."""

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, text

from bot.adapters.journal_sql import Store
from bot.domain.errors import CouldNotLook
from bot.domain.ids import IncidentId, TableName
from bot.domain.journal import Line
from tests.incidents import Story

LINES = 7
COLUMNS = list(Line.__dataclass_fields__)


@pytest.fixture
def written(store: Store) -> Iterator["Hand"]:
    """Two incidents, and a hand on the file that Waterline knows nothing of."""
    Story(store.journal).opens().answers().fails()
    Story(store.journal).opens(table=TableName("sales.refunds"))
    with store.engine.connect() as connection:
        yield Hand(connection)


class Hand:
    """Whoever has the database's password and changes it behind Waterline's back."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, **values: object) -> None:
        """Change something, for good."""
        self._connection.execute(text(statement), values)
        self._connection.commit()

    def line(self, incident: str, seq: int) -> Line:
        """One line as it stands."""
        columns = ", ".join(f'"{name}"' for name in COLUMNS)
        wanted = text(f"SELECT {columns} FROM journal WHERE incident_id = :incident AND seq = :seq")  # noqa: S608
        row = self._connection.execute(wanted, {"incident": incident, "seq": seq}).one()
        self._connection.commit()
        return Line(**row._mapping)


def test_an_untouched_record_has_no_fault(store: Store) -> None:
    """Whole incidents verify, twice."""
    Story(store.journal).whole()
    Story(store.journal).opens()

    assert store.journal.verify() == ()
    assert store.journal.verify() == ()


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("seq", range(1, LINES + 1))
def test_a_changed_column_is_found(store: Store, written: Hand, column: str, seq: int) -> None:
    """Whatever is changed in whatever line, the first line that does not fit is that one."""
    value = {"seq": 99, "incident_id": "wl-2x"}.get(column, "changed")

    written.execute(
        f"UPDATE journal SET \"{column}\" = :value WHERE incident_id = 'wl-1' AND seq = :seq",  # noqa: S608
        value=value,
        seq=seq,
    )

    faults = {str(fault.incident_id): fault for fault in store.journal.verify()}
    assert faults["wl-1"].seq == min(seq, LINES - 1 if column == "incident_id" else LINES)
    assert "wl-2" not in faults


def test_a_body_that_only_looks_the_same_is_found(store: Store, written: Hand) -> None:
    """The text itself is hashed: even a space more is a change."""
    written.execute("UPDATE journal SET body = replace(body, ':', ': ') WHERE incident_id = 'wl-1' AND seq = 4")

    [fault] = store.journal.verify()

    assert (fault.incident_id, fault.seq) == ("wl-1", 4)
    assert "does not match its hash" in fault.sentence


@pytest.mark.parametrize("seq", range(1, LINES + 1))
def test_a_removed_line_is_found(store: Store, written: Hand, seq: int) -> None:
    """A hole is named, and so is a tail that was cut off."""
    written.execute("DELETE FROM journal WHERE incident_id = 'wl-1' AND seq = :seq", seq=seq)

    [fault] = store.journal.verify()

    assert fault.seq == min(seq, LINES - 1)


def test_a_rehashed_line_is_found_by_the_next(store: Store, written: Hand) -> None:
    """Who changes a line and computes its hash anew still breaks the line that follows."""
    honest = written.line("wl-1", 3)
    forged = Line(**{**vars(honest), "by": "U0EVE00001"})

    written.execute(
        "UPDATE journal SET by = :by, hash = :hash WHERE incident_id = 'wl-1' AND seq = 3",
        by=forged.by,
        hash=forged.computed_hash(),
    )

    [fault] = store.journal.verify()
    assert fault.seq == 4
    assert "does not follow" in fault.sentence


@pytest.mark.parametrize("change", ["last_seq = 6", "last_hash = 'ffff'"])
def test_a_changed_anchor_is_found(store: Store, written: Hand, change: str) -> None:
    """The end of the chain is kept apart from it; neither can be changed alone."""
    written.execute(f"UPDATE incidents SET {change} WHERE number = 1")  # noqa: S608

    [fault] = store.journal.verify()

    assert "was written last" in fault.sentence


@pytest.mark.parametrize("statement", ["DELETE FROM incidents", "DELETE FROM journal"])
def test_a_removed_incident_is_found(store: Store, written: Hand, statement: str) -> None:
    """Removing an incident's lines or its anchor is seen; so is removing both, while a later one is left."""
    where = "number = 1" if statement.endswith("incidents") else "incident_id = 'wl-1'"
    written.execute(f"{statement} WHERE {where}")

    first = store.journal.verify()
    written.execute("DELETE FROM incidents WHERE number = 1")
    written.execute("DELETE FROM journal WHERE incident_id = 'wl-1'")
    both = store.journal.verify()

    assert [fault.incident_id for fault in first] == ["wl-1"]
    assert [(fault.incident_id, fault.seq) for fault in both] == [("wl-1", 0)]


def test_a_record_of_another_version_still_verifies(store: Store, written: Hand) -> None:
    """The chain is taken over stored text: a body with a field that this version does not know is whole,
    although it cannot be parsed."""
    last = written.line("wl-2", 3)
    newer = Line(**{**vars(last), "body": json.dumps({**json.loads(last.body), "added_later": True})})
    written.execute(
        "UPDATE journal SET body = :body, hash = :hash WHERE incident_id = 'wl-2' AND seq = 3",
        body=newer.body,
        hash=newer.computed_hash(),
    )
    written.execute("UPDATE incidents SET last_hash = :hash WHERE number = 2", hash=newer.computed_hash())

    faults = store.journal.verify()

    assert faults == ()
    with pytest.raises(CouldNotLook, match="waterline record verify"):
        store.journal.entries(IncidentId("wl-2"))
