"""Real Iceberg tables for tests, told in the words of an incident.

A table of orders is written by PyIceberg into a folder of the test, with the summaries that Flink's sink
writes. `orders.commits(run="a", checkpoint=3, positions=range(100))` is one checkpoint of run `aaaa…`.

What any engine does to a table: rows appended, deleted, overwritten; branches, rollbacks; and its folders.

What people do to a table beside writing rows: properties, columns, partitioning, tags, compaction.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.expressions import BooleanExpression
from pyiceberg.io.pyarrow import _dataframe_to_data_files, parquet_file_to_data_file
from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus, write_manifest
from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AssertRefSnapshotId, SetSnapshotRefUpdate
from pyiceberg.transforms import DayTransform, Transform
from pyiceberg.types import IcebergType, LongType, StringType

from bot.adapters.iceberg.streaming_metadata import table_state
from bot.adapters.table_files import FolderOfTable
from bot.history.case import Case
from bot.observation.contract import TableContract
from bot.observation.evidence import Ask, Observation
from bot.observation.flink import FlinkManifest, JobRun, StoredCheckpoint
from bot.observation.ids import JobId, OperatorId, SnapshotId, TableName
from bot.observation.looked import NotSeen, Seen
from bot.observation.readers import ReadRun
from bot.observation.table import TableState, Window
from bot.observation.written import OF_STATE, WrittenSchema


class AlteredTable:
    """The part of a test's table that alters it."""

    _table: Table

    def sets(self, properties: Mapping[str, str]) -> None:
        """Table properties are changed; no snapshot is made."""
        self._table.refresh()
        with self._table.transaction() as change:
            change.set_properties(dict(properties))

    def adds_column(self, name: str, kind: IcebergType | None = None) -> None:
        """`ALTER TABLE … ADD COLUMN`: no snapshot is made."""
        self._table.refresh()
        with self._table.update_schema() as change:
            change.add_column(name, kind or StringType())

    def renames_column(self, name: str, to: str) -> None:
        """`ALTER TABLE … RENAME COLUMN`."""
        self._table.refresh()
        with self._table.update_schema() as change:
            change.rename_column(name, to)

    def partitions_by_day(self, name: str) -> None:
        """The partition spec evolves; files that are there stay as they are."""
        self._table.refresh()
        with self._table.update_spec() as change:
            change.add_field(name, DayTransform(), f"{name}_day")

    def partitions_by(self, *fields: tuple[str, Transform[Any, Any]], name: str | None = None) -> None:
        """The same, by any transforms of columns; `name`: of the field, where it is one with a name of its own."""
        self._table.refresh()
        with self._table.update_spec() as change:
            for column, transform in fields:
                change.add_field(column, transform, name)

    def widens_column(self, name: str) -> None:
        """`ALTER TABLE … ALTER COLUMN … TYPE bigint`."""
        self._table.refresh()
        with self._table.update_schema() as change:
            change.update_column(name, LongType())

    def rewrites(self, into: pa.Table, summary: Mapping[str, str] | None = None) -> SnapshotId:
        """All live files are replaced by one with these rows, in one `overwrite`, as an update that copies does."""
        self._table.refresh()
        with self._table.transaction() as change, change.update_snapshot(dict(summary or {})).overwrite() as overwrite:
            for task in self._table.scan().plan_files():
                overwrite.delete_data_file(task.file)
            for file in _dataframe_to_data_files(change.table_metadata, into, self._table.io):
                overwrite.append_data_file(file)
        return self._head_of_main()

    def _head_of_main(self) -> SnapshotId:
        self._table.refresh()
        head = self._table.metadata.current_snapshot_id
        assert head is not None
        return SnapshotId(head)

    def compacts(self, into: pa.Table) -> SnapshotId:
        """All live files are replaced by one with these rows, which should be the same.

        PyIceberg knows no `replace`: the newest metadata file is written anew with the word."""
        self.rewrites(into)
        path = Path(self._table.metadata_location.removeprefix("file://"))
        told = json.loads(path.read_text())
        told["snapshots"][-1]["summary"]["operation"] = "replace"
        path.write_text(json.dumps(told))
        return self._head_of_main()

    def tags(self, name: str, snapshot: SnapshotId) -> None:
        """A tag is put on a snapshot."""
        self._table.refresh()
        self._table.manage_snapshots().create_tag(snapshot, name).commit()


