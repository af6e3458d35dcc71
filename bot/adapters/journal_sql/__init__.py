"""The record on SQL: journal, inbox, outbox and cursors in one database. `open_store` is the way in."""

from bot.adapters.journal_sql.store import Store, open_store

__all__ = ["Store", "open_store"]
