"""Tables of format 3: moves of main, changes of files, and rows deleted by their places, read back by Spark."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.actions._effects.branch import DeletingRows
from bot.actions._effects.handler import Clients
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.incident.effects import DeleteRows
from bot.incident.entries import EffectStarted
from bot.observation.errors import CommitRefused
from bot.observation.file_changes import FileSources, RowsOfFile
from bot.observation.ids import IncidentId, ProposalId
from bot.ports import TableChange
from tests.format_3 import NAME, OrdersOfFormat3
from tests.repairs.conftest import Reads
from tests.repairs.java_expiry import expires_all_but_the_head
from tests.repairs.test_file_changes import BRANCH, Rehearsal, deleting, file_of
from tests.tables import ORDERS, OrdersTable, lake_in

INTENT = EffectStarted(proposal=ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P001"), index=0)


@pytest.fixture
def orders3(tmp_path: Path, writer: SparkSession) -> OrdersOfFormat3:
    """An empty `sales.orders` of format 3, whose commits share manifests."""
    return OrdersOfFormat3(tmp_path, writer, **{"commit.manifest.min-count-to-merge": "2"})


@pytest.fixture
def lake(tmp_path: Path, orders3: OrdersOfFormat3) -> Iterator[PyIcebergCatalog]:
    """The adapter on that table."""
    adapter = PyIcebergCatalog("lake", lake_in(tmp_path), SystemClock())
    yield adapter
    adapter.close()


def test_main_goes_back_and_whatever_pyiceberg_does_not_know_stays(
    orders3: OrdersOfFormat3, lake: PyIcebergCatalog
) -> None:
    """The file before is taken as it is; Spark goes on upon what was written, with ids that no row had."""
    good = orders3.commits("a", 1, range(10))
    head = orders3.commits("a", 2, range(10, 20))
    table = lake.load(ORDERS)
    before = Path(table.metadata_location.removeprefix("file:"))
    known = json.loads(before.read_text())
    unknown = {"encryption-keys": [{"key-id": "k", "encrypted-key-metadata": "a2V5"}], "of-tomorrow": {"a": 1}}
    before.write_text(json.dumps({**known, **unknown}))

    after = lake.commit(
        ORDERS,
        TableChange(
            expected_uuid=table.uuid, expected_head=head, move_main_to=good, new_tags={"before": head},
            set_properties={"waterline.status": "trusted"}
        ),
    )  # fmt: skip

    written = json.loads(Path(after.metadata_location.removeprefix("file://")).read_text())
    assert (after.head, after.ref("before")) == (good, head)
    assert written.items() >= {**unknown, "snapshots": known["snapshots"], "schemas": known["schemas"]}.items()
    assert (written["next-row-id"], written["format-version"]) == (known["next-row-id"], 3)
    orders3.commits("a", 2, range(10, 15))
    ids = orders3.row_ids()
    assert sorted(ids) == list(range(15))
    assert [ids[n] for n in range(10)] == [[n] for n in range(10)]
    assert min(ids[10]) >= known["next-row-id"]


def test_a_repeated_commit_goes_and_every_other_row_keeps_its_id(
    orders3: OrdersOfFormat3, lake: PyIcebergCatalog
) -> None:
    """Also in a manifest that is written anew, where the ids followed from the places before."""
    orders3.commits("a", 1, range(10))
    again = orders3.commits("a", 1, range(10))
    orders3.commits("a", 2, range(10, 20))
    before = orders3.row_ids()
    rehearsal = Rehearsal(lake)

    rehearsal.does(remove=FileSources(added_by=(again,)))

    assert orders3.row_ids() == before
    assert orders3.row_ids(BRANCH) == {n: before[n][:1] for n in range(20)}


def test_a_lost_commit_is_added_again_with_ids_of_its_own(orders3: OrdersOfFormat3, lake: PyIcebergCatalog) -> None:
    """No id is given twice, neither by the repair nor by what is written after it."""
    good = orders3.commits("a", 1, range(10))
    lost = orders3.commits("a", 2, range(10, 20))
    orders3.says(f"CALL lake.system.rollback_to_snapshot('{ORDERS}', {good})")
    rehearsal = Rehearsal(lake)

    rehearsal.does(add=FileSources(added_by=(lost,)))
    orders3.says(f"CALL lake.system.fast_forward('{ORDERS}', 'main', '{BRANCH}')")
    orders3.commits("a", 3, range(20, 30))

    ids = orders3.row_ids()
    assert sorted(ids) == list(range(30))
    given = [each for of_position in ids.values() for each in of_position]
    assert len(set(given)) == 30
    assert [ids[n] for n in range(10)] == [[n] for n in range(10)]
    assert min(ids[10]) >= 20


def test_rows_go_by_their_places_and_what_was_deleted_before_stays_deleted(
    orders3: OrdersOfFormat3, lake: PyIcebergCatalog
) -> None:
    """Of a file there is one deletion vector: Spark's is taken up in ours, and ours in Spark's next."""
    first = orders3.commits("a", 1, range(10))
    orders3.commits("a", 2, range(10, 20))
    orders3.deletes(3, 12)
    rehearsal = Rehearsal(lake)
    [path] = orders3.files(first)

    lake.delete_rows(ORDERS, deleting(lake, RowsOfFile(path=path, spans=((0, 1), (5, 5)))))

    left = [n for n in range(20) if n not in {0, 1, 3, 5, 12}]
    assert sorted(orders3.row_ids(BRANCH)) == left
    assert sorted(orders3.row_ids()) == [n for n in range(20) if n not in {3, 12}]
    branch = lake.load(ORDERS).ref(BRANCH)
    assert branch not in {None, rehearsal.base}
    orders3.says(f"CALL lake.system.fast_forward('{ORDERS}', 'main', '{BRANCH}')")
    orders3.deletes(7)
    assert sorted(orders3.row_ids()) == [n for n in left if n != 7]


@pytest.mark.parametrize(("approved", "is_exact"), [(((0, 1), (5, 5)), True), (((0, 1),), False)])
def test_rows_that_were_deleted_before_are_not_counted_as_deleted_by_the_repair(
    orders3: OrdersOfFormat3, lake: PyIcebergCatalog, approved: tuple[tuple[int, int], ...], is_exact: bool
) -> None:
    """The new deletion vector holds their places, too; nobody approved them, and the repair may be published."""
    first = orders3.commits("a", 1, range(10))
    orders3.commits("a", 2, range(10, 20))
    orders3.deletes(3, 12)
    Rehearsal(lake)
    [path] = orders3.files(first)
    clients = Clients(catalog=lake, jobs={})
    effect = DeleteRows(
        table=ORDERS, branch=BRANCH, incident=IncidentId("wl-1"), why="Delete extra copies",
        rows=(RowsOfFile(path=path, spans=((0, 1), (5, 5))),),
    )  # fmt: skip
    intent = DeletingRows().prepare(effect, INTENT, clients.world(ORDERS), None)

    DeletingRows().perform(effect, intent, clients)
    told = effect.model_copy(update={"rows": (RowsOfFile(path=path, spans=approved),)})
    whole, exact = DeletingRows().checks(told, intent, clients.world(ORDERS))

    assert sorted(orders3.row_ids(BRANCH)) == [2, 4, *range(6, 12), *range(13, 20)]
    assert (whole.passed, exact.passed) == (True, is_exact), exact
    assert exact.sentence.startswith("3 rows were deleted")


def test_with_a_file_its_deletion_vector_goes(
    orders3: OrdersOfFormat3, lake: PyIcebergCatalog, writer: SparkSession
) -> None:
    """The format wants it gone; that of another file stays. The survey tells of it."""
    again = orders3.commits("a", 1, range(10))
    orders3.commits("a", 2, range(10, 20))
    whole = orders3.commits("a", 3, range(20, 30))
    orders3.deletes(3, 12)
    rehearsal = Rehearsal(lake)

    told = [rehearsal.survey(remove=FileSources(added_by=(each,))).has_position_deletes for each in (again, whole)]
    made = rehearsal.does(remove=FileSources(added_by=(again,)))

    assert told == [True, False]
    assert sorted(orders3.row_ids(BRANCH)) == [n for n in range(10, 30) if n != 12]
    table = lake.load(ORDERS)
    left = (
        writer.read.format("iceberg").option("versionAsOf", str(made)).load(f"{table.metadata_location}#delete_files")
    )
    assert [row["record_count"] for row in left.collect()] == [1]


@pytest.mark.slow
def test_a_file_that_another_commit_names_outlives_the_expiry_of_the_repair(
    orders3: OrdersOfFormat3, lake: PyIcebergCatalog
) -> None:
    """No entry says that it was deleted: Iceberg's Java would go by that."""
    [path] = orders3.files(orders3.commits("a", 1, range(10)))
    twice = f"source_table => '`parquet`.`{path}`', check_duplicate_files => false"
    orders3.says(f"CALL lake.system.add_files(table => '{ORDERS}', {twice})")
    rehearsal = Rehearsal(lake)
    rehearsal.does(remove=FileSources(added_by=(orders3.head,)))
    _published(orders3)

    expires_all_but_the_head(orders3.folder)

    assert sorted(orders3.row_ids()) == [*range(10), *range(20, 30)]


