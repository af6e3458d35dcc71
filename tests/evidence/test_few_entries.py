"""What is told of few entries here is what Spark tells of many."""

from pathlib import Path

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    write_manifest,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.adapters.spark import SparkEvidenceRunner
from bot.domain.errors import EvidenceFailed
from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId
from bot.domain.table import Column, Window
from spark_tasks import _few_entries, _source_ranges
from spark_tasks._bounds import range_columns
from spark_tasks._covered import Range
from spark_tasks._entry_counts import Counts, counts_of
from spark_tasks._few_entries import Edges, Entry, few_entries
from spark_tasks._manifests import Manifest, own_manifests
from spark_tasks._reading import stored_entries
from spark_tasks._window import reach_of
from spark_tasks.duplicate_commits import Shared, brought_by
from spark_tasks.duplicate_files import Repeats, repeats_in
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable
from tests.upserts import upserts

FLINKS = "00003-{}-23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11-00001.parquet"


@pytest.fixture
def spark(runner: SparkEvidenceRunner) -> SparkSession:
    """The session that tasks run on."""
    return runner.connection.session()


@pytest.fixture
def eventful(orders: OrdersTable) -> Ask:
    """A window in which files are named again and twice, deleted, written anew, upserted and rolled back."""
    before = orders.commits_files("a", 1, {"below.parquet": range(-5, 10)})
    orders.commits_files("a", 2, {FLINKS.format(0): range(10, 20), FLINKS.format(12): range(20, 33)})
    orders.names_again("a", 2, [FLINKS.format(0), "below.parquet"])
    kept = orders.commits_files("a", 3, {"twice.parquet": range(33, 40)}, times=2)
    orders.commits("b", 4, range(40, 45))
    orders.rolls_back_to(kept)
    orders.deletes("source_position = 3")
    orders.commits("c", 4, range(50, 52), partition=-7)
    upserts(orders, "c", 5, range(60, 63), keys=range(3), deletes=[20])
    return orders.ask(before)


def ways(monkeypatch: pytest.MonkeyPatch, few: bool) -> None:
    """From here on entries are counted here, or all by Spark."""
    monkeypatch.setattr(_few_entries, "FEW_ENTRIES", 2_500 if few else -1)


def counted(spark: SparkSession, ask: Ask, position: Column | None) -> list[Counts]:
    """In one order, with what has no order sorted."""
    table = ask.observation.table
    event, _ = range_columns(table, ask.contract)
    found = counts_of(spark, ask.window.of(table), event, position)
    return sorted(each._replace(writers=sorted(each.writers), spec_ids=sorted(each.spec_ids)) for each in found)


def repeats(spark: SparkSession, ask: Ask) -> Repeats:
    """At the window's end."""
    reach = reach_of(ask)
    return repeats_in(spark, ask.observation.table.by_id[ask.window.until], reach.main)


