"""The chain: any change to any column of any line is found and named."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store
from bot.domain.errors import CouldNotLook
from bot.domain.ids import IncidentId
from bot.domain.journal import Line
from tests.incidents import Story

LINES = 7
COLUMNS = list(Line.__dataclass_fields__)


@pytest.fixture
def written(store: Store, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Two incidents, and a hand on the file that Waterline knows nothing of."""
    Story(store.journal).opens().answers().fails()
    Story(store.journal).opens()
    with closing(sqlite3.connect(tmp_path / "record.db", isolation_level=None)) as connection:
        yield connection


def test_an_untouched_record_has_no_fault(store: Store) -> None:
    """Whole incidents verify, twice."""
    Story(store.journal).whole()
    Story(store.journal).opens()

    assert store.journal.verify() == ()
    assert store.journal.verify() == ()


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("seq", range(1, LINES + 1))
def test_a_changed_column_is_found(store: Store, written: sqlite3.Connection, column: str, seq: int) -> None:
    """Whatever is changed in whatever line, the first line that does not fit is that one."""
    value = {"seq": 99, "incident_id": "wl-2x"}.get(column, "changed")

    written.execute(f'UPDATE journal SET "{column}" = ? WHERE incident_id = ? AND seq = ?', (value, "wl-1", seq))  # noqa: S608

    faults = {str(fault.incident_id): fault for fault in store.journal.verify()}
    assert faults["wl-1"].seq == min(seq, LINES - 1 if column == "incident_id" else LINES)
    assert "wl-2" not in faults


def test_a_body_that_only_looks_the_same_is_found(store: Store, written: sqlite3.Connection) -> None:
    """The text itself is hashed: even a space more is a change."""
    written.execute("UPDATE journal SET body = replace(body, ':', ': ') WHERE incident_id = 'wl-1' AND seq = 4")

    [fault] = store.journal.verify()

    assert (fault.incident_id, fault.seq) == ("wl-1", 4)
    assert "is not what was written" in fault.sentence


@pytest.mark.parametrize("seq", range(1, LINES + 1))
def test_a_removed_line_is_found(store: Store, written: sqlite3.Connection, seq: int) -> None:
    """A hole is named, and so is a tail that was cut off."""
    written.execute("DELETE FROM journal WHERE incident_id = 'wl-1' AND seq = ?", (seq,))

    [fault] = store.journal.verify()

    assert fault.seq == min(seq, LINES - 1)


def test_a_rehashed_line_is_found_by_the_next(store: Store, written: sqlite3.Connection) -> None:
    """Who changes a line and computes its hash anew still breaks the line that follows."""
    columns = ", ".join(f'"{name}"' for name in COLUMNS)
    row = written.execute(f"SELECT {columns} FROM journal WHERE incident_id = 'wl-1' AND seq = 3").fetchone()  # noqa: S608
    forged = Line(**{**dict(zip(COLUMNS, row, strict=True)), "by": "U0EVE00001"})

    written.execute(
        "UPDATE journal SET by = ?, hash = ? WHERE incident_id = 'wl-1' AND seq = 3",
        (forged.by, forged.computed_hash()),
    )

    [fault] = store.journal.verify()
    assert fault.seq == 4
    assert "does not follow" in fault.sentence


@pytest.mark.parametrize("change", ["last_seq = 6", "last_hash = 'ffff'"])
def test_a_changed_anchor_is_found(store: Store, written: sqlite3.Connection, change: str) -> None:
    """The end of the chain is kept apart from it; neither can be changed alone."""
    written.execute(f"UPDATE incidents SET {change} WHERE number = 1")  # noqa: S608

    [fault] = store.journal.verify()

    assert "was written last" in fault.sentence


@pytest.mark.parametrize("statement", ["DELETE FROM incidents", "DELETE FROM journal"])
def test_a_removed_incident_is_found(store: Store, written: sqlite3.Connection, statement: str) -> None:
    """Removing an incident's lines or its anchor is seen; so is removing both, while a later one is left."""
    where = "number = 1" if statement.endswith("incidents") else "incident_id = 'wl-1'"
    written.execute(f"{statement} WHERE {where}")

    first = store.journal.verify()
    written.execute("DELETE FROM incidents WHERE number = 1")
    written.execute("DELETE FROM journal WHERE incident_id = 'wl-1'")
    both = store.journal.verify()

    assert [fault.incident_id for fault in first] == ["wl-1"]
    assert [(fault.incident_id, fault.seq) for fault in both] == [("wl-1", 0)]


def test_a_record_of_another_version_still_verifies(store: Store, written: sqlite3.Connection) -> None:
    """The chain is taken over stored text: a body with a field that this version does not know is whole,
    although it cannot be parsed."""
    rows = written.execute("SELECT * FROM journal WHERE incident_id = 'wl-2' ORDER BY seq").fetchall()
    names = [column[1] for column in written.execute("PRAGMA table_info(journal)")]
    last = Line(**dict(zip(names, rows[-1], strict=True)))
    newer = Line(**{**vars(last), "body": json.dumps({**json.loads(last.body), "added_later": True})})
    written.execute(
        "UPDATE journal SET body = ?, hash = ? WHERE incident_id = 'wl-2' AND seq = ?",
        (newer.body, newer.computed_hash(), newer.seq),
    )
    written.execute("UPDATE incidents SET last_hash = ? WHERE number = 2", (newer.computed_hash(),))

    faults = store.journal.verify()

    assert faults == ()
    with pytest.raises(CouldNotLook, match="waterline record verify"):
        store.journal.entries(IncidentId("wl-2"))
