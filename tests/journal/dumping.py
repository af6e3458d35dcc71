"""Keeps what a release leaves behind: `python -m tests.journal.dumping` writes the newest schema with a record in it.

Run once for each new migration. The dumps of older revisions were written by the code of their time and stay as they
are: from each of them the record must come up to date.
"""

import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from alembic.migration import MigrationContext

from bot.adapters.journal_sql import Store, open_store
from bot.ports import Delivery, Post
from tests.incidents import Story
from tests.orders_table import NINE
from tests.postgres import postgres_server

RELEASED = Path(__file__).parent / "released"


def fill(store: Store) -> None:
    """Two incidents; of deliveries and of posts one waiting, one under way, one done; pauses and cursors."""
    Story(store.journal).whole()
    open_one = Story(store.journal).opens().answers()
    for number, key in enumerate(("done", "broken", "taken", "waiting")):
        at = NINE + timedelta(seconds=number)
        store.inbox.put(Delivery(key=key, kind="command", payload='{"text": "status"}', received_at=at))
    for key in ("done", "broken", "taken"):
        delivery = store.inbox.claim(NINE)
        assert delivery is not None
        if key != "taken":
            store.inbox.done(delivery, None if key == "done" else "ref 9f: no such table")
    for number, key in enumerate(("wl-2/card", "wl-2/failed", "wl-2/sending", "wl-2/queued")):
        store.outbox.put(Post(key=key, incident=open_one.id, channel=f"C{number}", text=f"“{key}” · ünï"))
    for key in ("wl-2/card", "wl-2/failed", "wl-2/sending"):
        store.outbox.claim(NINE)
        if key == "wl-2/card":
            store.outbox.sent(key, 1, "1762160400.000100")
        elif key == "wl-2/failed":
            store.outbox.failed(key, 1, "channel_not_found")
    store.outbox.postpone("wl-2/failed", NINE + timedelta(seconds=30), "429", whole_channel=True)
    store.cursor.set("slack", open_one.id, 5)


def revision_of(store: Store) -> str:
    """The schema's revision."""
    with store.engine.connect() as connection:
        return str(MigrationContext.configure(connection).get_current_revision())


def main() -> None:
    """Both databases."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "record.db"
        store = open_store(f"sqlite:///{path}")
        fill(store)
        revision = revision_of(store)
        store.engine.dispose()
        with closing(sqlite3.connect(path)) as connection:
            _keep(revision, "sqlite", "\n".join(connection.iterdump()) + "\n")
    with postgres_server() as server:
        url = server.new_database()
        store = open_store(url)
        fill(store)
        _keep(revision, "postgresql", server.dump(url))
        store.engine.dispose()


def _keep(revision: str, database: str, dump: str) -> None:
    path = RELEASED / f"{revision}.{database}.sql"
    if path.exists():
        sys.exit(f"{path.name} is kept already: a released schema does not change. Write a migration.")
    path.write_text(dump, encoding="utf-8")


if __name__ == "__main__":
    main()
