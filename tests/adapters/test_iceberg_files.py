"""Metadata and files of a table: lost, named, spelled, and deletion vectors."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.deletion_vector import DeletionVector, deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

import bot.diagnosis
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.iceberg.format_v3 import places_in, puffin_of, vector_of
from bot.adapters.table_files import FolderOfTable
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from bot.incident.diagnosis import Excluded, Remedy
from bot.observation.contract import TableContract
from bot.observation.errors import CommitRefused, CouldNotLook
from bot.observation.evidence import Observation
from bot.observation.flink import CheckpointKind, with_kinds
from bot.observation.ids import CheckpointId
from bot.observation.looked import NotSeen
from bot.observation.paths import ByPath, below, may_be_same, one_of, plain
from bot.observation.table import TableState, Window
from bot.observation.written import WriterSource
from bot.ports import TableChange
from tests.adapters.lake import ORDERS, Lake
from tests.adapters.test_checkpoint_files import STORED, run_that_took
from tests.tables import OPERATOR, OrdersTable, job, rows


def current(lake: Lake) -> Path:
    """The metadata file that the catalog points to."""
    return Path(lake.table.metadata_location.removeprefix("file://"))


def head_of(file: Path) -> int:
    """The head that this metadata file tells."""
    head: int = json.loads(file.read_text())["current-snapshot-id"]
    return head


def tag(table_uuid: str, snapshot: int) -> TableChange:
    """The smallest change that there is."""
    return TableChange.model_validate(
        {"expected_uuid": table_uuid, "expected_head": None, "set_tags": {"waterline": snapshot}}
    )


def case_of(table: TableState) -> Case:
    """The table alone, before anybody collected evidence."""
    none = NotSeen(source="nothing", reason="It was not asked.", remedy="Ask it.")
    assert table.head is not None
    return Case(
        observation=Observation(table=table, jobs=none, checkpoints=none, reads=none),
        window=Window(since=None, until=table.head),
        contract=TableContract(key=("order_id",)),
        job_name="orders",
    )


def test_the_newest_older_file_is_read_when_the_current_one_is_gone(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """The state is that of one commit before, and says which file is lost."""
    lost, before = current(lake), lake.heads[-2]
    lost.unlink()

    table = catalog.load(ORDERS)

    assert before == table.head
    assert f"file://{lost}" == table.lost_metadata
    assert Path(table.metadata_location.removeprefix("file://")).exists()


@pytest.mark.parametrize("content", [b"", b"not json", b'{"format-version": 2}', b"\xff\xfe\x00"])
def test_a_garbled_file_is_as_good_as_gone(lake: Lake, catalog: PyIcebergCatalog, content: bytes) -> None:
    """PyIceberg does not say which file it could not understand; the catalog's own pointer does."""
    lost, before = current(lake), lake.heads[-2]
    lost.write_bytes(content)

    table = catalog.load(ORDERS)

    assert (before, f"file://{lost}") == (table.head, table.lost_metadata)


