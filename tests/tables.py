"""Real Iceberg tables for tests, told in the words of an incident.

A table of orders is written by PyIceberg into a folder of the test, with the summaries that Flink's sink
writes. `orders.commits(run="a", checkpoint=3, positions=range(100))` is one checkpoint of run `aaaa…`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import parquet_file_to_data_file
from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus, write_manifest
from pyiceberg.table import TableProperties

from bot.adapters.iceberg.streaming_metadata import table_state
from bot.adapters.table_files import FolderOfTable
from bot.domain.contract import TableContract
from bot.domain.evidence import Ask, Observation
from bot.domain.flink import FlinkManifest, JobRun, StoredCheckpoint
from bot.domain.ids import JobId, OperatorId, SnapshotId, TableName
from bot.domain.looked import NotSeen, Seen
from bot.domain.reads import ReadRun
from bot.domain.table import TableState, Window
from bot.domain.written import OF_STATE, WrittenSchema
from tests.engines import WrittenTable

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
    positions: Iterable[int | None], *, partition: int = 0, orders: Iterable[int | None] | None = None
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


class OrdersTable(WrittenTable):
    """`sales.orders` in a SQLite catalog of its own."""

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        self.catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/lake")
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


def unseen(source: str) -> NotSeen:
    """A source that is down."""
    return NotSeen(source=source, reason=f"{source} did not answer.", remedy="Start it again.")


def _looked(source: str, values: Iterable[T] | NotSeen) -> Seen[T] | NotSeen:
    return values if isinstance(values, NotSeen) else Seen(source=source, values=tuple(values))
