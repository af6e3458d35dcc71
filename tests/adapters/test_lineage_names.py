"""Engines call one catalog by names of their own: a read under one that is not known is never "nobody read it"."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.lineage import AllLineage, OpenLineageFile
from bot.adapters.lineage_reading import kept_events, reads_again
from bot.bootstrap import outside
from bot.domain.errors import CouldNotLook
from bot.domain.looked import unread_in
from bot.settings import Settings
from tests.adapters.test_lineage import AGES_AGO, BY_LOCATION, BY_NAME, TABLE, event, file, scanned

__all__ = ["file"]
BY_TRINO = {"namespace": "trino://trino:8443", "name": "iceberg.sales.orders"}
REMEDY = "`lineage.catalog_names`"


def source(file: Path, *lines: str, names: Sequence[str] | None = None) -> AllLineage:
    """A file that tells these events."""
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return AllLineage([OpenLineageFile(file, "lake", names)])


def test_a_read_under_a_name_that_is_set_is_a_read(file: Path) -> None:
    """Trino's catalog is called as its file of properties, whatever Spark and Flink call it."""
    found = source(file, event(BY_TRINO, run="r1"), event(BY_NAME, run="r2"), names=["iceberg"])

    told = found.reads(TABLE, AGES_AGO)

    assert {read.run_id for read in told} == {"r1", "r2"}
    assert unread_in(told) is None


def test_a_read_under_another_name_is_told_beside_the_others(file: Path) -> None:
    """Near and far: whoever is not among the reads may be in it."""
    lines = [event(BY_LOCATION, run="r1"), event(BY_TRINO, run="r2"), event(BY_TRINO, run="r2", minute=1)]
    found = source(file, *lines)

    near, far = found.reads(TABLE, AGES_AGO), found.downstream(TABLE, AGES_AGO)

    assert [read.run_id for read in near] == ["r1"]
    assert unread_in(near) == unread_in(far)
    assert f"1 run read iceberg.sales.orders, of a catalog that is not known ({REMEDY})" in (unread_in(near) or "")


def test_nothing_found_beside_another_name_is_not_nobody(file: Path) -> None:
    """What it may be, and which setting tells that it is or is not."""
    with pytest.raises(CouldNotLook, match=r"iceberg\.sales\.orders.*`lineage\.catalog_names`.*an empty list"):
        source(file, event(BY_TRINO)).reads(TABLE, AGES_AGO)


@pytest.mark.parametrize("names", [(), ("hive",)])
def test_where_the_names_are_set_another_one_is_another_table(file: Path, names: tuple[str, ...]) -> None:
    """They are all that there are."""
    assert source(file, event(BY_TRINO), names=names).reads(TABLE, AGES_AGO) == ()


@pytest.mark.parametrize(
    "dataset",
    [
        {"namespace": "postgres://shop:5432", "name": "shop.sales.orders"},
        {"namespace": "trino://trino:8443", "name": "iceberg.presales.orders"},
        {"namespace": "trino://trino:8443", "name": "iceberg.sales.orders$files"},
        {
            "namespace": "s3://elsewhere",
            "name": "copy/sales/orders",
            "facets": {"symlinks": {"identifiers": [{"namespace": "hive://h", "name": "copy.sales.orders"}]}},
        },
    ],
    ids=["a database's own table", "another table", "a metadata table", "another place"],
)
def test_what_surely_is_another_table_puts_nothing_in_doubt(file: Path, dataset: dict[str, Any]) -> None:
    """A database keeps rows of its own, and a location says where the rows are."""
    assert source(file, event(dataset)).reads(TABLE, AGES_AGO) == ()


def test_old_reads_and_events_of_no_run_put_nothing_in_doubt(file: Path) -> None:
    """Of the time before the look nobody is asked."""
    source(file, event(BY_TRINO), event(BY_LOCATION, run="r2", minute=9))

    found = OpenLineageFile(file, "lake").reads(TABLE, TABLE.read_at)

    assert unread_in(found) is None


def test_kept_events_are_read_again_under_the_same_names(file: Path) -> None:
    """A saved case tells what was told then."""
    source(file, event(scanned(BY_TRINO, 7)))

    address, events = kept_events(file, "lake", TABLE, AGES_AGO, ["iceberg"])

    assert [read.snapshot_id for read in reads_again(address, events, TABLE)] == [7]


def test_the_setting_reaches_every_source(file: Path, tmp_path: Path) -> None:
    """As it stands in the configuration file."""
    config = tmp_path / "waterline.yaml"
    config.write_text(
        "catalog: {name: lake, properties: {type: sql}}\n"
        "lineage: {events: events.jsonl, catalog_names: [iceberg]}\n"
        "tables: {sales.orders: {contract: {key: [id]}, policies: {default: {users: [U0BEN00001]}}}}\n",
        encoding="utf-8",
    )
    source(file, event(BY_TRINO))
    with ExitStack() as stack:
        told = outside.lineage(Settings.load(config), stack, None).reads(TABLE, AGES_AGO)

    assert [read.run_id for read in told] == ["r1"]