def test_a_garbled_neighbour_is_passed_over(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """The newest file that can be read counts, not the newest name."""
    files = sorted(current(lake).parent.glob("*.metadata.json"))
    files[-1].unlink()
    files[-2].write_bytes(b"")

    table = catalog.load(ORDERS)

    assert head_of(files[-3]) == table.head


def test_a_refused_commits_leftover_is_not_taken_for_the_table(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Two files of one number: the one that was never committed is newer on storage, and no later file names it."""
    files = sorted(current(lake).parent.glob("*.metadata.json"))
    leftover = files[-2].with_name(f"{files[-2].name[:5]}-ffffffff-ffff-4fff-bfff-ffffffffffff.metadata.json")
    shutil.copyfile(files[0], leftover)
    raced = files[-1].with_name(f"{files[-1].name[:5]}-00000000-0000-4000-8000-000000000000.metadata.json")
    shutil.copyfile(files[-1], raced)
    files[-1].unlink()

    table = catalog.load(ORDERS)

    assert f"file://{files[-2]}" == table.metadata_location


def test_nothing_is_committed_while_the_metadata_file_is_lost(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A commit on an older state would bury what the lost file named; the refusal says what to do."""
    lost, head = current(lake), lake.heads[-2]
    uuid = str(lake.table.metadata.table_uuid)
    lost.unlink()
    files = set(lost.parent.iterdir())

    with pytest.raises(CommitRefused, match=f"Expected to read file://{lost}.*point the catalog to the newest"):
        catalog.commit(ORDERS, tag(uuid, head))

    assert files == set(lost.parent.iterdir())


def test_the_file_that_is_back_ends_it(lake: Lake, catalog: PyIcebergCatalog, tmp_path: Path) -> None:
    """Restored from the storage's own versions, everything is as before."""
    lost, head = current(lake), lake.heads[-1]
    kept = Path(shutil.copyfile(lost, tmp_path / "version-before"))
    lost.unlink()
    assert catalog.load(ORDERS).lost_metadata is not None
    shutil.copyfile(kept, lost)

    table = catalog.load(ORDERS)

    assert (head, None) == (table.head, table.lost_metadata)
    assert head == catalog.commit(ORDERS, tag(table.uuid, head)).ref("waterline")


def test_a_folder_without_any_readable_file_could_not_be_looked_into(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Nothing older is left: that is no empty table."""
    for file in current(lake).parent.glob("*.metadata.json"):
        file.unlink()

    with pytest.raises(CouldNotLook, match="could not be read"):
        catalog.load(ORDERS)


def test_a_storage_that_is_away_as_a_whole_could_not_be_looked_into(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """The folder itself cannot be listed: an outage, not a lost file."""
    folder = current(lake).parent
    folder.rename(folder.with_name("elsewhere"))

    with pytest.raises(CouldNotLook, match="could not be read"):
        catalog.load(ORDERS)


def test_what_is_there_and_may_not_be_read_is_not_lost(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A folder in the file's place is refused like a missing right: nothing says that the metadata is gone."""
    lost = current(lake)
    lost.unlink()
    lost.mkdir()

    with pytest.raises(CouldNotLook):
        catalog.load(ORDERS)


def test_a_lost_file_is_named_and_never_healthy(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """F10 matches first, asks for the pointer to be mended, and `healthy` is excluded."""
    current(lake).unlink()
    table = catalog.load(ORDERS)

    diagnosis = diagnose(case_of(table), scan(bot.diagnosis))

    mode, match = diagnosis.matches[0]
    assert ("F10", Remedy.RESTORE_METADATA, table.head) == (mode.code, match.remedy, match.last_good)
    healthy = next(r.examined for r in diagnosis.results if r.mode.code == "healthy")
    assert isinstance(healthy, Excluded)
    assert "F10" in healthy.reason


PLACES = st.sets(st.integers(0, 2**34), min_size=1, max_size=200).map(sorted)


@given(st.dictionaries(st.text(min_size=1), PLACES, min_size=1, max_size=4))
def test_another_reader_finds_the_same_places(vectors: dict[str, list[int]]) -> None:
    """Also beyond 2^32, in runs and scattered, and of several files in one."""
    content, blobs = puffin_of(vectors)

    found = deletion_vectors_from_puffin_file(PuffinFile(content))
    read = {each.referenced_data_file: list(_places(each)) for each in found}
    assert read == vectors
    for path, (begin, length) in blobs.items():
        assert places_in(content[begin : begin + length]) == vectors[path]


def _places(vector: DeletionVector) -> Iterator[int]:
    """Its own `to_vector` (0.12) fails where the upper halves have a gap."""
    return ((key << 32) + place for key, bitmap in enumerate(vector._bitmaps) for place in bitmap)


@pytest.mark.parametrize("place", [0, 5, 20, -1])
def test_a_vector_that_is_not_whole_is_refused(place: int) -> None:
    """Else rows that were deleted would come back unseen."""
    blob = bytearray(vector_of(range(100, 200)))
    blob[place] ^= 1

    with pytest.raises(ValueError, match="not whole"):
        places_in(bytes(blob))


def test_a_vector_that_was_cut_is_refused() -> None:
    """A file that storage gives in part."""
    with pytest.raises(ValueError, match="not whole"):
        places_in(vector_of(range(100, 200))[:-3])


SAME = [
    ("/a/b", "file:/a/b"),
    ("file:///a/b/", "file:/a//b"),
    ("s3://lake/a/b", "s3a://lake/a/b"),
    ("S3N://lake/a/b", "s3://lake//a/b"),
    ("hdfs:///a/b", "hdfs:/a/b"),
    ("hdfs://nn/a/b", "hdfs://nn:8020/a/b"),
    ("abfs://c@acc.dfs.core.windows.net/a", "abfss://c@acc.dfs.core.windows.net/a"),
]
MAY_BE = [("hdfs:///a/b", "hdfs://nn:8020/a/b"), ("/a/b", "hdfs://nn:9000/a/b"), ("/a/b", "viewfs://c/a/b")]
OTHERS = [
    ("s3://lake/a/b", "s3://sea/a/b"),
    ("hdfs://nn:8020/a", "hdfs://nn:9000/a"),
    ("hdfs://nn/a", "s3://nn/a"),
    ("hdfs:///a/b", "hdfs:///a/c"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_file_has_one_plain_path(one: str, other: str) -> None:
    """Whoever compares plain paths finds it."""
    assert plain(one) == plain(other)
    assert may_be_same(one, other)


@pytest.mark.parametrize(("one", "other"), MAY_BE)
def test_a_path_without_host_may_be_the_one_with_it(one: str, other: str) -> None:
    """Which host is meant is for Hadoop's configuration to say; both ways round."""
    assert may_be_same(one, other)
    assert may_be_same(other, one)
    assert ByPath([(one, 7)]).get(other) == ByPath([(other, 7)]).get(one) == 7


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_what_both_say_differently_is_another_file(one: str, other: str) -> None:
    """A bucket's or a cluster's copy is not the file itself."""
    assert not may_be_same(one, other)
    assert ByPath([(one, 7)]).get(other) is None


def test_the_very_path_comes_before_one_that_may_be_it() -> None:
    """Of two clusters each has its own."""
    told = ByPath([("hdfs:///a", 1), ("hdfs://nn/a", 2), ("hdfs://other/a", 3)])

    assert [told.get(path) for path in ("hdfs:/a", "hdfs://nn:8020/a", "hdfs://other/a")] == [1, 2, 3]


def test_a_file_lies_below_a_folder_that_is_spelled_in_another_way() -> None:
    """Its place in the folder is the same; another bucket's is elsewhere."""
    assert below("hdfs://nn:8020/w/t/data/a.parquet", "hdfs:///w/t/") == "data/a.parquet"
    assert below("s3://lake/t/a", "s3a://sea/t") is None


def test_runs_that_were_restored_from_one_point_are_told_so() -> None:
    """Flink says the host, the configuration does not."""
    assert one_of(["hdfs:///s/savepoint-1", "hdfs://nn:8020/s/savepoint-1"]) == "hdfs:///s/savepoint-1"
    assert one_of(["hdfs:///s/savepoint-1", "hdfs:///s/savepoint-2"]) is None
    assert one_of([]) is None


def test_flinks_history_tells_the_kind_of_a_point_whose_host_it_says() -> None:
    """Storage was listed by its folder alone."""
    stored = STORED.model_copy(update={"path": "hdfs:///state/chk-7"})
    run = run_that_took(CheckpointKind.STOP_SAVEPOINT, "hdfs://nn:8020/state/chk-7")

    assert [each.kind for each in with_kinds([stored], [run])] == [CheckpointKind.STOP_SAVEPOINT]


@pytest.fixture
def table_files_orders(tmp_path: Path) -> Iterator[OrdersTable]:
    """A table of one commit."""
    table = OrdersTable(tmp_path)
    table.commits("a", 1, range(10))
    yield table
    table.close()


def test_iceberg_s_own_manifests_are_none_of_flinks(table_files_orders: OrdersTable) -> None:
    """Manifests, lists and metadata files of the table are passed over."""
    assert FolderOfTable().flink_manifests(table_files_orders.state()) == ()


def test_a_manifest_tells_run_operator_attempt_and_checkpoint(table_files_orders: OrdersTable) -> None:
    """All that its name says, and its size and time; by run and checkpoint."""
    later = table_files_orders.leaves_manifest("a", 12, {"x.parquet": [1]}, attempt=3)
    table_files_orders.leaves_manifest("a", 9, {"y.parquet": [2]})

    first, second = FolderOfTable().flink_manifests(table_files_orders.state())

    assert (first.checkpoint_id, second.checkpoint_id) == (9, 12)
    assert (second.job_id, second.operator_id, second.attempt, second.number) == (job("a"), OPERATOR, 3, 1)
    assert second.path == f"file:{later}"
    assert second.bytes == later.stat().st_size
    assert second.written_at is not None


def test_the_uuid_of_the_dynamic_sink_does_not_hide_it(table_files_orders: OrdersTable) -> None:
    """The dynamic sink adds one to the name."""
    plain = table_files_orders.leaves_manifest("a", 4, {"x.parquet": [1]})
    plain.rename(plain.with_name(f"{plain.stem}-23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11.avro"))

    (found,) = FolderOfTable().flink_manifests(table_files_orders.state())

    assert found.checkpoint_id == 4


def test_another_location_is_looked_at_instead(table_files_orders: OrdersTable, tmp_path: Path) -> None:
    """`flink.manifests.location` is where the sink writes them."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    left = table_files_orders.leaves_manifest("a", 4, {"x.parquet": [1]})
    left.rename(elsewhere / left.name)
    table = table_files_orders.state().model_copy(
        update={"properties": {"flink.manifests.location": f"file://{elsewhere}"}}
    )

    (found,) = FolderOfTable().flink_manifests(table)

    assert found.path == f"file:{elsewhere / left.name}"


def test_a_folder_that_cannot_be_listed_is_said(table_files_orders: OrdersTable) -> None:
    """No folder is not an empty folder."""
    table = table_files_orders.state().model_copy(
        update={"properties": {"flink.manifests.location": "file:///no/such"}}
    )

    with pytest.raises(CouldNotLook) as refused:
        FolderOfTable().flink_manifests(table)

    assert "/no/such" in refused.value.found


MANIFESTS = Path(__file__).parent / "fixtures" / "pending_manifests"
REAL = sorted(MANIFESTS.iterdir())
POINT = "file:/savepoints/savepoint-1"


@pytest.fixture
def writer_schema_orders(tmp_path: Path) -> Iterator[OrdersTable]:
    """A table of one commit."""
    table = OrdersTable(tmp_path)
    table.commits("a", 1, range(10))
    yield table
    table.close()


def source(*pending: str | Path) -> WriterSource:
    """The state names manifests that lie there."""
    paths = tuple(str(path) for path in pending)
    return WriterSource(job_id=job("a"), checkpoint_id=CheckpointId(2), restore_point=POINT, pending=paths)


def of_head(writer_schema_orders: OrdersTable) -> WriterSource:
    """The state's last commit is the head."""
    head = writer_schema_orders.state().by_id[writer_schema_orders.head]
    return WriterSource(job_id=job("a"), checkpoint_id=CheckpointId(2), restore_point=POINT, commit=head)


def writes_under(writer_schema_orders: OrdersTable, name: str, schema_id: int, *columns: tuple[int, str, str]) -> None:
    """A data file whose writer had this schema, as Iceberg's Java library says it in the footer."""
    fields = [{"id": i, "name": n, "required": False, "type": t} for i, n, t in columns]
    told = json.dumps({"type": "struct", "schema-id": schema_id, "fields": fields})
    pq.write_table(
        rows(range(20, 30)).replace_schema_metadata({"iceberg.schema": told}), writer_schema_orders.data_folder / name
    )


@pytest.mark.parametrize("pending", REAL, ids=lambda path: path.stem)
def test_a_real_pending_manifest_carries_schema_and_spec(writer_schema_orders: OrdersTable, pending: Path) -> None:
    """Both sinks' and the dynamic sink's, as Flink wrote them; their data files are gone."""
    told = FolderOfTable().written_under(writer_schema_orders.state(), source(pending))

    assert (told.told_by, told.schema_id, told.spec_id) == ("pending-manifest", 0, 0)
    assert [(c.field_id, c.name, c.type, c.is_required) for c in told.columns[1:4]] == [
        (2, "event_time", "timestamptz", True),
        (3, "customer", "string", False),
        (4, "amount", "decimal(10, 2)", False),
    ]
    assert told.partitioning == ("day(event_time)",)


def test_the_files_of_a_pending_manifest_know_better_than_it_does(writer_schema_orders: OrdersTable) -> None:
    """V2's aggregator loads the table when it fails over; its writers keep what they were started with."""
    writes_under(writer_schema_orders, "x.parquet", 0, (1, "order_id", "long"))
    writer_schema_orders.adds_column("city")
    left = writer_schema_orders.leaves_manifest("a", 2, {"x.parquet": [1]})

    told = FolderOfTable().written_under(writer_schema_orders.state(), source("/nowhere/gone.avro", left))

    assert (told.told_by, told.path) == ("pending-files", str(left))
    assert [column.name for column in told.columns] == ["order_id"]


def test_a_file_of_the_commit_tells_it_when_the_manifest_is_gone(writer_schema_orders: OrdersTable) -> None:
    """The manifest list says which spec, the footer which columns; the path of the file, a value of rows, is not
    kept."""
    writes_under(writer_schema_orders, "x.parquet", 7, (1, "order_id", "long"), (9, "old", "string"))
    writer_schema_orders.names_again("a", 2, ["x.parquet"])

    told = FolderOfTable().written_under(writer_schema_orders.state(), of_head(writer_schema_orders))

    assert (told.told_by, told.schema_id, told.spec_id, told.partitioning) == ("committed-files", 7, 0, None)
    assert [(column.field_id, column.name) for column in told.columns] == [(1, "order_id"), (9, "old")]
    assert "x.parquet" not in told.model_dump_json()


def test_field_ids_are_enough_where_another_library_wrote(writer_schema_orders: OrdersTable) -> None:
    """PyIceberg leaves no `iceberg.schema`; names, types and ids are in the footer all the same."""
    told = FolderOfTable().written_under(writer_schema_orders.state(), of_head(writer_schema_orders))

    assert [(c.field_id, c.name, c.type) for c in told.columns] == [
        (c.field_id, c.name, c.type) for c in writer_schema_orders.state().columns
    ]
    assert told.schema_id is None


def test_files_that_are_gone_or_tell_nothing_are_said_so(writer_schema_orders: OrdersTable) -> None:
    """Never a guess: neither where nothing is there, nor where the footer has no ids."""
    writer_schema_orders.commits_files("a", 2, {"bare.parquet": range(20, 30)})

    with pytest.raises(CouldNotLook) as gone:
        FolderOfTable().written_under(writer_schema_orders.state(), source("/nowhere/gone.avro"))
    with pytest.raises(CouldNotLook) as silent:
        FolderOfTable().written_under(writer_schema_orders.state(), of_head(writer_schema_orders))

    assert "No file of checkpoint 2 shows with which columns" in gone.value.happened
    assert "No file of checkpoint 2 shows" in silent.value.happened


def rewritten(lake: Lake, **changed: object) -> None:
    """Someone's newer client has written the current metadata file."""
    told = json.loads(current(lake).read_text())
    current(lake).write_text(json.dumps(told | changed))


@pytest.mark.parametrize("kind", ["variant", "geometry(srid:4326)", "uint128"])
def test_a_column_of_a_type_that_cannot_be_parsed_loses_no_file(
    lake: Lake, catalog: PyIcebergCatalog, kind: str
) -> None:
    """The table is read, with that column's type by its name, and a commit leaves the type as it was."""
    schemas = json.loads(current(lake).read_text())["schemas"]
    schemas[-1]["fields"].append({"id": 99, "name": "payload", "required": False, "type": kind})
    rewritten(lake, **{"format-version": 3, "next-row-id": 0, "schemas": schemas, "last-column-id": 99})

    table = catalog.load(ORDERS)
    changed = catalog.commit(ORDERS, tag(table.uuid, lake.heads[-1]))

    assert table.lost_metadata is None
    assert ("payload", kind) in {(column.name, column.type) for column in table.columns}
    assert changed.head == lake.heads[-1]
    written = json.loads(Path(changed.metadata_location.removeprefix("file://")).read_text())
    assert kind in {field["type"] for field in written["schemas"][-1]["fields"] if field["name"] == "payload"}


def test_metadata_of_a_newer_format_is_not_lost(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Going back to the file before it would take good commits off."""
    rewritten(lake, **{"format-version": 9})

    with pytest.raises(CouldNotLook):
        catalog.load(ORDERS)
