"""An empty record on SQLite is migrated once a process: whoever opens another one gets the same tables at once.

A record that is not empty, another revision and another database run the real migrations.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, inspect

from bot.adapters.journal_sql import migrating


@contextmanager
def remembered_schema() -> Iterator[None]:
    """While it lasts."""
    really, statements = migrating.migrate, list[str]()

    def migrate(connection: Connection, revision: str = "head") -> None:
        is_new = connection.dialect.name == "sqlite" and not inspect(connection).get_table_names()
        if revision != "head" or not is_new:
            really(connection, revision)
        elif statements:
            for statement in statements:
                connection.exec_driver_sql(statement)
        else:
            really(connection, revision)
            statements.extend(_told(connection))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrating, "migrate", migrate)
        yield


def _told(connection: Connection) -> Iterator[str]:
    """What makes these tables, and says which revision they are of; nothing else is in them."""
    made = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE sql NOTNULL AND name NOT LIKE 'sqlite_%'")
    yield from made.scalars()
    (revision,) = connection.exec_driver_sql("SELECT version_num FROM alembic_version").one()
    yield f"INSERT INTO alembic_version VALUES ('{revision}')"  # noqa: S608 - our own
