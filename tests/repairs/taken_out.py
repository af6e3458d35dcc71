"""What takes a repeated commit out of the table again: by its files, by its rows; as an effect, or done already."""

import os
from pathlib import Path

from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.spark_session import SparkConnection
from bot.incident.effects import ChangeFiles, DeleteRows, ReplayRows
from bot.observation.contract import TableContract
from bot.observation.file_changes import FileList, FileSources, RowsOfFile
from bot.observation.ids import IncidentId, SnapshotId
from bot.observation.replay import PositionRange, Replay, ReplayRange
from bot.observation.table import TableState
from bot.ports import FileChange, TableChange
from spark_tasks._support.data_files import whole_schema
from spark_tasks._support.replay import rows_given, summed
from tests.little_flink import by_hand
from tests.repairs.recipes import declared
from tests.tables import ORDERS

BRANCH, INCIDENT = "recovery-wl-1", IncidentId("wl-1")
ROWS = 10
Rows = DeleteRows | ReplayRows
SPARK = "WATERLINE_TEST_SPARK"
"""Environment variable with the address of the tests' Spark, for the repair that needs one."""


def without_files(catalog: PyIcebergCatalog, again: SnapshotId) -> ChangeFiles:
    """The files that this commit added."""
    remove = _files_of(catalog, again, "main")
    return ChangeFiles(table=ORDERS, branch=BRANCH, incident=INCIDENT, why="Take it out", remove=remove)


def without_rows(folder: Path, again: SnapshotId) -> DeleteRows:
    """All rows of the one file that this commit added."""
    with by_hand(folder) as table:
        entries = table.inspect.entries(snapshot_id=again).to_pylist()
    [path] = [each["data_file"]["file_path"] for each in entries if each["snapshot_id"] == again]
    gone = (RowsOfFile(path=path, spans=((0, ROWS - 1),)),)
    return DeleteRows(table=ORDERS, branch=BRANCH, incident=INCIDENT, why="Delete the copies", rows=gone)


def filling_the_hole(table: TableState, spark_at: str) -> ReplayRows:
    """Positions 30 to 39 made once more, as the Spark at this address makes them now."""
    contract = TableContract(key=("order_id",), position="source_position")
    bounds = ReplayRange(positions=(PositionRange(first=30, last=39),))
    connection = SparkConnection(spark_at)
    spark = connection.session()
    rows, digest = summed(rows_given(spark, declared(), bounds, contract, whole_schema(spark, table)))
    connection.close()
    replay = Replay(
        recipe=declared(), bounds=bounds, key=contract.key, position=contract.position, position_partition=None,
        event_time=None, rows=rows, digest=digest,
    )  # fmt: skip
    return ReplayRows(table=ORDERS, branch=BRANCH, incident=INCIDENT, why="Replay", replay=replay)


def repair_named(name: str, catalog: PyIcebergCatalog, folder: Path, again: SnapshotId) -> ChangeFiles | Rows:
    """What the repair of this name does on the branch; `again` is the newest commit."""
    if name == "replay":
        return filling_the_hole(catalog.load(ORDERS), os.environ[SPARK])
    return without_files(catalog, again) if name == "rehearse" else without_rows(folder, again)


def rehearse(catalog: PyIcebergCatalog) -> None:
    """Make the branch, without the files of the newest commit."""
    table = catalog.load(ORDERS)
    head = table.head
    assert head is not None
    change = TableChange(expected_uuid=table.uuid, expected_head=head, new_branches={BRANCH: head})
    catalog.commit(ORDERS, change)
    catalog.change_files(
        ORDERS,
        FileChange(
            expected_uuid=table.uuid, ref=BRANCH, expected_head=head, add=None, remove=_files_of(catalog, head, BRANCH),
            summary={"waterline.effect": "earlier/1", "waterline.incident": INCIDENT}
        ),
    )  # fmt: skip


def _files_of(catalog: PyIcebergCatalog, commit: SnapshotId, ref: str) -> FileList | None:
    return catalog.survey_files(ORDERS, ref, add=None, remove=FileSources(added_by=(commit,)), columns=()).remove
