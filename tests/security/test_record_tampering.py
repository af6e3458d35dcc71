"""Whatever is changed, removed, inserted or put into another order in the record is found, wherever it is."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from bot.adapters.journal_sql import open_store
from bot.adapters.journal_sql.engine import create
from bot.adapters.journal_sql.journal import SqlJournal
from bot.cli import app
from bot.incident.exported_record import Seal, asked, seal_fault, seal_of, seals_in
from bot.incident.journal import GENESIS, Anchor, ChainFault, Entry, Line
from bot.observation.errors import BadConfiguration
from bot.observation.ids import IncidentId
from bot.observation.masking import Masking
from tests.incidents import Story
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder

COLUMNS = tuple(Line.__dataclass_fields__)
Rows = list[Line]
Ends = dict[int, Anchor]
Record = dict[IncidentId, tuple[Entry, ...]]
EXAMPLES = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Ends, bytes]:
    """Three incidents, as rows and as a file."""
    path = tmp_path_factory.mktemp("record") / "record.db"
    store = open_store(f"sqlite:///{path}")
    Story(store.journal).whole()
    Story(store.journal).opens().answers().closes()
    Story(store.journal).opens().closes()
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        names = ", ".join(f'"{name}"' for name in COLUMNS)
        rows = [Line(*row) for row in db.execute(f"SELECT {names} FROM journal ORDER BY incident_id, seq")]  # noqa: S608
        ends = {n: Anchor(seq=s, hash=h) for n, s, h in db.execute("SELECT number, last_seq, last_hash FROM incidents")}
    return rows, ends, path.read_bytes()


def found_in(folder: Path, content: bytes, rows: Rows, ends: Ends) -> tuple[tuple[ChainFault, ...], Record]:
    """What `verify` says of the same file with these rows in it; and the entries, where it says nothing."""
    path = folder / "tampered.db"
    path.write_bytes(content)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN")  # a row at a time, each would wait for the disk
        db.execute("DELETE FROM journal")
        db.execute("DELETE FROM incidents")
        marks = ", ".join("?" * len(COLUMNS))
        names = ", ".join(f'"{name}"' for name in COLUMNS)
        db.executemany(f"INSERT INTO journal ({names}) VALUES ({marks})", [tuple(vars(row).values()) for row in rows])  # noqa: S608
        db.executemany("INSERT INTO incidents VALUES (?, ?, ?)", [(n, e.seq, e.hash) for n, e in ends.items()])
        db.execute("COMMIT")
    engine = create(f"sqlite:///{path}")
    journal = SqlJournal(engine, Masking())
    try:
        faults = journal.verify()
        return faults, {} if faults else {each: journal.entries(each) for each in journal.incidents()}
    finally:
        engine.dispose()


def changed(draw: st.DrawFn, rows: Rows) -> Rows:
    """One column of one row says something else."""
    at = draw(st.integers(0, len(rows) - 1))
    column = draw(st.sampled_from(COLUMNS))
    value = draw(st.integers(-9, 99) if column == "seq" else st.text(st.characters(codec="utf-8"), max_size=8))
    return [replace(row, **{column: value}) if place == at else row for place, row in enumerate(rows)]


def removed(draw: st.DrawFn, rows: Rows) -> Rows:
    """Some rows are gone: from the middle, the beginning or the tail."""
    first = draw(st.integers(0, len(rows) - 1))
    return rows[:first] + rows[first + draw(st.integers(1, 5)) :]


def inserted(draw: st.DrawFn, rows: Rows) -> Rows:
    """A row that was never written follows another one, with a hash that is right for it."""
    at = draw(st.integers(0, len(rows) - 1))
    before = rows[at]
    forged = replace(before, seq=before.seq + 1, once=None, by="U0EVE00001", prev_hash=before.hash)
    later = [replace(r, seq=r.seq + 1) if r.incident_id == before.incident_id else r for r in rows[at + 1 :]]
    return [*rows[: at + 1], sealed(forged), *later]


def put_before(draw: st.DrawFn, rows: Rows) -> Rows:
    """A row stands before the first one of an incident, where nobody who reads on from the beginning comes by."""
    firsts = [row for row in rows if row.seq == 1]
    first = firsts[draw(st.integers(0, len(firsts) - 1))]
    forged = replace(first, seq=draw(st.integers(-9, 0)), once=None, by="U0EVE00001", prev_hash=GENESIS)
    return [sealed(forged), *rows]


def reordered(draw: st.DrawFn, rows: Rows) -> Rows:
    """Two rows have changed places."""
    one, other = draw(st.lists(st.integers(0, len(rows) - 1), min_size=2, max_size=2, unique=True))
    swapped = list(rows)
    swapped[one] = replace(rows[other], incident_id=rows[one].incident_id, seq=rows[one].seq)
    swapped[other] = replace(rows[one], incident_id=rows[other].incident_id, seq=rows[other].seq)
    return swapped


def resealed(draw: st.DrawFn, rows: Rows) -> Rows:
    """One row says something else and is hashed anew; the next one still follows from the row that was."""
    at = draw(st.integers(0, len(rows) - 1))
    return [*rows[:at], sealed(replace(rows[at], by="U0EVE00001")), *rows[at + 1 :]]


def rechained(draw: st.DrawFn, rows: Rows) -> Rows:
    """From one row on everything is rewritten and hashed anew; only the ends, kept apart, are forgotten."""
    at = draw(st.integers(0, len(rows) - 1))
    return rewritten(rows, at)


def rewritten(rows: Rows, at: int) -> Rows:
    """One row says something else, and every later row of its incident follows from it."""
    told, prev = list(rows), rows[at].prev_hash
    for place in range(at, len(rows)):
        if rows[place].incident_id != rows[at].incident_id:
            break
        by = "U0EVE00001" if place == at else rows[place].by
        told[place] = sealed(replace(rows[place], by=by, prev_hash=prev))
        prev = told[place].hash
    return told


def sealed(row: Line) -> Line:
    """With the hash that it must carry."""
    return replace(row, hash=row.computed_hash())


@pytest.mark.parametrize("tampered", [changed, removed, inserted, put_before, reordered, resealed, rechained])
@EXAMPLES
@given(data=st.data())
def test_tampering_is_always_found(
    untouched: tuple[Rows, Ends, bytes],
    tmp_path: Path,
    tampered: Callable[[st.DrawFn, Rows], Rows],
    data: st.DataObject,
) -> None:
    """Any change that leaves other rows than were written has a fault; what was not touched has none."""
    rows, ends, content = untouched
    after = tampered(data.draw, rows)
    keys = [(row.incident_id, row.seq) for row in after]
    if len(set(keys)) < len(keys) or len({r.once for r in after if r.once}) < sum(r.once is not None for r in after):
        return  # the database itself refuses it

    faults, _record = found_in(tmp_path, content, after, ends)

    assert bool(faults) == (after != rows)


@EXAMPLES
@given(data=st.data())
def test_a_changed_end_is_found(untouched: tuple[Rows, Ends, bytes], tmp_path: Path, data: st.DataObject) -> None:
    """Cutting a tail and moving the end back to match needs a hash that the end does not have."""
    rows, ends, content = untouched
    number = data.draw(st.sampled_from(sorted(ends)))
    back = Anchor(seq=data.draw(st.integers(1, ends[number].seq - 1)), hash=ends[number].hash)
    kept = [row for row in rows if row.incident_id != f"wl-{number}" or row.seq <= back.seq]

    faults, _record = found_in(tmp_path, content, kept, {**ends, number: back})

    assert [fault.incident_id for fault in faults] == [f"wl-{number}"]


@EXAMPLES
@given(data=st.data())
def test_an_incident_that_nobody_opened_is_found(
    untouched: tuple[Rows, Ends, bytes], tmp_path: Path, data: st.DataObject
) -> None:
    """An end without a chain, whatever number it has."""
    rows, ends, content = untouched
    number = data.draw(st.integers(-9, 9).filter(lambda n: n not in ends))
    forged = {**ends, number: Anchor(seq=1, hash="0" * 64)}

    faults, _record = found_in(tmp_path, content, rows, forged)

    assert f"wl-{number}" in {fault.incident_id for fault in faults}


@EXAMPLES
@given(data=st.data())
def test_a_wholly_rewritten_record_fits_itself_and_no_seal(
    untouched: tuple[Rows, Ends, bytes], tmp_path: Path, data: st.DataObject
) -> None:
    """Rows, hashes and ends are forged together: every seal that was posted from there on names the incident."""
    rows, ends, content = untouched
    at = data.draw(st.integers(0, len(rows) - 1))
    forged = rewritten(rows, at)
    incident, seq = rows[at].incident_id, rows[at].seq
    last = [row for row in forged if row.incident_id == incident][-1]
    new_ends = {**ends, int(incident.removeprefix("wl-")): Anchor(seq=last.seq, hash=last.hash)}

    faults, record = found_in(tmp_path, content, forged, new_ends)
    posted = [Seal(incident_id=IncidentId(row.incident_id), seq=row.seq, hash=row.hash) for row in rows]
    told = {seal: seal_fault(seal, record[seal.incident_id]) for seal in posted}
    broken = [seal for seal in posted if told[seal]]

    assert faults == ()
    assert all(seal.hash[:12] in fault.sentence for seal, fault in told.items() if fault)
    assert broken == [seal for seal in posted if seal.incident_id == incident and seal.seq >= seq]


@EXAMPLES
@given(data=st.data())
def test_a_tail_that_was_cut_together_with_its_end_fits_no_later_seal(
    untouched: tuple[Rows, Ends, bytes], tmp_path: Path, data: st.DataObject
) -> None:
    """An approval that was cut off, or a whole incident that was removed, is missed by its seal."""
    rows, _ends, content = untouched
    keep = data.draw(st.integers(0, len(rows) - 1))
    kept = rows[:keep]
    ends = {int(row.incident_id.removeprefix("wl-")): Anchor(seq=row.seq, hash=row.hash) for row in kept}

    faults, record = found_in(tmp_path, content, kept, ends)
    lost = [Seal(incident_id=IncidentId(row.incident_id), seq=row.seq, hash=row.hash) for row in rows[keep:]]

    assert faults == ()
    assert all(seal_fault(seal, record.get(seal.incident_id, ())) for seal in lost)


def test_the_command_says_which_incident_does_not_fit(tmp_path: Path) -> None:
    """Exit code 1 and the incident with both hashes, or 0 and how many fit."""
    config = tmp_path / "waterline.yaml"
    config.write_text(CONFIG.format(url=f"sqlite:///{tmp_path / 'record.db'}"))
    store = open_store(f"sqlite:///{tmp_path / 'record.db'}")
    story = Story(store.journal).whole()
    entries = store.journal.entries(story.id)
    seals = [seal_of(entries[0]), seal_of(entries[-1])]
    store.close()
    forged = Seal(incident_id=story.id, seq=seals[1].seq, hash="0" * 64)
    runner, base = CliRunner(), ["record", "verify", "--config", str(config)]

    fits = runner.invoke(app, [*base, "--anchor", str(seals[0]), "--anchor", str(seals[1])])
    other = runner.invoke(app, [*base, "--anchor", str(forged)])

    assert fits.exit_code == 0, fits.output
    assert "2 seals: every one fits." in fits.output
    assert other.exit_code == 1
    assert f"wl-1 entry {seals[1].seq}: The record up to entry {seals[1].seq} has changed" in other.output
    assert f"posted 000000000000…, found {seals[1].hash[:12]}…." in " ".join(other.output.split())


def test_what_is_no_seal_is_refused() -> None:
    """A cut or mistyped seal is never taken for one that fits."""
    with pytest.raises(BadConfiguration, match="This is not a seal of a record"):
        asked("wl-1/12/9f86")


CONFIG = """
catalog: {{name: lake, properties: {{type: sql, uri: "sqlite:///nowhere.db"}}}}
journal: {{url: "{url}"}}
tables: {{sales.orders: {{contract: {{key: [order_id]}}, policies: {{default: {{users: [U0BEN00001]}}}}}}}}
"""


def test_the_seal_is_posted_once_with_the_close_and_fits_the_record(
    ana: Responder, bot: LittleBot, tmp_path: Path
) -> None:
    """One message of the thread has it, a restart posts none again, and `record verify` takes it from there."""
    ana.opens()
    ana.asks("close It was planned.")
    ana.sees("Seal of the record")
    bot.restart()
    ana.sees("is closed")
    close = bot.services.store.get(IncidentId("wl-1")).entries[-1]
    (tmp_path / "waterline.yaml").write_text(CONFIG.format(url=f"sqlite:///{bot.folder}/journal.db"))

    posted = [seal for reply in ana.card.replies for seal in seals_in(reply.plain)]
    result = CliRunner().invoke(
        app, ["record", "verify", "--anchor", str(posted[0]), "--config", str(tmp_path / "waterline.yaml")]
    )

    assert posted == [seal_of(close)]
    assert result.exit_code == 0, result.output
