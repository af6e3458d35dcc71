"""Who read which snapshot; a source that cannot be read is never "nobody"."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.adapters import lineage
from bot.adapters.lineage import MOST_STEPS, NoLineage, OpenLineageFile
from bot.bootstrap import outside
from bot.observation.errors import CouldNotLook
from bot.observation.looked import unread_in
from bot.observation.table import TableState
from bot.settings import Settings
from tests.adapters.conftest import NOON

__all__ = ["file"]


AGES_AGO = datetime(2000, 1, 1, tzinfo=UTC)
TABLE = TableState(
    name="sales.orders",
    uuid="7d7f4d0e-1c0a-4b58-9c1f-0b6a5f0e9a11",
    location="s3://lake/warehouse/sales/orders",
    metadata_location="s3://lake/warehouse/sales/orders/metadata/1.metadata.json",
    format_version=2,
    head=None,
    snapshots=(),
    read_at=NOON,
)
BY_LOCATION = {"namespace": "s3a://lake", "name": "warehouse/sales/orders"}
BY_SYMLINK = {
    "namespace": "file",
    "name": "/elsewhere",
    "facets": {"symlinks": {"identifiers": [{"namespace": "lake", "name": "sales.orders", "type": "TABLE"}]}},
}
BY_NAME = {"namespace": "trino://host", "name": "lake.sales.orders"}
ANOTHER = {"namespace": "s3://lake", "name": "warehouse/sales/orders_eu"}


def scanned(dataset: dict[str, Any], snapshot: int) -> dict[str, Any]:
    """The dataset with the scan report that Spark adds."""
    return {**dataset, "inputFacets": {"icebergScanReport": {"snapshotId": snapshot, "schemaId": 0}}}


def event(*inputs: dict[str, Any], job: str = "revenue_daily", run: str = "r1", minute: int = 0, kind: str = "COMPLETE",
          run_facets: dict[str, Any] | None = None) -> str:  # fmt: skip
    """One line."""
    return json.dumps(
        {
            "eventTime": (NOON + timedelta(minutes=minute)).isoformat(),
            "eventType": kind,
            "run": {"runId": run, "facets": run_facets or {}},
            "job": {"namespace": "analytics", "name": job},
            "inputs": list(inputs),
            "outputs": [],
        }
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the events are."""
    return tmp_path / "events.jsonl"


def reads(file: Path, *lines: str, since: datetime = AGES_AGO, end: str = "\n") -> list[tuple[str, str, int | None]]:
    """Consumer, run and snapshot of each read that the file tells."""
    file.write_text("\n".join(lines) + end, encoding="utf-8")
    found = OpenLineageFile(file, "lake").reads(TABLE, since)
    return [(read.consumer, read.run_id, read.snapshot_id) for read in found]


@pytest.mark.parametrize("dataset", [BY_LOCATION, BY_SYMLINK, BY_NAME], ids=["location", "symlink", "name"])
def test_a_read_is_found_however_the_table_is_named(file: Path, dataset: dict[str, Any]) -> None:
    """Spark names an Iceberg input by its storage, Trino by its catalog."""
    assert reads(file, event(scanned(dataset, 7))) == [("revenue_daily", "r1", 7)]


def test_a_read_names_its_engine_where_any_event_of_its_run_does(file: Path) -> None:
    """Integrations tell it at the start, some without a name, many not at all."""
    told: list[dict[str, Any]] = [{"processing_engine": {"name": "spark"}}, {"processing_engine": {"version": "3"}}, {}]
    lines = [event(scanned(BY_NAME, 7), run=f"r{n}", run_facets=facets) for n, facets in enumerate(told)]
    file.write_text("\n".join([*lines, event(scanned(BY_NAME, 7), run="r0", minute=1)]), encoding="utf-8")

    found = OpenLineageFile(file, "lake").reads(TABLE, AGES_AGO)

    assert {read.run_id: read.engine for read in found} == {"r0": "spark", "r1": "", "r2": ""}


def test_another_table_is_not_this_one(file: Path) -> None:
    """A name or a location that only begins alike is another table."""
    assert reads(file, event(scanned(ANOTHER, 7))) == []


def test_the_version_facet_alone_is_not_certain(file: Path) -> None:
    """It is the table's current snapshot, whatever the run read: told, and told that it may have been another; one
    that is no snapshot id tells nothing."""
    version = {**BY_NAME, "facets": {"version": {"datasetVersion": "41"}}}
    label = {**BY_NAME, "facets": {"version": {"datasetVersion": "v41"}}}

    found = reads(file, event(version, run="r1"), event(label, run="r2", minute=1))

    assert found == [("revenue_daily", "r1", 41), ("revenue_daily", "r1", None), ("revenue_daily", "r2", None)]