@pytest.mark.parametrize("name", ["source_position", "source_partition", "none"])
def test_a_commit_s_files_are_counted_alike_by_both(
    spark: SparkSession, eventful: Ask, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Counts, writers, specs, and ranges of four bytes, of eight and of none: whoever counts."""
    columns = {column.name: column for column in eventful.observation.table.columns}
    ways(monkeypatch, few=True)
    here = counted(spark, eventful, columns.get(name))

    ways(monkeypatch, few=False)
    by_spark = counted(spark, eventful, columns.get(name))

    assert here == by_spark
    assert {(each.is_added, each.is_data) for each in here} >= {(True, True), (False, True), (True, False)}
    assert {writer for each in here for writer in each.writers} >= {"00003-0", "00003-12"}


def test_repeated_files_are_told_alike_by_both(
    spark: SparkSession, eventful: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths, harm, and the sets of commits that share a file."""
    ways(monkeypatch, few=True)
    here = repeats(spark, eventful)

    ways(monkeypatch, few=False)
    by_spark = repeats(spark, eventful)

    assert here == by_spark
    found, _around = here
    assert found.repeated >= 2
    assert [each.extra for each in found.sample] == sorted((each.extra for each in found.sample), reverse=True)


@pytest.mark.parametrize("task", ["ledger", "duplicate_files", "duplicate_commits"])
def test_an_answer_is_the_same_on_both_ways(
    eventful: Ask, asks: Asks, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    """Nobody can see from an answer how many entries the window has."""
    here = asks(task, eventful)
    ways(monkeypatch, few=False)

    by_spark = asks(task, eventful)

    assert here == by_spark


@pytest.mark.parametrize("partition", [None, "source_partition", "no_such_column"])
def test_what_commits_brought_is_told_alike_by_both(
    spark: SparkSession, eventful: Ask, monkeypatch: pytest.MonkeyPatch, partition: str | None
) -> None:
    """Ranges by position and by event time, and the files that commits share."""
    table = eventful.observation.table
    contract = eventful.contract.model_copy(update={"position_partition": partition})
    commits = eventful.window.of(table)

    def brought() -> tuple[set[Range], set[Range], frozenset[SnapshotId], dict[tuple[SnapshotId, ...], Shared]]:
        covered, shared = brought_by(spark, table, contract, commits)
        return set(covered.positions), set(covered.times), covered.commits, dict(shared)

    here = brought()
    ways(monkeypatch, few=False)

    assert here == brought()
    assert len(here[0]) >= 3 or partition == "no_such_column"
    assert here[3]


def test_more_ranges_than_are_compared_rule_nothing_out(
    eventful: Ask, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was cut off could repeat another; a shorter window is asked for."""
    ways(monkeypatch, few=False)
    monkeypatch.setattr(_source_ranges, "MAX_RANGES", 2)

    with pytest.raises(EvidenceFailed, match="begins later"):
        asks("duplicate_commits", eventful)


def test_few_entries_of_many_manifests_are_counted_over_all_tasks(
    spark: SparkSession, eventful: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No task knows what the others read: as many as are few come whole, and one more is too many."""
    manifests = own_manifests(spark, eventful.window.of(eventful.observation.table))
    found = few_entries(spark, manifests)
    assert found is not None
    tasks = stored_entries(spark, manifests).select(F.spark_partition_id()).distinct().count()
    undercounted = [each._replace(added=1, existing=0, removed=0) for each in manifests]

    monkeypatch.setattr(_few_entries, "FEW_ENTRIES", len(found))
    whole = few_entries(spark, undercounted)
    monkeypatch.setattr(_few_entries, "FEW_ENTRIES", len(found) - 1)

    assert whole == found
    assert few_entries(spark, undercounted) is None
    assert tasks > 1
    assert len(undercounted) < len(found) - 1


def test_a_list_that_counts_too_little_is_not_believed(
    spark: SparkSession, orders: OrdersTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where more entries come than a manifest list says, or than are few, Spark counts them."""
    head = orders.commits_files("a", 1, {"one.parquet": range(3), "two.parquet": range(3, 6), "three.parquet": [9]})
    manifests = own_manifests(spark, Window(since=None, until=head).of(orders.state()))
    monkeypatch.setattr(_few_entries, "FEW_ENTRIES", 2)

    claimed = few_entries(spark, [each._replace(added=1) for each in manifests])

    assert claimed is None
    assert few_entries(spark, [each._replace(added=None) for each in manifests]) is None


def test_no_manifest_has_no_entry(spark: SparkSession) -> None:
    """Spark refuses to read nothing, and is not asked."""
    assert few_entries(spark, ()) == []


def test_an_entry_inherits_the_commit_and_the_spec_of_its_manifest(spark: SparkSession, tmp_path: Path) -> None:
    """What an entry leaves open is said by the manifest list."""
    path = tmp_path / "open.avro"
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path="s3://lake/one.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=3,
        file_size_in_bytes=1,
    )
    output = PyArrowFileIO().new_output(f"file://{path}")
    with write_manifest(2, PartitionSpec(), Schema(), output, 7, "deflate") as manifest:
        manifest.add_entry(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, snapshot_id=None, data_file=file))
    listed = Manifest(f"file://{path}", None, 5, 1, snapshot_id=7, added=1, existing=0, removed=0)

    found = few_entries(spark, [listed], (None,))

    assert found == [Entry(7, 1, 0, "s3://lake/one.parquet", 3, 5, (Edges(None, None),))]
