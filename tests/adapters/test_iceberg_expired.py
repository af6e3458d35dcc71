"""What the catalog tells of commits that were expired: from older metadata files, as far as a commit by Flink."""

from pathlib import Path

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.ids import SnapshotId
from tests.adapters.lake import ORDERS, Lake


def by_flink(lake: Lake, checkpoint: int) -> SnapshotId:
    """One commit of a Flink run."""
    run = {"flink.job-id": "a" * 32, "flink.max-committed-checkpoint-id": str(checkpoint)}
    return lake.append(checkpoint, **run)


def keeps_only_the_head(lake: Lake) -> Path:
    """Expires all below; the answer is the metadata file from before."""
    table = lake.table
    before = Path(table.metadata_location.removeprefix("file://"))
    table.maintenance.expire_snapshots().by_ids([each for each in lake.heads if each != lake.heads[-1]]).commit()
    return before


def test_the_line_below_main_is_told_oldest_first(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """PyIceberg's expiry leaves no parent in the snapshot that stays; the older file still has it."""
    expired = [by_flink(lake, 1), by_flink(lake, 2)]
    lake.append(9)
    keeps_only_the_head(lake)

    table = catalog.load(ORDERS)
    told = catalog.expired(table)

    assert [each.snapshot_id for each in told][-2:] == expired
    whole = table.below(told)
    assert [each.snapshot_id for each in whole.chain] == [
        lake.heads[-1],
        *reversed([each.snapshot_id for each in told]),
    ]
    assert [each.checkpoint_id for each in whole.of_flink] == [1, 2]


def test_it_is_followed_over_several_expiries(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Each left one commit by another engine."""
    last = by_flink(lake, 7)
    for position in (8, 9, 10):
        lake.append(position)
        keeps_only_the_head(lake)

    told = catalog.expired(catalog.load(ORDERS))

    assert len(told) >= 3
    assert [each.snapshot_id for each in told if each.checkpoint_id == 7] == [last]


def test_a_file_that_is_gone_is_passed_over(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """The one before it tells of the line too, as far as that had come; with a hole nothing is told."""
    by_flink(lake, 7)
    lake.append(8)
    keeps_only_the_head(lake).unlink()

    assert catalog.expired(catalog.load(ORDERS)) == ()


def test_nothing_was_expired(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Older files tell of nothing below the table's first commit."""
    by_flink(lake, 1)

    assert catalog.expired(catalog.load(ORDERS)) == ()