def test_the_scan_outweighs_the_version(file: Path) -> None:
    """START names the head of its moment, and the job commits on; the scan says which one was read."""
    start = {**BY_NAME, "facets": {"version": {"datasetVersion": "41"}}}
    end = {**scanned(BY_NAME, 7), "facets": {"version": {"datasetVersion": "42"}}}

    assert reads(file, event(start, kind="START"), event(end, minute=1)) == [("revenue_daily", "r1", 7)]


def test_a_table_called_as_a_metadata_table_is_a_table(file: Path) -> None:
    """`sales.orders.files` is not read when `sales.files` is, and the other way round."""
    table = TABLE.model_copy(update={"name": "sales.files", "location": "s3://lake/warehouse/sales/files"})
    named = {"identifiers": [{"namespace": "hive://lake", "name": "sales.files", "type": "TABLE"}]}
    theirs = {"namespace": "s3://lake", "name": "warehouse/sales/files", "facets": {"symlinks": named}}
    file.write_text(
        event(scanned(theirs, 7)) + "\n" + event(scanned({**BY_NAME, "name": "lake.sales.files"}, 8)) + "\n"
    )

    found = OpenLineageFile(file, "lake").reads(table, AGES_AGO)

    assert sorted(read.snapshot_id or 0 for read in found) == [7, 8]


def test_a_run_counts_once_for_each_snapshot(file: Path) -> None:
    """START tells no snapshot, COMPLETE does; a run that read two snapshots read both."""
    found = reads(
        file,
        event(BY_NAME, kind="START"),
        event(scanned(BY_NAME, 7), kind="RUNNING", minute=1),
        event(scanned(BY_NAME, 7), scanned(BY_LOCATION, 8), minute=2),
    )

    assert sorted(found) == [("revenue_daily", "r1", 7), ("revenue_daily", "r1", 8)]


def test_a_run_that_failed_has_read_all_the_same(file: Path) -> None:
    """It may have published before it failed."""
    assert reads(file, event(scanned(BY_NAME, 7), kind="FAIL")) == [("revenue_daily", "r1", 7)]


def test_since_is_exclusive_and_the_oldest_comes_first(file: Path) -> None:
    """The bound of the window is not in the window."""
    lines = [event(scanned(BY_NAME, minute), run=f"r{minute}", minute=minute) for minute in (3, 1, 2)]

    found = reads(file, *lines, since=NOON + timedelta(minutes=1))

    assert [snapshot for _, _, snapshot in found] == [2, 3]


def test_spark_names_the_consumer_by_its_application(file: Path) -> None:
    """The job of a Spark event is application and plan node; a parent of another kind is no consumer's name."""
    parent = {"parent": {"job": {"namespace": "analytics", "name": "revenue_daily"}, "run": {"runId": "p"}}}

    found = reads(
        file,
        event(scanned(BY_NAME, 7), job="revenue_daily.adaptive_spark_plan.orders", run="r1", run_facets=parent),
        event(scanned(BY_NAME, 7), job="fraud_features", run="r2", minute=1, run_facets=parent),
    )

    assert [consumer for consumer, _, _ in found] == ["revenue_daily", "fraud_features"]


def test_one_bad_line_does_not_hide_the_others(file: Path) -> None:
    """What can be read is told."""
    assert reads(file, "{broken", event(scanned(BY_NAME, 7))) == [("revenue_daily", "r1", 7)]


@pytest.mark.parametrize("bad", ["{broken", "[]", '{"run": {}}', '{"eventTime": "2026-11-03T12:00:00"}'])
def test_nothing_found_beside_a_bad_line_is_not_nobody(file: Path, bad: str) -> None:
    """The read may be in the very line that cannot be read; the line is named."""
    with pytest.raises(CouldNotLook, match="The first is line 2"):
        reads(file, event(scanned(ANOTHER, 7)), bad)


def test_a_half_written_last_line_is_left_out(file: Path) -> None:
    """The engine is just writing it; it will be whole at the next look."""
    whole = event(scanned(BY_NAME, 7))

    assert reads(file, event(scanned(ANOTHER, 7)), whole[:50], end="") == []
    assert reads(file, event(scanned(ANOTHER, 7)), whole, end="") == [("revenue_daily", "r1", 7)]


def test_events_about_datasets_and_jobs_are_no_reads(file: Path) -> None:
    """OpenLineage has two more kinds of events, without a run; blank lines are nothing."""
    dataset_event = json.dumps({"eventTime": NOON.isoformat(), "dataset": BY_NAME})

    assert reads(file, dataset_event, "", event(scanned(BY_NAME, 7))) == [("revenue_daily", "r1", 7)]