class WrittenTable(AlteredTable):
    """The part of a test's table that any engine writes and reads."""

    catalog: Catalog

    @property
    def data_folder(self) -> Path:
        """Where its data files lie; made when it is first asked for."""
        folder = Path(self._table.location().removeprefix("file://")) / "data"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def _metadata_folder(self) -> Path:
        return Path(self._table.location().removeprefix("file://")) / "metadata"

    def _mapped(self) -> TableMetadata:
        """The table's metadata with the mapping that files without field ids need."""
        mapping = {TableProperties.DEFAULT_NAME_MAPPING: self._table.schema().name_mapping.model_dump_json()}
        metadata = self._table.metadata
        return metadata.model_copy(update={"properties": {**metadata.properties, **mapping}})

    def appends(self, table: pa.Table, summary: Mapping[str, str] | None = None, *, branch: str = "main") -> SnapshotId:
        """An append by whatever engine the summary names; the head of main."""
        self._table.refresh()
        self._table.append(table, snapshot_properties=dict(summary or {"engine-name": "spark"}), branch=branch)
        return self.head

    def branches_off(self, name: str, snapshot: SnapshotId) -> None:
        """A branch that begins at this snapshot."""
        self._table.refresh()
        self._table.manage_snapshots().create_branch(snapshot, name).commit()

    def only_tagged(self, branch: str, tag: str) -> None:
        """The branch goes, and a tag keeps what it had."""
        self._table.refresh()
        at = self._table.metadata.refs[branch].snapshot_id
        self._table.manage_snapshots().create_tag(at, tag).remove_branch(branch).commit()

    def deletes(self, where: str | BooleanExpression, summary: Mapping[str, str] | None = None) -> SnapshotId:
        """Another engine deletes rows: a `delete` or `overwrite` commit."""
        self._table.refresh()
        by = {"engine-name": "spark", "spark.app.id": "local-17"}
        self._table.delete(where, snapshot_properties={**by, **(summary or {})})
        return self.head

    def overwrites(self, table: pa.Table, where: str | BooleanExpression) -> SnapshotId:
        """Another engine replaces the rows under `where`."""
        self._table.refresh()
        self._table.overwrite(table, overwrite_filter=where, snapshot_properties={"engine-name": "spark"})
        return self.head

    def rolls_back_to(self, snapshot: SnapshotId) -> None:
        """`main` is moved to a listed snapshot; no commit is made, as an engine's rollback does it."""
        self._table.refresh()
        now = self._table.metadata.current_snapshot_id
        self.catalog.commit_table(
            self._table,
            (AssertRefSnapshotId(ref="main", snapshot_id=now),),
            (
                SetSnapshotRefUpdate.model_validate(
                    {"ref-name": "main", "type": "branch", "snapshot-id": snapshot, "action": "set-snapshot-ref"}
                ),
            ),
        )
        self._table.refresh()

    def expires(self, *snapshots: SnapshotId) -> None:
        """The metadata no longer lists these; commits above them keep naming them as parents."""
        self._table.refresh()
        self._table.maintenance.expire_snapshots().by_ids(list(snapshots)).commit()

    def manifests_of(self, snapshot: SnapshotId) -> list[Path]:
        """Files of the manifests that this commit wrote."""
        self._table.refresh()
        found = self._table.snapshot_by_id(snapshot)
        assert found is not None
        written = [m for m in found.manifests(self._table.io) if m.added_snapshot_id == snapshot]
        return [Path(manifest.manifest_path.removeprefix("file://")) for manifest in written]

    def becomes_format_3(self) -> None:
        """Another engine upgrades the table: PyIceberg cannot, so the newest metadata file is written anew."""
        self._table.refresh()
        path = Path(self._table.metadata_location.removeprefix("file://"))
        path.write_text(json.dumps(json.loads(path.read_text()) | {"format-version": 3, "next-row-id": 0}))

    @property
    def head(self) -> SnapshotId:
        """The current head; the table is not empty."""
        self._table.refresh()
        head = self._table.metadata.current_snapshot_id
        assert head is not None
        return SnapshotId(head)

    def live(self) -> pa.Table:
        """Every live row of the head, read without Spark: what brute force compares with."""
        self._table.refresh()
        return self._table.scan().to_arrow()


