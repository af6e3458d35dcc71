"""Opening the record: migrations, cursors, its newest schema, and what this version cannot read."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store, open_store
from bot.adapters.journal_sql.migrating import migrate, migrate_down
from bot.adapters.journal_sql.schema import METADATA, MIGRATIONS, is_newest, newest
from bot.domain.errors import BadConfiguration, CouldNotLook
from bot.domain.ids import IncidentId, TableName
from bot.service.incident_store import IncidentStore
from tests.incidents import Story


def test_the_migrations_make_the_tables_that_the_code_uses(store: Store) -> None:
    """Nothing is in the code that no migration makes, nor the other way round."""
    with store.engine.connect() as connection:
        difference = compare_metadata(MigrationContext.configure(connection), METADATA)

    assert difference == []


def test_migrations_go_down_and_up_again(store: Store) -> None:
    """Every migration can be undone, and done again; twice."""
    for _ in range(2):
        with store.engine.begin() as connection:
            migrate_down(connection)
        left = inspect(store.engine).get_table_names()
        with store.engine.begin() as connection:
            migrate(connection)
        assert left == ["alembic_version"]
        assert Story(store.journal).opens().id == "wl-1"


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
    """A migration that is added is seen, whatever its file is called."""
    told = newest()

    assert told == set(ScriptDirectory(str(MIGRATIONS)).get_heads())


def test_only_the_newest_schema_needs_no_migration(store: Store) -> None:
    """With no table at all, or a revision that is not the newest, there is something to do."""
    with store.engine.begin() as connection:
        at_the_end = is_newest(connection)
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0000'")
        another = is_newest(connection)
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
        migrate_down(connection)
        nothing = is_newest(connection)
        migrate(connection)
        again = is_newest(connection)

    assert (True, False, False, True) == (at_the_end, another, nothing, again)


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
