"""The commits of a synthetic table: one Flink run for months, then a second one that replays its last five."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from bot.observation.ids import SnapshotId
from tests.tables import ORDERS, of_flink, rows

WINDOW = 20
"""Commits of the window that is asked about."""
PER_COMMIT = 5
"""Files of one commit of the window."""
REPLAYED = 5
"""Commits of the first run that the second one writes again."""
_FIRST_MS = 1_760_000_000_000
_EVERY_MS = 60_000


@dataclass(frozen=True)
class Told:
    """One commit before it is written."""

    snapshot_id: SnapshotId
    parent_id: SnapshotId | None
    sequence: int
    run: str
    checkpoint: int
    is_replay: bool


def told_commits(many: int) -> list[Told]:
    """Oldest first; the last five are the second run's."""
    ids = [SnapshotId((1 << 61) + number * 7_919_000_003 % (1 << 60)) for number in range(1, many + 1)]
    commits = []
    for place, snapshot_id in enumerate(ids):
        is_replay = place >= many - REPLAYED
        commits.append(
            Told(
                snapshot_id=snapshot_id,
                parent_id=ids[place - 1] if place else None,
                sequence=place + 1,
                run="b" if is_replay else "a",
                checkpoint=place + 1 - (REPLAYED if is_replay else 0),
                is_replay=is_replay,
            )
        )
    return commits


def empty_table(home: Path) -> Table:
    """`sales.orders` without a commit, in a catalog of its own."""
    catalog = SqlCatalog("lake", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/lake")
    catalog.create_namespace("sales")
    table = catalog.create_table(ORDERS, schema=rows([]).schema)
    catalog.close()
    return table


def write_rows(table: Table, many: int) -> Path:
    """A Parquet file of so many rows in the table's data folder."""
    path = Path(table.location().removeprefix("file://")) / "data" / "rows.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(rows(range(many)), path)
    return path


def write_metadata(home: Path, table: Table, commits: Sequence[Told], lists: Mapping[SnapshotId, str]) -> None:
    """The metadata file with every commit, and the catalog pointing to it."""
    told = json.loads(table.metadata.model_dump_json())
    head = commits[-1]
    told |= {
        "last-sequence-number": head.sequence,
        "last-updated-ms": _at(head),
        "current-snapshot-id": head.snapshot_id,
        "refs": {"main": {"snapshot-id": head.snapshot_id, "type": "branch"}},
        "snapshots": [_snapshot(commit, lists[commit.snapshot_id]) for commit in commits],
        "snapshot-log": [{"timestamp-ms": _at(commit), "snapshot-id": commit.snapshot_id} for commit in commits],
    }
    path = f"{table.location()}/metadata/{head.sequence:05d}-00000000-0000-4000-8000-000000000000.metadata.json"
    Path(path.removeprefix("file://")).write_text(json.dumps(told))
    with closing(sqlite3.connect(home / "catalog.db")) as connection, connection:
        connection.execute("UPDATE iceberg_tables SET metadata_location = ?", (path,))


def _at(commit: Told) -> int:
    return _FIRST_MS + commit.sequence * _EVERY_MS


def _snapshot(commit: Told, manifest_list: str) -> dict[str, object]:
    counters = {
        "added-data-files": PER_COMMIT,
        "added-records": PER_COMMIT * 10_000,
        "added-files-size": 61_728_390,
        "changed-partition-count": 1,
        "total-records": commit.sequence * 50_000,
        "total-files-size": commit.sequence * 61_728_390,
        "total-data-files": commit.sequence * PER_COMMIT,
        "total-delete-files": 0,
        "total-position-deletes": 0,
        "total-equality-deletes": 0,
    }
    summary = of_flink(commit.run, commit.checkpoint, {"app.git-sha": "9f1c2ab", "engine-version": "1.20.3"})
    summary |= {"iceberg-version": "Apache Iceberg 1.10.2 (commit 57396d628cb9f92e121f9c2919398475393f0a3a)"}
    return {
        "snapshot-id": commit.snapshot_id,
        "sequence-number": commit.sequence,
        "timestamp-ms": _at(commit),
        "summary": {"operation": "append", **summary, **{key: str(value) for key, value in counters.items()}},
        "manifest-list": manifest_list,
        "schema-id": 0,
        **({} if commit.parent_id is None else {"parent-snapshot-id": commit.parent_id}),
    }
