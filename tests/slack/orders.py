"""`sales.orders` in the hands of others than the bot: writers, readers, and whoever rolls it back."""

import json
from datetime import UTC, datetime
from pathlib import Path

from pyiceberg.table import StaticTable, Table

from bot.observation.ids import SnapshotId
from tests.little_flink import open_catalog
from tests.tables import ORDERS, rows


class Orders:
    """The table as another engine sees it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._catalog = open_catalog(folder)
        self._metadata = Path(self.table.location().removeprefix("file://")) / "metadata"

    def close(self) -> None:
        """Give the catalog's connections back."""
        self._catalog.close()

    @property
    def table(self) -> Table:
        """Loaded now."""
        return self._catalog.load_table(ORDERS)

    @property
    def head(self) -> SnapshotId:
        """The newest snapshot on main."""
        snapshot = self.table.current_snapshot()
        assert snapshot is not None
        return SnapshotId(snapshot.snapshot_id)

    @property
    def waterline(self) -> SnapshotId | None:
        """Where the tag `waterline` stands."""
        ref = self.table.metadata.refs.get("waterline")
        return SnapshotId(ref.snapshot_id) if ref else None

    @property
    def status(self) -> str | None:
        """What the table's property says to every engine."""
        return self.table.properties.get("waterline.status")

    @property
    def marked_when_main_moved(self) -> list[str | None]:
        """What the table's property said in each version of its metadata that moved main to another commit of its
        history; the newest last."""
        older = [entry.metadata_file for entry in self.table.metadata.metadata_log]
        versions = [StaticTable.from_metadata(file) for file in [*older, self.table.metadata_location]]
        heads = [version.metadata.current_snapshot_id for version in versions]
        moved = [n for n in range(1, len(heads)) if heads[n] != heads[n - 1] and heads[n] in heads[: n - 1]]
        return [versions[n].properties.get("waterline.status") for n in moved]

    @property
    def positions(self) -> list[int]:
        """Every live source position, copies too."""
        found = self.table.scan(selected_fields=("source_position",)).to_arrow()
        return sorted(found["source_position"].to_pylist())

    def commit_of(self, run: str, checkpoint: int) -> SnapshotId:
        """The snapshot of one checkpoint of one run."""
        found = next(
            s
            for s in self.table.snapshots()
            if s.summary
            and s.summary["flink.job-id"] == (run * 32)[:32]
            and s.summary["flink.max-committed-checkpoint-id"] == str(checkpoint)
        )
        return SnapshotId(found.snapshot_id)

    def spark_appends(self) -> SnapshotId:
        """Another engine commits ten rows."""
        summary = {"engine-name": "spark", "spark.app.id": "local-17"}
        self.table.append(rows(range(1000, 1010)), snapshot_properties=summary)
        return self.head

    def somebody_mends(self) -> SnapshotId:
        """Every second copy of a row is taken out by hand, in one commit."""
        found = self.table.scan().to_arrow()
        places = {position: place for place, position in enumerate(found["source_position"].to_pylist())}
        self.table.overwrite(found.take(sorted(places.values())), snapshot_properties={"engine-name": "spark"})
        return self.head

    def loses_its_metadata(self) -> None:
        """The storage is gone: what the catalog points to cannot be read."""
        self._metadata.rename(self._metadata.with_name("elsewhere"))

    def finds_its_metadata(self) -> None:
        """The storage is back."""
        self._metadata.with_name("elsewhere").rename(self._metadata)

    def read_by(self, consumer: str, run: str, snapshot: SnapshotId) -> None:
        """A consumer's run read this snapshot; its lineage event is in the file."""
        event = {
            "eventTime": datetime.now(UTC).isoformat(),
            "eventType": "COMPLETE",
            "run": {"runId": run},
            "job": {"namespace": "spark", "name": consumer},
            "inputs": [
                {
                    "namespace": "lake",
                    "name": "sales.orders",
                    "inputFacets": {"icebergScanReport": {"snapshotId": snapshot}},
                }
            ],
        }
        with (self._folder / "lineage.jsonl").open("a") as file:
            file.write(json.dumps(event) + "\n")