T = TypeVar("T")
ORDERS = TableName("sales.orders")
OPERATOR = OperatorId("b0c4849fdea766ab199107cc0073124e")
CONTRACT = TableContract(key=("order_id",), position="source_position", event_time="event_time", redacted=("customer",))
_MIDNIGHT = datetime(2026, 11, 3, tzinfo=UTC)
_COLUMNS = pa.schema(
    [
        ("order_id", pa.int64()),
        ("source_partition", pa.int32()),
        ("source_position", pa.int64()),
        ("event_time", pa.timestamp("us", tz="UTC")),
        ("customer", pa.string()),
    ]
)


def job(run: str) -> JobId:
    """The 32 hex digits of the run that the test calls `a`, `b`, …"""
    return JobId((run * 32)[:32])


def of_flink(run: str, checkpoint: int, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The summary that Flink's sink writes."""
    return {
        "flink.job-id": job(run),
        "flink.operator-id": OPERATOR,
        "flink.max-committed-checkpoint-id": str(checkpoint),
        "engine-name": "flink",
        **(more or {}),
    }


def rows(
    positions: Iterable[int | None], *, partition: int | None = 0, orders: Iterable[int | None] | None = None
) -> pa.Table:
    """One row per position; order id = position unless `orders` says otherwise; one event a second."""
    places = list(positions)
    keys = list(orders) if orders is not None else places
    return pa.table(
        {
            "order_id": keys,
            "source_partition": [partition] * len(places),
            "source_position": places,
            "event_time": [None if place is None else _MIDNIGHT + timedelta(seconds=place) for place in places],
            "customer": [f"customer-{key}" for key in keys],
        },
        schema=_COLUMNS,
    )


def lake_in(folder: Path) -> dict[str, str]:
    """Properties of the folder's catalog: of SQLite and local files, unless its `lake.json` says otherwise."""
    told = folder / "lake.json"
    if told.exists():
        return dict(json.loads(told.read_text()))
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}