def test_a_missing_file_could_not_be_looked_into(file: Path) -> None:
    """And so is a folder."""
    for path in (file, file.parent):
        with pytest.raises(CouldNotLook):
            OpenLineageFile(path, "lake").reads(TABLE, AGES_AGO)


def source(file: Path, *lines: str, names: Sequence[str] | None = None) -> OpenLineageFile:
    """A file that tells these events."""
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return OpenLineageFile(file, "lake", names)


def test_without_any_source_nobody_knows_who_read() -> None:
    """Nothing configured is "could not look", never "nobody"."""
    with pytest.raises(CouldNotLook, match="no source is configured"):
        NoLineage().reads(TABLE, AGES_AGO)
    with pytest.raises(CouldNotLook, match="no source is configured"):
        NoLineage().downstream(TABLE, AGES_AGO)


def test_what_could_not_be_read_is_counted_beside_what_was(file: Path) -> None:
    """Near and far: whoever is not among the reads may be in the lines that are none; old lines are not."""
    old = json.dumps({"eventTime": (NOON - timedelta(days=3)).isoformat(), "run": {}})
    found = source(file, old, "{broken", event(scanned(BY_NAME, 7)))

    near = found.reads(TABLE, NOON - timedelta(days=1))
    far = found.downstream(TABLE, NOON - timedelta(days=1))

    assert [read.snapshot_id for read in near] == [7]
    assert far == ()
    assert unread_in(near) == unread_in(far) == "1 line of events.jsonl could not be read, the first is line 2"


def test_where_every_line_is_an_event_nothing_is_unread(file: Path) -> None:
    """The rest of the time."""
    assert unread_in(source(file, event(scanned(BY_NAME, 7))).reads(TABLE, AGES_AGO)) is None


def test_readers_are_followed_as_far_as_it_makes_sense(tmp_path: Path) -> None:
    """A chain that is longer than what is followed, its runs in the file in the wrong order."""
    mart = [{"namespace": "s3://lake", "name": f"mart/m{number}"} for number in range(MOST_STEPS + 4)]
    lines = [
        {**json.loads(event(mart[number], run=f"r{number}", minute=number)), "outputs": [mart[number + 1]]}
        for number in range(MOST_STEPS + 3)
    ]
    origin = {**json.loads(event(BY_NAME, run="origin", minute=-1)), "outputs": [mart[0]]}
    gone = json.loads(event(mart[0], run="gone", minute=-30_000))
    file = tmp_path / "events.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in [*reversed(lines), gone, origin]))

    far = OpenLineageFile(file, "lake").downstream(TABLE, NOON - timedelta(hours=1))

    assert {f"r{number}" for number in range(MOST_STEPS)} == {each.run_id for each in far}


def test_too_many_events_are_not_half_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would fill the memory; older ones do not count."""
    monkeypatch.setattr(lineage, "MAX_EVENTS", 3)
    found = source(file, *(event(BY_NAME, run=f"r{n}", minute=n) for n in range(-3, 4)))

    with pytest.raises(CouldNotLook, match="at most 3 since"):
        found.reads(TABLE, NOON)
    assert len(found.reads(TABLE, NOON + timedelta(seconds=1))) == 3


@pytest.mark.parametrize("more", ["[" * 100_000, '{"eventTime": '])
def test_a_line_of_any_depth_is_a_line_that_cannot_be_read(file: Path, more: str) -> None:
    """Python's parser gives up with an error of its own."""
    told = source(file, more, event(scanned(BY_NAME, 7))).reads(TABLE, AGES_AGO)

    assert unread_in(told) == "1 line of events.jsonl could not be read, the first is line 1"


def test_an_old_line_with_a_number_of_any_length_is_old(tmp_path: Path) -> None:
    """Python refuses to read the digits, which say nothing of the time."""
    file = tmp_path / "events.jsonl"
    file.write_text('{"eventTime": "2000-01-01 00:00:00Z", "run": ' + "9" * 5000 + "}\n")

    assert OpenLineageFile(file, "lake").reads(TABLE, datetime(2020, 1, 1, tzinfo=UTC)) == ()


BY_TRINO = {"namespace": "trino://trino:8443", "name": "iceberg.sales.orders"}
REMEDY = "`lineage.catalog_names`"


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
        told = outside.lineage(Settings.load(config), stack).reads(TABLE, AGES_AGO)

    assert [read.run_id for read in told] == ["r1"]
