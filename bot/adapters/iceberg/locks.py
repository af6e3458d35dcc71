"""Whether a Hive metastore's lock guards a table: without it, a commit of ours could overwrite somebody else's."""

from collections.abc import Mapping

from bot.adapters.iceberg.kinds import kind_of
from bot.domain.errors import CommitRefused
from bot.domain.ids import TableName

_LOCKED = "engine.hive.lock-enabled"


def refuse_unlocked(table: TableName, catalog: Mapping[str, str], properties: Mapping[str, str]) -> None:
    """Raises CommitRefused for a table in a Hive metastore whose engines are told to commit without its lock.

    PyIceberg compares under that lock and then writes without comparing again; an engine that does not take the lock
    may commit in between, and its commit would be lost.
    """
    if kind_of(catalog) == "hive" and properties.get(_LOCKED, "true").lower() == "false":
        raise CommitRefused(
            f"Table {table} was not changed: its writers commit without the metastore's lock.",
            f"Expected `{_LOCKED}` not to be false; found it false, so a commit in between could be lost.",
            "Stop every writer and make the change with the engine that writes the table, or let its engines lock.",
        )
