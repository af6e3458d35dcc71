"""Under which columns a job wrote is told by its own files, and by the truest of them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bot.adapters.case_file import raw_of
from bot.adapters.table_files import FolderOfTable
from bot.adapters.writer_schema import SCHEMA, Told, written_again
from bot.domain.errors import CouldNotLook
from bot.domain.ids import CheckpointId
from bot.domain.written import WriterSource
from tests.tables import OrdersTable, job, rows

CASES = Path(__file__).parents[1] / "data" / "cases"
REAL = ("notification-lost-v1", "notification-lost-v2", "restarted-empty-same-job-id-dynamic")
POINT = "file:/savepoints/savepoint-1"


@pytest.fixture
def orders(tmp_path: Path) -> Iterator[OrdersTable]:
    """A table of one commit."""
    table = OrdersTable(tmp_path)
    table.commits("a", 1, range(10))
    yield table
    table.close()


def source(*pending: str | Path) -> WriterSource:
    """The state names manifests that lie there."""
    paths = tuple(str(path) for path in pending)
    return WriterSource(job_id=job("a"), checkpoint_id=CheckpointId(2), restore_point=POINT, pending=paths)


def of_head(orders: OrdersTable) -> WriterSource:
    """The state's last commit is the head."""
    head = orders.state().by_id[orders.head]
    return WriterSource(job_id=job("a"), checkpoint_id=CheckpointId(2), restore_point=POINT, commit=head)


def writes_under(orders: OrdersTable, name: str, schema_id: int, *columns: tuple[int, str, str]) -> None:
    """A data file whose writer had this schema, as Iceberg's Java library says it in the footer."""
    fields = [{"id": i, "name": n, "required": False, "type": t} for i, n, t in columns]
    told = json.dumps({"type": "struct", "schema-id": schema_id, "fields": fields})
    pq.write_table(rows(range(20, 30)).replace_schema_metadata({"iceberg.schema": told}), orders.data_folder / name)


@pytest.mark.parametrize("case", REAL)
def test_a_real_pending_manifest_carries_schema_and_spec(orders: OrdersTable, tmp_path: Path, case: str) -> None:
    """Both sinks' and the dynamic sink's, as Flink wrote them; their data files are gone."""
    raw = raw_of(CASES / f"{case}.zip")
    kept = next(content for path, content in sorted(raw.items()) if path.rpartition("/")[2].count("-00000-0-"))
    (tmp_path / "pending.avro").write_bytes(kept)

    told = FolderOfTable().written_under(orders.state(), source(tmp_path / "pending.avro"))

    assert (told.told_by, told.schema_id, told.spec_id) == ("pending-manifest", 0, 0)
    assert [(c.field_id, c.name, c.type, c.is_required) for c in told.columns[1:4]] == [
        (2, "event_time", "timestamptz", True),
        (3, "customer", "string", False),
        (4, "amount", "decimal(10, 2)", False),
    ]
    assert told.partitioning == ("day(event_time)",)


def test_the_files_of_a_pending_manifest_know_better_than_it_does(orders: OrdersTable) -> None:
    """V2's aggregator loads the table when it fails over; its writers keep what they were started with."""
    writes_under(orders, "x.parquet", 0, (1, "order_id", "long"))
    orders.adds_column("city")
    left = orders.leaves_manifest("a", 2, {"x.parquet": [1]})

    told = FolderOfTable().written_under(orders.state(), source("/nowhere/gone.avro", left))

    assert (told.told_by, told.path) == ("pending-files", str(left))
    assert [column.name for column in told.columns] == ["order_id"]


def test_a_file_of_the_commit_tells_it_when_the_manifest_is_gone(orders: OrdersTable) -> None:
    """The manifest list says which spec, the footer which columns; the path of the file, a value of rows, is not
    kept."""
    writes_under(orders, "x.parquet", 7, (1, "order_id", "long"), (9, "old", "string"))
    orders.names_again("a", 2, ["x.parquet"])

    told = FolderOfTable().written_under(orders.state(), of_head(orders))

    assert (told.told_by, told.schema_id, told.spec_id, told.partitioning) == ("committed-files", 7, 0, None)
    assert [(column.field_id, column.name) for column in told.columns] == [(1, "order_id"), (9, "old")]
    assert "x.parquet" not in told.model_dump_json()


def test_field_ids_are_enough_where_another_library_wrote(orders: OrdersTable) -> None:
    """PyIceberg leaves no `iceberg.schema`; names, types and ids are in the footer all the same."""
    told = FolderOfTable().written_under(orders.state(), of_head(orders))

    assert [(c.field_id, c.name, c.type) for c in told.columns] == [
        (c.field_id, c.name, c.type) for c in orders.state().columns
    ]
    assert told.schema_id is None


def test_files_that_are_gone_or_tell_nothing_are_said_so(orders: OrdersTable) -> None:
    """Never a guess: neither where nothing is there, nor where the footer has no ids."""
    orders.commits_files("a", 2, {"bare.parquet": range(20, 30)})

    with pytest.raises(CouldNotLook) as gone:
        FolderOfTable().written_under(orders.state(), source("/nowhere/gone.avro"))
    with pytest.raises(CouldNotLook) as silent:
        FolderOfTable().written_under(orders.state(), of_head(orders))

    assert "No file of checkpoint 2 shows with which columns" in gone.value.happened
    assert "No file of checkpoint 2 shows" in silent.value.happened


def test_what_was_told_is_kept_for_a_case_and_reads_the_same(orders: OrdersTable) -> None:
    """A running job deletes its manifests within a second: the tape has what was read."""
    tape: dict[str, bytes] = {}
    left = orders.leaves_manifest("a", 2, {"x.parquet": [1]})

    told = FolderOfTable(tape=tape).written_under(orders.state(), source(left))

    ((address, kept),) = tape.items()
    assert address == f"{SCHEMA}{left}"
    assert written_again(Told.model_validate_json(kept), told) == told
