"""A commit whose files storage does not take leaves none behind, and says that it was storage."""

from pathlib import Path

import pytest

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.errors import CouldNotLook
from bot.domain.file_changes import RowsOfFile
from tests.repairs.test_file_changes import Rehearsal
from tests.repairs.test_row_deletes import deleting, file_of
from tests.tables import ORDERS, OrdersTable


def _slow_down(*_asked: object, **_how: object) -> None:
    raise OSError("AWS Error SLOW_DOWN: Please reduce your request rate")


@pytest.mark.parametrize(
    "name",
    ["write_listing", "manifest_writer", "_in_partition_of"],
    ids=["the manifest list", "a manifest", "the deletes"],
)
def test_each_retry_takes_its_files_back(
    orders: OrdersTable, catalog: PyIcebergCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A repair may be tried for an hour."""
    again = orders.commits("a", 1, range(10))
    Rehearsal(catalog)
    change = deleting(catalog, RowsOfFile(path=file_of(orders, again), spans=((0, 2),)))
    before = {each for each in tmp_path.rglob("*") if each.is_file()}
    assert before, "the table lies elsewhere"
    monkeypatch.setattr(f"bot.adapters.iceberg.repairs.{name}", _slow_down)

    for _ in range(2):
        with pytest.raises(CouldNotLook, match=r"storage did not accept the files .*SLOW_DOWN"):
            catalog.delete_rows(ORDERS, change)

    assert {each for each in tmp_path.rglob("*") if each.is_file()} == before
