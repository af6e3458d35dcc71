"""A commit by a machine whose clock is behind: Java would refuse to load the table after it, so it is not made."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.errors import CouldNotLook
from bot.domain.file_changes import FileSources
from bot.domain.ids import SnapshotId
from bot.domain.table import TableState
from bot.ports import FileChange, TableChange
from tests.adapters.conftest import StandingClock
from tests.adapters.flink_wire import Wire
from tests.adapters.lake import ORDERS, Lake
from tests.adapters.rewinds import rewind

BRANCH = "recovery-wl-1"
REST_TABLE = "/v1/namespaces/sales/tables/orders"


@contextmanager
def ahead(seconds: float) -> Iterator[None]:
    """A writer whose clock is so far ahead of ours."""
    with pytest.MonkeyPatch.context() as patched:
        clock = SimpleNamespace(time=lambda: time.time() + seconds)
        patched.setattr("pyiceberg.table.snapshots.time", clock)
        yield


def drops_the_newest(catalog: PyIcebergCatalog, ref: str, head: SnapshotId) -> FileChange:
    """The newest commit's files, off a branch again."""
    found = catalog.survey_files(ORDERS, ref, add=None, remove=FileSources(added_by=(head,)), columns=())
    return FileChange(
        expected_uuid=catalog.load(ORDERS).uuid, ref=ref, expected_head=head, add=None, remove=found.remove, summary={}
    )


def files(lake: Lake) -> set[str]:
    """Every file of the table."""
    folder = Path(lake.table.location().removeprefix("file://"))
    return {str(path) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "change",
    [
        lambda table: rewind(table, table.chain[1].snapshot_id),
        lambda table: TableChange(
            expected_uuid=table.uuid, expected_head=None, set_properties={"waterline.status": "under-review"}
        ),
        lambda table: TableChange(
            expected_uuid=table.uuid, expected_head=table.head, new_branches={BRANCH: table.head}
        ),
    ],
    ids=["main back", "a property", "a branch"],
)
def test_far_behind_the_last_commit_nothing_is_changed(
    lake: Lake, catalog: PyIcebergCatalog, change: Callable[[TableState], TableChange]
) -> None:
    """It may be asked again once the clock is right."""
    with ahead(100):
        lake.append(7)
    before = lake.table.metadata_location

    with pytest.raises(CouldNotLook, match=r"clock is (100|99|98) s behind the table's last change.*tries again"):
        catalog.commit(ORDERS, change(catalog.load(ORDERS)))

    assert lake.table.metadata_location == before


def test_a_few_seconds_do_not_matter(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Java lets a minute pass."""
    with ahead(20):
        lake.append(7)

    catalog.commit(ORDERS, rewind(catalog.load(ORDERS), lake.heads[0]))

    assert catalog.load(ORDERS).head == lake.heads[0]


def test_a_change_of_files_leaves_nothing_behind(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Its manifests are deleted again."""
    with ahead(100):
        head = lake.append(7)
        lake.table.manage_snapshots().create_branch(head, BRANCH).commit()
    change, before = drops_the_newest(catalog, BRANCH, head), files(lake)

    with pytest.raises(CouldNotLook, match="behind the table's last change"):
        catalog.change_files(ORDERS, change)

    assert files(lake) == before


def test_a_rest_catalog_takes_the_time_by_itself_but_of_a_snapshot(
    lake: Lake, wire: Wire, clock: StandingClock
) -> None:
    """A move of main bears the server's time; a snapshot bears ours, and is not sent."""
    with ahead(100):
        head = lake.append(7)
        lake.table.manage_snapshots().create_branch(head, BRANCH).commit()
    location = lake.table.metadata_location
    metadata = json.loads(Path(location.removeprefix("file://")).read_text(encoding="utf-8"))
    wire.says("GET /v1/config", {"defaults": {}, "overrides": {}})
    loaded = {"metadata-location": location, "metadata": metadata, "config": {}}
    wire.says(f"GET {REST_TABLE}", loaded)
    wire.says(f"POST {REST_TABLE}", loaded)
    rest = PyIcebergCatalog("lake", {"type": "rest", "uri": wire.url}, clock)

    rest.commit(ORDERS, rewind(rest.load(ORDERS), lake.heads[0]))
    assert len(wire.sent("POST")) == 1
    with pytest.raises(CouldNotLook, match="behind the table's last change"):
        rest.change_files(ORDERS, drops_the_newest(rest, BRANCH, head))

    assert len(wire.sent("POST")) == 1
    rest.close()
