"""A commit that was overwritten in the catalog is still named by a metadata file of its own."""

from pathlib import Path
from uuid import UUID

from sqlalchemy import create_engine, text

from bot.adapters.clock import SystemClock
from bot.adapters.iceberg.catalog import PyIcebergCatalog, unnamed_in
from bot.observation.looked import unread_in
from tests.tables import ORDERS, OrdersTable, lake_in


def test_a_commit_that_the_catalog_passed_over_is_found_with_its_files(tmp_path: Path) -> None:
    """The pointer is set back by hand, and the job commits on: two files have one number, and one is in no log."""
    table = OrdersTable(tmp_path)
    first = table.commits("a", 1, range(10))
    lost = table.commits("a", 2, range(10, 20))
    properties = lake_in(tmp_path)
    with create_engine(properties["uri"]).begin() as database:
        database.execute(text("UPDATE iceberg_tables SET metadata_location = previous_metadata_location"))
    table.commits("a", 3, range(20, 30))
    catalog = PyIcebergCatalog("lake", properties, SystemClock())

    state = catalog.load(ORDERS)
    (found,) = catalog.unnamed_commits(state)

    assert lost not in state.by_id
    assert (found.commit.snapshot_id, found.commit.checkpoint_id) == (lost, 2)
    assert (found.files, found.unreadable) == (1, 0)
    assert found.commit.parent_id == state.by_id[state.head or lost].parent_id

    for each in table.data_folder.rglob("*.parquet"):
        each.unlink()

    assert catalog.unnamed_commits(state)[0].unreadable == 1

    newer = {f"00003-{UUID(int=0)}.metadata.json"}
    below_the_log = unnamed_in(state, newer, properties)
    table.expires(first)
    later = catalog.load(ORDERS)
    expired = unnamed_in(later, {later.metadata_location}, properties)
    Path(found.path.removeprefix("file://")).write_text("{")

    assert [each.commit for each in below_the_log] == [found.commit]
    assert not expired
    assert unread_in(below_the_log) is unread_in(expired) is None
    assert "1 metadata file" in str(unread_in(unnamed_in(state, newer, properties)))
    assert not (damaged := catalog.unnamed_commits(state))
    assert "1 metadata file" in str(unread_in(damaged))
    catalog.close()
    table.close()
