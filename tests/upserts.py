"""What Flink's sink commits for an upsert: new rows, and equality deletes of the keys that they replace.

PyIceberg writes no delete files, so manifests and snapshot are put together here, as the format has them.
"""

from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, SetSnapshotRefUpdate
from pyiceberg.typedef import Record, TableVersion

from bot.observation.ids import SnapshotId
from tests.tables import OPERATOR, ORDERS, OrdersTable, job, of_flink, rows


class _DeleteManifest(ManifestWriterV2):
    """A manifest of delete files. The format has field ids as int; PyIceberg 0.12 would write long, which Java's
    readers refuse."""

    def _with_partition(self, format_version: TableVersion) -> Schema:
        written = super()._with_partition(format_version).model_dump_json()
        as_long, as_int = (f'"element-id":136,"element":"{kind}"' for kind in ("long", "int"))
        assert as_long in written
        return Schema.model_validate_json(written.replace(as_long, as_int))

    def content(self) -> ManifestContent:
        """Told to the manifest list."""
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def upserts(
    orders: OrdersTable,
    run: str,
    checkpoint: int,
    positions: Iterable[int],
    *,
    keys: Iterable[int],
    deletes: Iterable[int] = (),
    by: str = "order_id",
) -> SnapshotId:
    """One checkpoint of an upsert job: rows with these keys replace the ones that were there, and the rows whose
    column `by` is among `deletes` go without a successor."""
    table = orders.catalog.load_table(ORDERS)
    places, new = list(positions), list(keys)
    gone = pa.table({by: pa.array([*(new if by == "order_id" else ()), *deletes], pa.int64())})
    snapshot_id, parent = uuid4().int >> 66, orders.head
    parts = [_written(table, rows(places, orders=new), DataFileContent.DATA, ())] if places else []
    field = table.schema().find_field(by).field_id
    parts.append(_written(table, gone, DataFileContent.EQUALITY_DELETES, (field,)))
    manifests = [_manifest(table, part, snapshot_id) for part in parts]
    counts = {
        "added-records": len(places),
        "added-data-files": int(bool(places)),
        "added-delete-files": 1,
        "added-equality-delete-files": 1,
        "added-equality-deletes": gone.num_rows,
    }
    told = {name: str(count) for name, count in counts.items()}
    _commit(orders, table, snapshot_id, parent, manifests, {**of_flink(run, checkpoint), **told})
    return SnapshotId(snapshot_id)


def leaves_deletes(orders: OrdersTable, run: str, checkpoint: int, keys: Iterable[int]) -> None:
    """The temporary manifest of a checkpoint's deletes, which Flink writes beside that of its rows; no commit."""
    table = orders.catalog.load_table(ORDERS)
    gone = pa.table({"order_id": pa.array(list(keys), pa.int64())})
    field = table.schema().find_field("order_id").field_id
    file = _written(table, gone, DataFileContent.EQUALITY_DELETES, (field,))
    _manifest(table, file, 0, f"{job(run)}-{OPERATOR}-00000-0-{checkpoint}-00002.avro")


def _written(table: Table, content: pa.Table, kind: DataFileContent, equality: tuple[int, ...]) -> DataFile:
    fields = [
        field.with_metadata({"PARQUET:field_id": str(table.schema().find_field(field.name).field_id)})
        for field in content.schema
    ]
    path = Path(table.location().removeprefix("file://")) / "data" / f"00000-0-{uuid4()}-00001.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(content.cast(pa.schema(fields)), path)
    return DataFile.from_args(
        content=kind,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=content.num_rows,
        file_size_in_bytes=path.stat().st_size,
        equality_ids=list(equality) or None,
    )


def _manifest(table: Table, file: DataFile, snapshot_id: int, name: str = "") -> ManifestFile:
    output = table.io.new_output(f"{table.location()}/metadata/{name or f'{uuid4()}-m0.avro'}")
    kind = ManifestWriterV2 if file.content == DataFileContent.DATA else _DeleteManifest
    with kind(table.spec(), table.schema(), output, snapshot_id, "deflate") as writer:
        writer.add(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=file))
    return writer.to_manifest_file()


def _commit(
    orders: OrdersTable,
    table: Table,
    snapshot_id: int,
    parent: SnapshotId,
    manifests: list[ManifestFile],
    summary: dict[str, str],
) -> None:
    before = table.snapshot_by_id(parent)
    assert before is not None
    assert isinstance(table.io, PyArrowFileIO)
    number = table.metadata.next_sequence_number()
    path = f"{table.location()}/metadata/snap-{snapshot_id}-0-{uuid4()}.avro"
    with write_manifest_list(2, table.io.new_output(path), snapshot_id, parent, number, "deflate") as writer:
        writer.add_manifests([*manifests, *before.manifests(table.io)])
    snapshot = Snapshot.model_validate(
        {
            "snapshot-id": snapshot_id,
            "parent-snapshot-id": parent,
            "sequence-number": number,
            "timestamp-ms": before.timestamp_ms + 1,
            "manifest-list": path,
            "summary": Summary(Operation.OVERWRITE, **summary),
            "schema-id": table.schema().schema_id,
        }
    )
    to_main = {"ref-name": "main", "type": "branch", "snapshot-id": snapshot_id, "action": "set-snapshot-ref"}
    orders.catalog.commit_table(
        table,
        (AssertRefSnapshotId(ref="main", snapshot_id=parent),),
        (AddSnapshotUpdate(snapshot=snapshot), SetSnapshotRefUpdate.model_validate(to_main)),
    )
