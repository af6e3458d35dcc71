"""What Waterline relies on in a catalog, on each kind: commits, format 3, repairs on a branch."""

import json
from collections.abc import Callable, Set
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from pyarrow.fs import FileSelector
from pyiceberg.catalog import Catalog
from pyiceberg.table.update import UpgradeFormatVersionUpdate

from bot.actions._effects.handler import Clients
from bot.actions._effects.table import PublishingBranch
from bot.adapters.iceberg import PyIcebergCatalog
from bot.incident.effects import PublishBranch
from bot.incident.entries import EffectStarted
from bot.observation.errors import CommitRefused, CouldNotLook, UnknownTable
from bot.observation.file_changes import FileSources, RowsOfFile
from bot.observation.ids import ProposalId, SnapshotId, TableName
from bot.observation.table import TableState
from bot.ports import FileChange, RowChange, TableChange
from tests.catalogs.orders import Orders

pytestmark = [pytest.mark.slow, pytest.mark.rotating]


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


SMOKE = pytest.mark.parametrize("kind", [pytest.param("sql", marks=pytest.mark.smoke), "rest", "hive", "glue"])
"""`make test` tries it on SQLite each time."""


@SMOKE
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


@SMOKE
def test_a_rewind_moves_head_tag_and_mark_in_one_commit(orders: Orders) -> None:
    """One compare-and-swap; the other engine sees all of it; a second time it is refused."""
    before = orders.ours.load(orders.name)
    good, _, bad = orders.heads

    after = orders.ours.commit(orders.name, rewind(before, good))

    assert good == after.head == orders.table.metadata.current_snapshot_id
    assert {name: ref.snapshot_id for name, ref in orders.table.refs().items()} == {"main": good, "incident-1": bad}
    assert orders.table.properties["waterline.status"] == "under-review"
    assert after == orders.ours.load(orders.name)
    assert orders.table.metadata.metadata_log[-1].metadata_file == before.metadata_location
    assert [s.snapshot_id for s in after.rolled_back] == orders.heads[1:]
    with pytest.raises(CommitRefused, match=rf"expected id {bad}(, found| !=) {good}"):
        orders.ours.commit(orders.name, rewind(before, good, "incident-2"))


@SMOKE
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


@SMOKE
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

    assert orders.ours.commit(orders.name, marked).ref("waterline") == orders.heads[0]
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