@pytest.mark.slow
def test_a_vector_in_one_puffin_file_with_that_of_a_dropped_file_outlives_the_expiry_of_the_repair(
    orders3: OrdersOfFormat3, lake: PyIcebergCatalog
) -> None:
    """The file of vectors is named by the other one still: without it, deleted rows would come back, or nothing be
    read."""
    again = orders3.commits("a", 1, range(10))
    orders3.commits("a", 2, range(10, 20))
    orders3.deletes(3, 12)
    rehearsal = Rehearsal(lake)
    rehearsal.does(remove=FileSources(added_by=(again,)))
    _published(orders3)

    expires_all_but_the_head(orders3.folder)

    assert sorted(orders3.row_ids()) == [n for n in range(10, 30) if n != 12]


def test_a_table_that_was_of_format_2_is_repaired_as_what_it_is_now(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads, spark: SparkSession
) -> None:
    """Manifests from before know no ids of rows: every row gets one, and none is given twice."""
    orders.commits("a", 1, range(10))
    again = orders.commits("a", 1, range(10))
    leaked = str(orders.leaves_manifest("a", 2, {"00000-0-leak-00001.parquet": range(10, 15)}))
    last = file_of(orders, orders.commits("a", 3, range(15, 20)))
    orders.becomes_format_3()
    rehearsal = Rehearsal(catalog)

    rehearsal.does(remove=FileSources(added_by=(again,)), add=FileSources(manifests=(leaked,)))
    made = catalog.delete_rows(ORDERS, deleting(catalog, RowsOfFile(path=last, spans=((1, 2),))))

    assert reads(made) == [*range(16), 18, 19]
    table = catalog.load(ORDERS)
    rows = spark.read.format("iceberg").option("versionAsOf", str(made)).load(table.metadata_location)
    ids = [row[0] for row in rows.select("_row_id").collect()]
    assert None not in ids
    assert len(set(ids)) == 18


def test_beside_delete_files_from_before_format_3_no_vector_is_written(
    orders: OrdersTable, catalog: PyIcebergCatalog, reads: Reads
) -> None:
    """Readers pass over such files where a data file has a vector: what they delete would come back."""
    first = file_of(orders, orders.commits("a", 1, range(10)))
    rehearsal = Rehearsal(catalog)
    before = catalog.delete_rows(ORDERS, deleting(catalog, RowsOfFile(path=first, spans=((3, 3),))))
    orders.becomes_format_3()

    with pytest.raises(CommitRefused, match="delete files from before format 3"):
        catalog.delete_rows(ORDERS, deleting(catalog, RowsOfFile(path=first, spans=((5, 5),))))

    assert catalog.load(ORDERS).ref(BRANCH) == before != rehearsal.base
    assert reads(before) == [0, 1, 2, *range(4, 10)]


def _published(orders3: OrdersOfFormat3) -> None:
    """Main goes to the branch, which goes, and a commit follows."""
    orders3.says(f"CALL lake.system.fast_forward('{ORDERS}', 'main', '{BRANCH}')")
    orders3.says(f"ALTER TABLE {NAME} DROP BRANCH `{BRANCH}`")
    orders3.commits("a", 3, range(20, 30))
