"""Appends are decided by the database, chained, and kept by the record."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store, open_store
from bot.adapters.journal_sql.schema import METADATA, MIGRATIONS, NEWEST, is_newest
from bot.incident.entries import Body, ExecutionStarted, NoteAdded, NoticeQueued
from bot.incident.journal import GENESIS, Line
from bot.incident.notice import Notice
from bot.observation.errors import BadConfiguration, CouldNotLook, JournalMoved, Refused, UnknownIncident
from bot.observation.ids import IncidentId, ProposalId, TableName
from bot.service.incident_store import IncidentStore
from tests.decisions import ANA
from tests.incidents import Story
from tests.orders_table import NINE
from tests.postgres import Postgres

EXECUTION = ExecutionStarted(proposal=ProposalId("p"))
NOTICE = NoticeQueued(notice=Notice(kind="recovered", revision=1, consumer="bi", channel="C1", text="Hello."))


def test_entries_come_back_as_they_were_appended(store: Store) -> None:
    """What is read is what was written, in order, each following from the one before."""
    story = Story(store.journal).whole()

    read = store.journal.entries(story.id)

    assert [entry.seq for entry in read] == list(range(1, len(read) + 1))
    assert [entry.prev_hash for entry in read] == [GENESIS, *(entry.hash for entry in read[:-1])]
    assert story.incident.closed_reason == "Verified and told."


def test_an_append_returns_what_a_later_read_returns(store: Store) -> None:
    """The answer of an append needs no second look, whatever the text holds."""
    story = Story(store.journal).opens()

    [written] = store.journal.append(story.id, 3, [NoteAdded(text='Ünï "quoted" \\ \x7f …')], by='U"1', at=NINE)

    assert store.journal.entries(story.id)[-1] == written


def test_only_one_of_many_threads_appends_after_the_same_entry(store: Store) -> None:
    """Of eight requests that decided on the same state, exactly one is recorded."""
    story = Story(store.journal).opens()
    together = Barrier(8)

    def append(number: int) -> bool:
        together.wait()
        try:
            store.journal.append(story.id, 3, [NoteAdded(text=str(number))], by=ANA, at=NINE)
        except JournalMoved:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(append, range(8)))

    assert outcomes.count(True) == 1
    assert len(store.journal.entries(story.id)) == 4


@pytest.mark.full
def test_only_one_of_many_processes_starts_an_execution(store: Store, url: str) -> None:
    """Executors in four processes race for one proposal: one wins, the others are told so."""
    Story(store.journal).opens()
    command = [sys.executable, "-m", "tests.journal.writers", url, "execute"]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"

    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = sorted(racer.communicate(timeout=150)[0].strip() for racer in racers)

    assert said == ["refused", "refused", "refused", "won"]
    assert store.journal.verify() == ()


def test_incidents_opened_at_once_get_different_ids_without_holes(url: str) -> None:
    """Ids are wl-1, wl-2, … however many replicas open incidents at the same moment."""
    stores = [open_store(url) for _ in range(4)]

    with ThreadPoolExecutor(8) as threads:
        opened = list(threads.map(lambda n: Story(stores[n % 4].journal).opens(table=TableName(f"t{n}")).id, range(12)))

    assert sorted(opened) == sorted(f"wl-{n}" for n in range(1, 13))
    assert stores[0].journal.incidents() == tuple(f"wl-{n}" for n in range(1, 13))
    for each in stores:
        each.close()


def test_of_two_people_who_open_an_incident_on_a_table_at_once_one_is_first(url: str) -> None:
    """One open incident a table: everybody else is told which one it is, and nothing of theirs is in the record."""
    stores = [open_store(url) for _ in range(4)]
    together = Barrier(8)

    def opens(number: int) -> str:
        together.wait()
        try:
            return Story(stores[number % 4].journal).opens().id
        except Refused as refusal:
            return refusal.happened

    with ThreadPoolExecutor(8) as threads:
        told = sorted(threads.map(opens, range(8)))

    assert told == [*["Incident wl-1 is already open on sales.orders."] * 7, "wl-1"]
    assert stores[0].journal.incidents() == ("wl-1",)
    assert stores[0].journal.verify() == ()
    for each in stores:
        each.close()


def test_a_closed_incident_frees_its_table(store: Store) -> None:
    """The next one may be opened, and only one."""
    Story(store.journal).opens().closes()

    following = Story(store.journal).opens()

    assert following.id == "wl-2"
    with pytest.raises(Refused, match="Incident wl-2 is already open"):
        Story(store.journal).opens()


@pytest.mark.parametrize("body", [EXECUTION, NOTICE], ids=["execution", "notice"])
def test_what_may_exist_once_is_refused_twice(store: Store, body: Body) -> None:
    """A second execution of a proposal, or the same notice again, is refused and leaves nothing behind."""
    story = Story(store.journal).opens().says(body)
    before = store.journal.entries(story.id)

    for _ in range(2):
        with pytest.raises(Refused, match="is already in the record"):
            story.says(NoteAdded(text="beside it"), body)

    assert store.journal.entries(story.id) == before


def test_what_may_exist_once_is_refused_within_one_append(store: Store) -> None:
    """Two equal executions in one append are refused together."""
    story = Story(store.journal).opens()

    with pytest.raises(Refused, match="execution/p is already in the record"):
        story.says(EXECUTION, EXECUTION)

    assert len(store.journal.entries(story.id)) == 3


@pytest.mark.parametrize("after", [0, 2, 4])
def test_an_append_after_another_entry_than_the_last_says_what_it_found(store: Store, after: int) -> None:
    """A request that decided on an old (or imagined) state is told where the record stands."""
    story = Story(store.journal).opens()

    with pytest.raises(JournalMoved, match="found entry 3") as refusal:
        store.journal.append(story.id, after, [NoteAdded(text="late")], by=ANA, at=NINE)

    assert f"Expected entry {after}" in refusal.value.found
    assert len(store.journal.entries(story.id)) == 3


@pytest.mark.parametrize("name", ["wl-7", "wl-01", "wl--1", "7", "", "wl-١"])
def test_an_unknown_incident_has_no_entries_and_takes_none(store: Store, name: str) -> None:
    """Only ids that were given exist; nothing that merely resembles one does."""
    Story(store.journal).opens()

    with pytest.raises(UnknownIncident):
        store.journal.append(IncidentId(name), 0, [NoteAdded(text="lost")], by=ANA, at=NINE)

    assert store.journal.entries(IncidentId(name)) == ()


def test_an_incident_begins_with_its_opening(store: Store) -> None:
    """Nothing else can be the first entry."""
    with pytest.raises(ValueError, match="begins with its opening"):
        store.journal.open(NoteAdded(text="first"), by=ANA, at=NINE)

    assert store.journal.incidents() == ()


def test_appending_nothing_adds_nothing(store: Store) -> None:
    """A decision to do nothing is not an entry, but it still needs the present state."""
    story = Story(store.journal).opens()

    assert store.journal.append(story.id, 3, [], by=ANA, at=NINE) == ()

    with pytest.raises(JournalMoved):
        store.journal.append(story.id, 1, [], by=ANA, at=NINE)


def test_only_newer_entries_are_read_when_asked_so(store: Store) -> None:
    """Whoever knows the first entries of an incident reads the rest, and only that."""
    story = Story(store.journal).opens().answers()
    everything = store.journal.entries(story.id)

    newer = store.journal.entries(story.id, after_seq=2)

    assert newer == everything[2:]
    assert store.journal.entries(story.id, after_seq=len(everything)) == ()


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


def test_the_migrations_make_the_tables_that_the_code_uses(store: Store) -> None:
    """Nothing is in the code that no migration makes, nor the other way round."""
    with store.engine.connect() as connection:
        difference = compare_metadata(MigrationContext.configure(connection), METADATA)

    assert difference == []


def test_opening_again_keeps_the_record(store: Store, url: str) -> None:
    """A second start finds what the first one wrote."""
    story = Story(store.journal).opens()
    store.close()

    again = open_store(url)

    assert again.journal.incidents() == (story.id,)
    again.close()


def test_replicas_may_open_a_new_record_at_once(url: str) -> None:
    """Whoever comes first migrates; the others find the tables."""
    with ThreadPoolExecutor(4) as threads:
        stores = list(threads.map(lambda _: open_store(url), range(4)))

    assert [each.journal.incidents() for each in stores] == [()] * 4
    for each in stores:
        each.close()


def test_a_record_of_a_newer_version_is_left_alone(store: Store, url: str) -> None:
    """An older Waterline says what to start instead of guessing at the tables."""
    with store.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(BadConfiguration, match="Start the version of Waterline that wrote it"):
        open_store(url)


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_store_every_character_is_refused(postgres: Postgres, encoding: str) -> None:
    """What it has is named, and what to create; nothing is made in it."""
    url = postgres.new_database(encoding)

    for _ in range(2):
        with pytest.raises(BadConfiguration) as refusal:
            open_store(url)

    assert "cannot store every character" in refusal.value.happened
    assert f"found {encoding}." in refusal.value.found
    assert "ENCODING 'UTF8' TEMPLATE template0" in refusal.value.remedy
    assert "CREATE TABLE" not in postgres.dump(url)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("sqlite:////no/such/folder/record.db", "unable to open database file"),
        ("somewhere", "Could not parse"),
        ("oracle9://db", "Can't load plugin"),
        ("postgresql+psycopg://tests@127.0.0.1:1/record", "refused"),
    ],
)
def test_a_record_that_cannot_be_opened_says_why(address: str, said: str) -> None:
    """What happened, what was found, what to write."""
    with pytest.raises(BadConfiguration) as refusal:
        open_store(address)

    assert said in refusal.value.found
    assert refusal.value.remedy


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    """Nothing is overwritten."""
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and long enough to be read as one" * 40)

    with pytest.raises(BadConfiguration, match="file is not a database"):
        open_store(f"sqlite:///{path}")

    assert path.read_text().startswith("not a database")


def test_a_cursor_remembers_how_far_a_projection_came(store: Store, url: str) -> None:
    """Per projection and incident, 0 at first, also after a restart."""
    one, two = IncidentId("wl-1"), IncidentId("wl-2")
    before = store.cursor.get("card", one)

    store.cursor.set("card", one, 4)
    store.cursor.set("card", one, 5)
    store.cursor.set("card", one, 5)
    again = open_store(url)

    assert before == 0
    assert again.cursor.get("card", one) == 5
    assert again.cursor.get("card", two) == again.cursor.get("timeline", one) == 0
    again.close()


def test_the_newest_revision_is_alembics() -> None:
    """Whoever adds a migration is told to name it in the schema."""
    assert [NEWEST] == ScriptDirectory(str(MIGRATIONS)).get_heads()


def test_only_the_newest_schema_needs_no_migration(store: Store) -> None:
    """With no table at all, or a revision that is not the newest, there is something to do."""
    with store.engine.begin() as connection:
        at_the_end = is_newest(connection)
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0000'")
        another = is_newest(connection)
        connection.exec_driver_sql("DROP TABLE alembic_version")
        nothing = is_newest(connection)

    assert (True, False, False) == (at_the_end, another, nothing)


def test_every_other_one_goes_on(store: Store) -> None:
    """A newer version writes a kind of entry that this one does not know; who must not pass over it is told."""
    newer = Story(store.journal).opens()
    well = Story(store.journal).opens(table=TableName("sales.refunds"))
    with store.engine.begin() as connection:
        connection.execute(
            text("UPDATE journal SET body = :body WHERE incident_id = :incident"),
            {"body": '{"kind": "of-tomorrow"}', "incident": newer.id},
        )
    incidents = IncidentStore(store.journal, SystemClock())

    assert [each.id for each in incidents.all()] == [well.id]
    assert incidents.open_on(TableName("sales.refunds")) is not None
    with pytest.raises(CouldNotLook):
        incidents.every()
    with pytest.raises(CouldNotLook):
        incidents.get(newer.id)