class OrdersTable(WrittenTable):
    """`sales.orders` in the catalog of this folder."""

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        self.catalog = load_catalog("lake", **lake_in(folder))
        self.catalog.create_namespace("sales")
        self._table = self.catalog.create_table(ORDERS, schema=_COLUMNS, properties=dict(properties or {}))

    def close(self) -> None:
        """Give the catalog's connections back."""
        self.catalog.close()

    def commits(
        self,
        run: str,
        checkpoint: int,
        positions: Iterable[int],
        *,
        partition: int = 0,
        orders: Iterable[int] | None = None,
        summary: Mapping[str, str] | None = None,
    ) -> SnapshotId:
        """One checkpoint of a Flink run that appends these positions."""
        return self.appends(rows(positions, partition=partition, orders=orders), of_flink(run, checkpoint, summary))

    def commits_files(
        self, run: str, checkpoint: int, files: Mapping[str, Iterable[int]], *, times: int = 1
    ) -> SnapshotId:
        """One checkpoint of a Flink run whose files bear these very names: file name -> positions; each is named
        so many times."""
        for name, positions in files.items():
            (self.data_folder / name).parent.mkdir(exist_ok=True)
            pq.write_table(rows(positions), self.data_folder / name)
        return self.names_again(run, checkpoint, list(files) * times)

    def leaves_manifest(
        self,
        run: str,
        checkpoint: int,
        files: Mapping[str, Iterable[int]],
        *,
        attempt: int = 0,
        operator: OperatorId = OPERATOR,
        age: timedelta = timedelta(0),
    ) -> Path:
        """Files that a Flink run wrote for a checkpoint, and the temporary manifest that lists them; no commit."""
        self._table.refresh()
        io, metadata = self._table.io, self._table.metadata
        path = self._metadata_folder / f"{job(run)}-{operator}-00000-{attempt}-{checkpoint}-00001.avro"
        out = io.new_output(f"file://{path}")
        with write_manifest(2, metadata.spec(), metadata.schema(), out, 0, "deflate") as manifest:
            for name, positions in files.items():
                if not (self.data_folder / name).exists():
                    pq.write_table(rows(positions), self.data_folder / name)
                file = parquet_file_to_data_file(io, self._mapped(), f"file://{self.data_folder / name}")
                manifest.add_entry(
                    ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=0, data_file=file)
                )
        then = datetime.now(UTC).timestamp() - age.total_seconds()
        os.utime(path, (then, then))
        return path

    def flink_manifests(self) -> tuple[FlinkManifest, ...]:
        """What Flink left in the metadata folder, as the adapter lists it."""
        return FolderOfTable().flink_manifests(self.state())

    def names_again(
        self,
        run: str,
        checkpoint: int,
        files: Sequence[str],
        summary: Mapping[str, str] | None = None,
        *,
        branch: str = "main",
    ) -> SnapshotId:
        """One checkpoint of a Flink run that adds files of the data folder, whether or not they are live already."""
        self._table.refresh()
        with self._table.transaction() as change:
            mapping = self._table.schema().name_mapping.model_dump_json()
            change.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})
            with change.update_snapshot(of_flink(run, checkpoint, summary), branch).fast_append() as append:
                for name in files:
                    path = f"file://{self.data_folder / name}"
                    append.append_data_file(parquet_file_to_data_file(self._table.io, change.table_metadata, path))
        return self.head

    def state(self) -> TableState:
        """The table now, as the catalog adapter would tell it."""
        self._table.refresh()
        return table_state(ORDERS, self._table.metadata, self._table.metadata_location, datetime.now(UTC))

    def ask(
        self,
        since: SnapshotId | None,
        *,
        contract: TableContract = CONTRACT,
        jobs: Iterable[JobRun] | NotSeen = (),
        checkpoints: Iterable[StoredCheckpoint] | NotSeen = (),
        reads: Iterable[ReadRun] | NotSeen = (),
        flink_manifests: Iterable[FlinkManifest] | NotSeen = (),
        written: Iterable[WrittenSchema] | NotSeen = (),
    ) -> Ask:
        """What a task is asked about the commits after `since`."""
        table = self.state()
        assert table.head is not None
        return Ask(
            observation=Observation(
                table=table,
                jobs=_looked("Flink", jobs),
                checkpoints=_looked("the checkpoint folder", checkpoints),
                reads=_looked("the lineage events", reads),
                flink_manifests=_looked("the Flink manifests on storage", flink_manifests),
                written=_looked(OF_STATE, written),
            ),
            window=Window(since=since, until=table.head),
            contract=contract,
        )


def with_fields(table: TableState, **changes: object) -> TableState:
    """The same table but for these fields. Its `model_copy` would keep what was worked out of the old snapshots."""
    fields = {name: getattr(table, name) for name in TableState.model_fields}
    return TableState(**{**fields, **changes})


Asked = TypeVar("Asked", Ask, Case)


def observing(asked: Asked, **changes: object) -> Asked:
    """The same question, or case, where these parts of the look are others."""
    return asked.model_copy(update={"observation": asked.observation.model_copy(update=changes)})


def of_table(asked: Asked, **changes: object) -> Asked:
    """The same of a table that differs in these fields."""
    return observing(asked, table=with_fields(asked.observation.table, **changes))


def unseen(source: str) -> NotSeen:
    """A source that is down."""
    return NotSeen(source=source, reason=f"{source} did not answer.", remedy="Start it again.")


def _looked(source: str, values: Iterable[T] | NotSeen) -> Seen[T] | NotSeen:
    return values if isinstance(values, NotSeen) else Seen(source=source, values=tuple(values))
