"""What Waterline relies on in a catalog, asked of each kind: SQL, REST, Hive, Glue."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from bot.domain.errors import CommitRefused, UnknownTable
from bot.domain.ids import SnapshotId, TableName
from bot.domain.table import TableState
from bot.ports import TableChange
from tests.catalogs.orders import Orders

pytestmark = pytest.mark.slow


def rewind(table: TableState, to: SnapshotId, tag: str = "incident-1") -> TableChange:
    """The table's part of a rewind, as it is approved."""
    assert table.head is not None
    return TableChange(
        expected_uuid=table.uuid,
        expected_head=table.head,
        move_main_to=to,
        new_tags={tag: table.head},
        set_properties={"waterline.status": "under-review"},
    )


@pytest.mark.smoke
def test_a_table_is_read_with_its_history_tags_and_properties(orders: Orders) -> None:
    """The same state whatever serves it: snapshots with their Flink summary, refs, head moves, properties."""
    first, second, third = orders.heads
    orders.table.manage_snapshots().create_tag(second, "approved").commit()

    table = orders.ours.load(orders.name)

    assert [(s.snapshot_id, s.parent_id, s.checkpoint_id) for s in table.snapshots] == [
        (first, None, 1),
        (second, first, 3),
        (third, second, 5),
    ]
    assert {ref.name: ref.snapshot_id for ref in table.refs} == {"main": third, "approved": second}
    assert [move.snapshot_id for move in table.head_moves] == [first, second, third]
    assert table.properties["owner"] == "ana"
    assert orders.name in orders.ours.tables()


def test_the_pointer_and_what_expired_are_told(orders: Orders) -> None:
    """The watch asks for the pointer alone; older metadata files still tell of an expired commit."""
    before = orders.ours.pointer(orders.name)
    orders.table.maintenance.expire_snapshots().by_id(gone := orders.heads[0]).commit()

    table = orders.ours.load(orders.name)

    assert before != table.metadata_location == orders.ours.pointer(orders.name)
    assert [gone] == [each.snapshot_id for each in orders.ours.expired(table)]
    assert gone not in table.by_id


def test_a_rewind_moves_head_tag_and_mark_in_one_commit(orders: Orders) -> None:
    """One compare-and-swap; the other engine sees all of it; a second time it is refused."""
    before = orders.ours.load(orders.name)
    good, _, bad = orders.heads

    after = orders.ours.commit(orders.name, rewind(before, good))

    assert good == after.head == orders.table.metadata.current_snapshot_id
    assert {name: ref.snapshot_id for name, ref in orders.table.refs().items()} == {"main": good, "incident-1": bad}
    assert orders.table.properties["waterline.status"] == "under-review"
    assert after == orders.ours.load(orders.name)
    with pytest.raises(CommitRefused, match=rf"expected id {bad}(, found| !=) {good}"):
        orders.ours.commit(orders.name, rewind(before, good, "incident-2"))


def test_a_commit_that_was_not_foreseen_is_never_lost(orders: Orders) -> None:
    """A head that moved after the approval refuses the change whole: no tag, no property, no move."""
    approved = orders.ours.load(orders.name)
    unforeseen = orders.append(99)

    with pytest.raises(CommitRefused, match=rf"expected id {approved.head}(, found| !=) {unforeseen}"):
        orders.ours.commit(orders.name, rewind(approved, orders.heads[0]))

    now = orders.ours.load(orders.name)
    assert unforeseen == now.head
    assert [ref.name for ref in now.refs] == ["main"]
    assert "waterline.status" not in now.properties


@pytest.mark.parametrize("kind", ["sql", "rest", "hive"])
def test_of_two_rewinds_at_once_one_is_refused(orders: Orders) -> None:
    """Both saw the same head; the catalog lets exactly one of them through.

    Glue compares, too, but moto's does not: see `test_glue`.
    """
    before, good = orders.ours.load(orders.name), orders.heads[0]
    start = Barrier(2)

    def one(tag: str) -> str:
        start.wait(10)
        try:
            orders.ours.commit(orders.name, rewind(before, good, tag))
        except CommitRefused:
            return "refused"
        return "applied"

    with ThreadPoolExecutor(2) as pool:
        told = sorted(pool.map(one, ("incident-1", "incident-2")))

    assert told == ["applied", "refused"]
    assert len([ref for ref in orders.table.refs() if ref.startswith("incident-")]) == 1


def test_tags_and_properties_come_and_go_beside_a_writer(orders: Orders) -> None:
    """The trust mark names no head: the writer goes on, and its commits stay."""
    before = orders.ours.load(orders.name)
    marked = TableChange(
        expected_uuid=before.uuid,
        expected_head=None,
        set_tags={"waterline": orders.heads[0]},
        set_properties={"waterline.status": "under-review"},
    )
    newest = orders.append(7)

    orders.ours.commit(orders.name, marked)
    after = orders.ours.commit(
        orders.name,
        TableChange(
            expected_uuid=before.uuid,
            expected_head=None,
            remove_refs=("waterline",),
            remove_properties=("waterline.status",),
        ),
    )

    assert newest == after.head
    assert [ref.name for ref in after.refs] == ["main"]
    assert "waterline.status" not in after.properties


def test_a_table_that_is_not_there_is_told_from_a_catalog_that_does_not_answer(orders: Orders) -> None:
    """The catalog answered: there is no such table."""
    with pytest.raises(UnknownTable, match="the catalog does not know it"):
        orders.ours.load(TableName(f"{orders.name.rpartition('.')[0]}.nothing"))
