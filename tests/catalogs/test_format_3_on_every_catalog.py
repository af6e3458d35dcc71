"""A table of format 3 on each kind of catalog; SQL, Hive and Glue have their client write its metadata."""

import json
from collections.abc import Callable

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table.update import UpgradeFormatVersionUpdate

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.errors import CommitRefused, CouldNotLook
from bot.domain.file_changes import FileSources, RowsOfFile
from bot.ports import RowChange, TableChange
from tests.catalogs.orders import Orders
from tests.catalogs.test_repairs_on_every_catalog import (
    BRANCH,
    KEPT,
    branched,
    change_of,
    files_of,
    positions,
    publishes,
)

pytestmark = pytest.mark.slow


def becomes_format_3(orders: Orders) -> None:
    """Another engine upgrades the table."""
    table = orders.table
    if orders.kind == "rest":
        orders.theirs.commit_table(table, (), (UpgradeFormatVersionUpdate(format_version=3),))
        return
    with table.io.new_input(table.metadata_location).open() as stream:
        upgraded = json.loads(stream.read()) | {"format-version": 3, "next-row-id": 0}
    with table.io.new_output(table.metadata_location).create(overwrite=True) as stream:
        stream.write(json.dumps(upgraded).encode())


def test_main_goes_back_and_forth(orders: Orders) -> None:
    """With tags and properties, compared with the head that was approved."""
    good, _, head = orders.heads
    becomes_format_3(orders)
    uuid = orders.ours.load(orders.name).uuid
    back = TableChange(
        expected_uuid=uuid, expected_head=head, move_main_to=good, new_tags={KEPT: head}, set_properties={"a": "b"}
    )

    after = orders.ours.commit(orders.name, back)

    assert (after.format_version, after.head, after.ref(KEPT), after.properties["a"]) == (3, good, head, "b")
    assert positions(orders) == [1, 2]
    with pytest.raises(CommitRefused):
        orders.ours.commit(orders.name, back.model_copy(update={"new_tags": {}}))
    forth = TableChange(expected_uuid=uuid, expected_head=good, move_main_to=head)
    assert orders.ours.commit(orders.name, forth).head == head
    assert positions(orders) == [*range(1, 7)]


def test_files_and_rows_are_repaired_and_published(orders: Orders) -> None:
    """A repeated commit goes by its files, repeated rows go by a deletion vector, and rows keep their ids."""
    again = orders.append(5, 6)
    rows = orders.append(4, 5)
    entries = orders.table.inspect.entries(snapshot_id=rows).to_pylist()
    [path] = [each["data_file"]["file_path"] for each in entries if each["snapshot_id"] == rows]
    becomes_format_3(orders)
    base = branched(orders)

    dropped = orders.ours.change_files(
        orders.name, change_of(orders, base, add=None, remove=FileSources(added_by=(again,)))
    )
    uuid = orders.ours.load(orders.name).uuid
    made = orders.ours.delete_rows(
        orders.name,
        RowChange(
            expected_uuid=uuid, ref=BRANCH, expected_head=dropped, rows=(RowsOfFile(path=path, spans=((0, 1),)),),
            summary={},
        ),
    )  # fmt: skip
    meanwhile = positions(orders)
    publishes(orders, base, made)

    assert meanwhile == sorted([*range(1, 7), 5, 6, 4, 5])
    assert positions(orders) == [*range(1, 7)]
    table = orders.ours.load(orders.name)
    assert (table.head, table.ref(KEPT), table.format_version) == (made, base, 3)


class Raced(PyIcebergCatalog):
    """Somebody else commits between our look and our commit."""

    asked = 0
    happens: Callable[[], object]

    def _catalog(self, purpose: str) -> Catalog:  # type: ignore[override]
        if purpose == "commit":
            self.asked += 1
            if self.asked == 2:
                self.happens()
        return super()._catalog(purpose)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_format_3", [True, False])
def test_a_commit_that_only_deletes_on_another_branch_takes_its_sequence_number(
    orders: Orders, is_format_3: bool
) -> None:
    """Neither a head nor an id of a row tells of it; nothing that was approved has changed, and later it may go."""
    again, also = orders.append(5, 6), orders.append(1, 2)
    if is_format_3:
        becomes_format_3(orders)
    head = branched(orders)
    base = orders.ours.change_files(  # which gives every row its id, so that the next commits give none
        orders.name, change_of(orders, head, add=None, remove=FileSources(added_by=(also,)))
    )
    uuid = orders.ours.load(orders.name).uuid
    orders.ours.commit(orders.name, TableChange(expected_uuid=uuid, expected_head=head, new_branches={"other": base}))
    change = change_of(orders, base, add=None, remove=FileSources(added_by=(again,)))
    raced = Raced("lake", dict(orders.properties), orders.ours._clock)
    raced.happens = lambda: orders.ours.change_files(orders.name, change.model_copy(update={"ref": "other"}))
    before = files_of(orders)

    with pytest.raises((CommitRefused, CouldNotLook) if orders.kind == "rest" else CouldNotLook) as told:
        raced.change_files(orders.name, change)

    between = files_of(orders) - before
    made = raced.change_files(orders.name, change)
    raced.close()
    table = orders.ours.load(orders.name)
    numbers = [each.sequence_number for each in table.snapshots]
    assert "equence number" in str(told.value)
    assert len([name for name in between if name.endswith(".avro")]) == 2, between
    assert (table.ref(BRANCH), positions(orders, made)) == (made, [*range(1, 7)])
    assert len(set(numbers)) == len(numbers), numbers