BRANCH, KEPT = "recovery-wl-1", "before-wl-1"
MARK = {"waterline.effect": "01J/1"}
INTENT = EffectStarted(proposal=ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P001"), index=0)


def positions(orders: Orders, snapshot: SnapshotId | None = None) -> list[int]:
    """What another reader finds at the head of main, or at this snapshot; sorted."""
    return sorted(orders.table.scan(snapshot_id=snapshot).to_arrow()["position"].to_pylist())


def files_of(orders: Orders) -> Set[str]:
    """Every file below the table's location."""
    files, place = orders.ours.storage.of(orders.name)(orders.table.location())
    return {info.path for info in files.get_file_info(FileSelector(place, recursive=True)) if info.is_file}


def branched(orders: Orders) -> SnapshotId:
    """A branch at the head of main, which is returned."""
    table = orders.ours.load(orders.name)
    assert table.head is not None
    change = TableChange(expected_uuid=table.uuid, expected_head=table.head, new_branches={BRANCH: table.head})
    orders.ours.commit(orders.name, change)
    return table.head


def change_of(orders: Orders, head: SnapshotId, *, add: FileSources | None, remove: FileSources | None) -> FileChange:
    """As it is approved: the exact lists."""
    found = orders.ours.survey_files(orders.name, BRANCH, add=add, remove=remove, columns=("position",))
    uuid = orders.ours.load(orders.name).uuid
    return FileChange(
        expected_uuid=uuid, ref=BRANCH, expected_head=head, add=found.add, remove=found.remove, summary=MARK
    )


def publishes(orders: Orders, base: SnapshotId, head: SnapshotId) -> None:
    """As the effect does it."""
    effect = PublishBranch(table=orders.name, branch=BRANCH, base=base, head=head, keep_head_as=KEPT, drop_branch=True)
    clients = Clients(catalog=orders.ours, jobs={})
    PublishingBranch().perform(effect, INTENT, clients)


def assert_published(orders: Orders, base: SnapshotId, made: SnapshotId) -> None:
    """Main is the repair, what it was is kept, the branch is gone, and a writer goes on above it."""
    table = orders.ours.load(orders.name)
    assert (table.head, table.ref(KEPT), table.ref(BRANCH)) == (made, base, None)
    assert [each.snapshot_id for each in table.chain[:2]] == [made, base]
    assert table.by_id[made].summary.items() >= MARK.items()
    assert positions(orders) == [*range(1, 7)]
    above = orders.append(7)
    assert orders.ours.load(orders.name).by_id[above].parent_id == made
    assert positions(orders) == [*range(1, 8)]


def test_a_repeated_commit_is_taken_out_and_the_repair_published(orders: Orders) -> None:
    """Consumers of main see nothing of it before."""
    again = orders.append(5, 6)
    base = branched(orders)

    made = orders.ours.change_files(
        orders.name, change_of(orders, base, add=None, remove=FileSources(added_by=(again,)))
    )
    meanwhile = positions(orders), positions(orders, made)
    publishes(orders, base, made)

    assert meanwhile == ([1, 2, 3, 4, 5, 5, 6, 6], [*range(1, 7)])
    assert_published(orders, base, made)


def test_a_lost_commit_is_added_again_and_the_repair_published(orders: Orders) -> None:
    """It was rolled back; its file is whole."""
    _, good, lost = orders.heads
    orders.table.manage_snapshots().rollback_to_snapshot(good).commit()
    base = branched(orders)

    made = orders.ours.change_files(
        orders.name, change_of(orders, base, add=FileSources(added_by=(lost,)), remove=None)
    )
    meanwhile = positions(orders), positions(orders, made)
    publishes(orders, base, made)

    assert meanwhile == ([*range(1, 5)], [*range(1, 7)])
    assert_published(orders, base, made)


def test_repeated_rows_are_deleted_by_their_places_and_the_repair_published(orders: Orders) -> None:
    """The delete file lies on the table's own storage, and other readers apply it."""
    again = orders.append(4, 5)
    base = branched(orders)
    entries = orders.table.inspect.entries(snapshot_id=again).to_pylist()
    [path] = [each["data_file"]["file_path"] for each in entries if each["snapshot_id"] == again]
    uuid = orders.ours.load(orders.name).uuid
    rows = (RowsOfFile(path=path, spans=((0, 1),)),)

    made = orders.ours.delete_rows(
        orders.name, RowChange(expected_uuid=uuid, ref=BRANCH, expected_head=base, rows=rows, summary=MARK)
    )
    meanwhile = positions(orders), positions(orders, made)
    publishes(orders, base, made)

    assert meanwhile == ([1, 2, 3, 4, 4, 5, 5, 6], [*range(1, 7)])
    assert_published(orders, base, made)


def test_a_repair_over_whose_base_somebody_committed_is_not_published(orders: Orders) -> None:
    """The commit on main stays, and so does the branch."""
    again = orders.append(5, 6)
    base = branched(orders)
    made = orders.ours.change_files(
        orders.name, change_of(orders, base, add=None, remove=FileSources(added_by=(again,)))
    )
    unforeseen = orders.append(7)

    with pytest.raises(CommitRefused, match=rf"expected id {base}(, found| !=) {unforeseen}"):
        publishes(orders, base, made)

    table = orders.ours.load(orders.name)
    assert (table.head, table.ref(BRANCH), table.ref(KEPT)) == (unforeseen, made, None)


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


def test_a_repair_that_a_commit_overtakes_is_refused_and_leaves_no_file(orders: Orders) -> None:
    """Its sequence number is somebody else's by then."""
    again = orders.append(5, 6)
    base = branched(orders)
    change = change_of(orders, base, add=None, remove=FileSources(added_by=(again,)))
    raced = Raced("lake", dict(orders.properties), orders.ours._clock)
    raced.happens = lambda: orders.append(7)
    before = files_of(orders)

    with pytest.raises(CommitRefused, match="The catalog refused"):
        raced.change_files(orders.name, change)

    raced.close()
    table = orders.ours.load(orders.name)
    assert table.ref(BRANCH) == base
    assert positions(orders) == [1, 2, 3, 4, 5, 5, 6, 6, 7]
    newest = {path.rpartition("/")[2] for path in files_of(orders) - before}
    assert len([name for name in newest if name.endswith(".avro")]) == 2, newest


def becomes_format_3(orders: Orders) -> None:
    """Another engine upgrades the table."""
    table = orders.table
    if orders.kind == "rest":
        orders.catalog.commit_table(table, (), (UpgradeFormatVersionUpdate(format_version=3),))
        return
    with table.io.new_input(table.metadata_location).open() as stream:
        upgraded = json.loads(stream.read()) | {"format-version": 3, "next-row-id": 0}
    with table.io.new_output(table.metadata_location).create(overwrite=True) as stream:
        stream.write(json.dumps(upgraded).encode())


@SMOKE
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
            summary={}
        ),
    )  # fmt: skip
    meanwhile = positions(orders)
    publishes(orders, base, made)

    assert meanwhile == sorted([*range(1, 7), 5, 6, 4, 5])
    assert positions(orders) == [*range(1, 7)]
    table = orders.ours.load(orders.name)
    assert (table.head, table.ref(KEPT), table.format_version) == (made, base, 3)


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
