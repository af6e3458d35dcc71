"""The newest schema is known without Alembic, and is the one that Alembic knows."""

from alembic.script import ScriptDirectory

from bot.adapters.journal_sql import Store
from bot.adapters.journal_sql.migrating import migrate, migrate_down
from bot.adapters.journal_sql.schema import MIGRATIONS, is_newest, newest


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
