"""Flink's temporary manifests are found by their names, wherever the table says that they lie."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.table_files import FolderOfTable
from bot.domain.errors import CouldNotLook
from tests.tables import OPERATOR, OrdersTable, job


@pytest.fixture
def orders(tmp_path: Path) -> Iterator[OrdersTable]:
    """A table of one commit."""
    table = OrdersTable(tmp_path)
    table.commits("a", 1, range(10))
    yield table
    table.close()


def test_iceberg_s_own_manifests_are_none_of_flinks(orders: OrdersTable) -> None:
    """Manifests, lists and metadata files of the table are passed over."""
    assert FolderOfTable().flink_manifests(orders.state()) == ()


def test_a_manifest_tells_run_operator_attempt_and_checkpoint(orders: OrdersTable) -> None:
    """All that its name says, and its size and time; by run and checkpoint."""
    later = orders.leaves_manifest("a", 12, {"x.parquet": [1]}, attempt=3)
    orders.leaves_manifest("a", 9, {"y.parquet": [2]})

    first, second = FolderOfTable().flink_manifests(orders.state())

    assert (first.checkpoint_id, second.checkpoint_id) == (9, 12)
    assert (second.job_id, second.operator_id, second.attempt, second.number) == (job("a"), OPERATOR, 3, 1)
    assert second.path == f"file:{later}"
    assert second.bytes == later.stat().st_size
    assert second.written_at is not None


def test_the_uuid_of_the_dynamic_sink_does_not_hide_it(orders: OrdersTable) -> None:
    """The dynamic sink adds one to the name."""
    plain = orders.leaves_manifest("a", 4, {"x.parquet": [1]})
    plain.rename(plain.with_name(f"{plain.stem}-23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11.avro"))

    (found,) = FolderOfTable().flink_manifests(orders.state())

    assert found.checkpoint_id == 4


def test_another_location_is_looked_at_instead(orders: OrdersTable, tmp_path: Path) -> None:
    """`flink.manifests.location` is where the sink writes them."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    left = orders.leaves_manifest("a", 4, {"x.parquet": [1]})
    left.rename(elsewhere / left.name)
    table = orders.state().model_copy(update={"properties": {"flink.manifests.location": f"file://{elsewhere}"}})

    (found,) = FolderOfTable().flink_manifests(table)

    assert found.path == f"file:{elsewhere / left.name}"


def test_a_folder_that_cannot_be_listed_is_said(orders: OrdersTable) -> None:
    """No folder is not an empty folder."""
    table = orders.state().model_copy(update={"properties": {"flink.manifests.location": "file:///no/such"}})

    with pytest.raises(CouldNotLook) as refused:
        FolderOfTable().flink_manifests(table)

    assert "/no/such" in refused.value.found
