"""What takes a repeated commit out of the table again: by its files, by its rows; as an effect, or done already."""

from pathlib import Path

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.effects import ChangeFiles, DeleteRows
from bot.domain.file_changes import FileList, FileSources, RowsOfFile
from bot.domain.ids import IncidentId, SnapshotId
from bot.ports import FileChange, TableChange
from tests.little_flink import open_catalog
from tests.tables import ORDERS

BRANCH, INCIDENT = "recovery-wl-1", IncidentId("wl-1")
ROWS = 10


def without_files(catalog: PyIcebergCatalog, again: SnapshotId) -> ChangeFiles:
    """The files that this commit added."""
    remove = _files_of(catalog, again, "main")
    return ChangeFiles(table=ORDERS, branch=BRANCH, incident=INCIDENT, why="Take it out", remove=remove)


def without_rows(folder: Path, again: SnapshotId) -> DeleteRows:
    """All rows of the one file that this commit added."""
    catalog = open_catalog(folder)
    entries = catalog.load_table(ORDERS).inspect.entries(snapshot_id=again).to_pylist()
    catalog.close()
    [path] = [each["data_file"]["file_path"] for each in entries if each["snapshot_id"] == again]
    gone = (RowsOfFile(path=path, spans=((0, ROWS - 1),)),)
    return DeleteRows(table=ORDERS, branch=BRANCH, incident=INCIDENT, why="Delete the copies", rows=gone)


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
            summary={"waterline.effect": "earlier/1", "waterline.incident": INCIDENT},
        ),
    )  # fmt: skip


def _files_of(catalog: PyIcebergCatalog, commit: SnapshotId, ref: str) -> FileList | None:
    return catalog.survey_files(ORDERS, ref, add=None, remove=FileSources(added_by=(commit,)), columns=()).remove
