"""Every schema that was ever released comes up to date with its record, and goes down again."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from bot.adapters.journal_sql import Store, open_store
from bot.adapters.journal_sql.engine import create
from bot.adapters.journal_sql.membership import takers
from bot.adapters.journal_sql.migrating import migrate, migrate_down
from bot.adapters.journal_sql.schema import METADATA
from bot.domain.errors import Refused
from bot.domain.ids import IncidentId, TableName
from bot.ports import Delivery
from tests.incidents import Story
from tests.journal.dumping import RELEASED, revision_of
from tests.orders_table import NINE
from tests.slack.people import eventually

ONE, TWO = IncidentId("wl-1"), IncidentId("wl-2")
MIGRATIONS = ScriptDirectory(str(Path(__file__).parents[2] / "bot/adapters/journal_sql/migrations"))
READ_SINCE = "0004"
"""Before it nothing was released, and entries had another shape: their lines verify, and are not read any more."""
REVISIONS = sorted(script.revision for script in MIGRATIONS.walk_revisions())


@pytest.fixture(params=REVISIONS)
def revision(request: pytest.FixtureRequest) -> str:
    """Each revision in turn."""
    return str(request.param)


@pytest.fixture
def released(url: str, database: str, revision: str) -> str:
    """URL of a database as that revision left it."""
    dump = (RELEASED / f"{revision}.{database}.sql").read_text(encoding="utf-8")
    if database == "sqlite":
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(dump)
    else:
        with psycopg.connect(url.replace("+psycopg", "")) as connection:
            connection.execute(dump.encode())
    return url


def test_a_released_record_comes_up_to_date(released: str, database: str) -> None:
    """The chain is whole, incidents are read and go on, and what was under way is done once."""
    with closing(open_store(released)) as store:
        faults = store.journal.verify()
        claimed = _claimed(store, database)
        with pytest.raises(Refused, match="Incident wl-2 is open on"):
            Story(store.journal).opens()
        more = Story(store.journal).opens(table=TableName("sales.refunds")).answers()

        assert faults == ()
        assert claimed == (["taken", "waiting"], ["wl-2/sending", "wl-2/queued"])
        assert store.inbox.put(Delivery(key="done", kind="command", payload="{}", received_at=NINE)) is False
        assert store.cursor.get("slack", TWO) == 5
        assert store.journal.incidents() == (ONE, TWO, more.id)
        assert store.journal.verify() == ()


@pytest.mark.parametrize("revision", [each for each in REVISIONS if each >= READ_SINCE])
def test_entries_that_a_release_wrote_are_still_read(released: str) -> None:
    """What an entry has gained since has a value for those from before."""
    with closing(open_store(released)) as store:
        kinds = [entry.body.kind for entry in store.journal.entries(ONE)]

        assert kinds[0] == "incident-opened"
        assert kinds[-1] == "incident-closed"


def test_it_has_the_tables_that_the_code_uses(released: str) -> None:
    """Coming up from a release ends at the same tables as beginning anew."""
    with closing(open_store(released)) as store, store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_it_goes_down_to_its_release_and_up_again(released: str, revision: str, database: str) -> None:
    """Going back to an older version costs none of the record."""
    with closing(open_store(released)) as store:
        with store.engine.begin() as connection:
            migrate_down(connection, revision)
        down = revision_of(store)
        with store.engine.begin() as connection:
            migrate(connection)

        assert down == revision
        assert store.journal.verify() == ()
        assert _claimed(store, database) == (["taken", "waiting"], ["wl-2/sending", "wl-2/queued"])


def test_the_older_tables_can_be_read_on_the_way(released: str, revision: str) -> None:
    """A dump is what it is named for: nothing newer was kept under an older name."""
    engine = create(released)
    with engine.connect() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
    engine.dispose()

    assert found == revision


def _claimed(store: Store, database: str) -> tuple[list[str], list[str]]:
    store.presence.join()
    if database == "postgresql":  # who had taken them is given time to come back
        eventually(lambda: not takers(store.engine))
    deliveries = [each.key for _ in range(3) if (each := store.inbox.claim(NINE))]
    posts = [each.key for _ in range(3) if (each := store.outbox.claim(NINE))]
    return deliveries, posts
