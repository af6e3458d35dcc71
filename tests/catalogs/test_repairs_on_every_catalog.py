"""A repair on a branch, and its publication by fast-forward, on each kind of catalog: SQL, REST, Hive, Glue."""

from collections.abc import Set

import pytest
from pyarrow.fs import FileSelector
from pyiceberg.catalog import Catalog

from bot.actions._effects import Hands
from bot.actions._effects.publish_branch import PublishingBranch
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.table_files import FolderOfTable
from bot.domain.effects import PublishBranch
from bot.domain.entries import EffectStarted
from bot.domain.errors import CommitRefused
from bot.domain.file_changes import FileSources, RowsOfFile
from bot.domain.ids import ProposalId, SnapshotId
from bot.ports import FileChange, RowChange, TableChange
from tests.catalogs.orders import Orders

pytestmark = pytest.mark.slow
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
    hands = Hands(catalog=orders.ours, jobs={}, files=FolderOfTable(orders.ours.storage))
    PublishingBranch().perform(effect, INTENT, hands)


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
    """Another writer commits between our look and our commit."""

    orders: Orders
    asked = 0

    def _catalog(self, purpose: str) -> Catalog:  # type: ignore[override]
        if purpose == "commit":
            self.asked += 1
            if self.asked == 2:
                self.orders.append(7)
        return super()._catalog(purpose)  # type: ignore[arg-type]


def test_a_repair_that_a_commit_overtakes_is_refused_and_leaves_no_file(orders: Orders) -> None:
    """Its sequence number is somebody else's by then."""
    again = orders.append(5, 6)
    base = branched(orders)
    change = change_of(orders, base, add=None, remove=FileSources(added_by=(again,)))
    raced = Raced("lake", dict(orders.properties), orders.ours._clock)
    raced.orders = orders
    before = files_of(orders)

    with pytest.raises(CommitRefused, match="The catalog refused"):
        raced.change_files(orders.name, change)

    raced.close()
    table = orders.ours.load(orders.name)
    assert table.ref(BRANCH) == base
    assert positions(orders) == [1, 2, 3, 4, 5, 5, 6, 6, 7]
    newest = {path.rpartition("/")[2] for path in files_of(orders) - before}
    assert len([name for name in newest if name.endswith(".avro")]) == 2, newest
