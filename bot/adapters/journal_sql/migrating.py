"""Moves the record's schema, by Alembic. Imported only where there is something to move: it weighs eight megabytes."""

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection

from bot.adapters.journal_sql.schema import MIGRATIONS
from bot.observation.errors import BadConfiguration


def migrate(connection: Connection, revision: str = "head") -> None:
    """Move the schema up to `revision` (`head`: the newest) inside the connection's transaction.

    Raises BadConfiguration for a schema that a newer Waterline made.
    """
    try:
        command.upgrade(_config(connection), revision)
    except CommandError as unknown:
        shown = connection.engine.url.render_as_string(hide_password=True)
        raise BadConfiguration(
            f"The record at {shown} has a schema that this version does not know.",
            f"Alembic said: {unknown}.",
            "Start the version of Waterline that wrote it, or a newer one. Nothing was changed.",
        ) from unknown


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
