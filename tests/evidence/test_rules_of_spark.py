"""Evidence is computed in Spark and not here, and small inputs get the same answers."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus, write_manifest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.adapters.spark import SparkEvidenceRunner
from bot.observation.evidence import Ask
from bot.observation.ids import SnapshotId
from bot.observation.table import Window
from spark_tasks._support import few_entries as _few_entries
from spark_tasks._support import reading as _reading
from spark_tasks._support.commit_files import Written, written_by_commits
from spark_tasks._support.data_files import files_of
from spark_tasks._support.few_entries import Edges, Entry, few_entries, stored_entries
from spark_tasks._support.manifests import Manifest, own_manifests
from spark_tasks._support.source_ranges import Range
from spark_tasks._support.window import reach_of
from spark_tasks.duplicate_commits import Shared, brought_by
from spark_tasks.duplicate_files import Repeats, repeats_in
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable
from tests.upserts import upserts

TASKS = sorted((Path(__file__).parents[2] / "spark_tasks").rglob("*.py"))
OURS_PER_ROW = frozenset(
    {
        "udf", "udtf", "pandas_udf", "arrow_udf", "mapInPandas", "mapInArrow", "applyInPandas", "applyInArrow",
        "applyInPandasWithState", "transformWithState", "transformWithStateInPandas", "foreach", "foreachPartition",
        "foreachBatch", "registerJavaFunction",
    }
)  # fmt: skip
"""Run Python for each row, or send code to the server."""
PAST_CONNECT = frozenset({"rdd", "sparkContext", "_jvm", "_jdf", "_jsc", "_sc"})
"""Spark Connect has none of them."""
WHOLE = frozenset({"toPandas", "toLocalIterator", "pandas_api"})
"""Fetch everything that there is."""
FETCHES = frozenset({"collect", "toArrow"})


def faults(source: str) -> list[str]:
    """`line: what`, for each thing that evidence must not do."""
    tree = ast.parse(source)
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        for name, line in _names(node):
            for forbidden in (OURS_PER_ROW, PAST_CONNECT, WHOLE):
                if name in forbidden:
                    found.append((line, name))
    for scope in _scopes(tree):
        limited = _limited_names(scope)
        found += [
            (call.lineno, f"{call.func.attr}() without limit")
            for call in _own(scope)
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in FETCHES
            and not _is_limited(call.func.value, limited)
        ]
    return [f"{line}: {what}" for line, what in sorted(set(found))]


def _names(node: ast.AST) -> Iterator[tuple[str, int]]:
    """What is used or brought in under its own name."""
    match node:
        case ast.Attribute(attr=name):
            yield name, node.lineno
        case ast.Name(id=name):
            yield name, node.lineno
        case ast.ImportFrom(names=names):
            yield from ((each.name, node.lineno) for each in names)


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda))


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the functions in it."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from _own(child)


def _limited_names(scope: ast.AST) -> frozenset[str]:
    """Names that the scope binds to nothing but limited frames; a parameter may be anything."""
    bound: dict[str, list[bool]] = {}
    for node in _own(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in (each.id for each in ast.walk(target) if isinstance(each, ast.Name)):
                    is_plain = isinstance(target, ast.Name)
                    bound.setdefault(name, []).append(is_plain and _is_limited(node.value, frozenset()))
    return frozenset(name for name, told in bound.items() if all(told))


def _is_limited(frame: ast.expr, limited: frozenset[str]) -> bool:
    """Whether the frame's last step is `.limit(…)`, or `first_of_each_task(…)`: what comes after it, a join or an
    explode, may grow again."""
    if isinstance(frame, ast.Name):
        return frame.id in limited
    if not isinstance(frame, ast.Call):
        return False
    step = frame.func
    return (isinstance(step, ast.Attribute) and step.attr == "limit") or (
        isinstance(step, ast.Name) and step.id == "first_of_each_task"
    )


@pytest.mark.parametrize("file", TASKS, ids=[file.stem for file in TASKS])
def test_evidence_runs_in_spark_and_fetches_little(file: Path) -> None:
    """A task over a billion rows must not send them here, nor Python there."""
    assert [] == faults(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("rows = frame.collect()", ["1: collect() without limit"]),
        ("rows = frame.toArrow()", ["1: toArrow() without limit"]),
        ("rows = frame.groupBy('a').count().collect()", ["1: collect() without limit"]),
        ("rows = frame.limit(5).join(other, on='a').collect()", ["1: collect() without limit"]),
        ("def f(few):\n    return few.collect()", ["2: collect() without limit"]),
        ("few = frame.limit(5)\ndef f(few):\n    return few.collect()", ["3: collect() without limit"]),
        ("few = frame.limit(5)\nfew = frame\nfew.collect()", ["3: collect() without limit"]),
        ("read = lambda frame: frame.collect()", ["1: collect() without limit"]),
        ("few = frame.limit(5)\nfew.collect()", []),
        ("rows = frame.orderBy('a').limit(5).collect()", []),
        ("from pyspark.sql.functions import udf\n@udf\ndef double(x): return 2 * x", ["1: udf", "2: udf"]),
        ("double = F.pandas_udf(lambda x: 2 * x, 'long')", ["1: pandas_udf"]),
        ("frame.rdd.map(len)", ["1: rdd"]),
        ("frame.mapInPandas(double, 'a long')", ["1: mapInPandas"]),
        ("table = frame.limit(5).toPandas()", ["1: toPandas"]),
        ("for row in frame.toLocalIterator(): pass", ["1: toLocalIterator"]),
        ("spark._jvm.java.lang.System.exit(1)", ["1: _jvm"]),
    ],
)
def test_what_is_forbidden_is_found(planted: str, found: list[str]) -> None:
    """And what is allowed is not."""
    assert found == faults(planted)


def test_there_is_something_to_look_at() -> None:
    """A folder that moved would leave the rule without a file."""
    assert len(TASKS) > 40


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
    """From here on entries come at once, or those of two commits at a time at the most."""
    monkeypatch.setattr(_few_entries, "FEW_ENTRIES", 2_500 if few else -1)
    monkeypatch.setattr(_few_entries, "AT_A_TIME", 2)


def counted(spark: SparkSession, ask: Ask, position: str | None) -> Written:
    """In one order, with what has no order sorted."""
    table, contract = ask.observation.table, ask.contract.model_copy(update={"position": position})
    found = written_by_commits(spark, table, contract, ask.window.of(table))
    counts = (each._replace(writers=sorted(each.writers), spec_ids=sorted(each.spec_ids)) for each in found.counts)
    covered = found.covered
    in_order = replace(covered, positions=tuple(sorted(covered.positions, key=astuple)), times=())
    return found._replace(counts=sorted(counts), covered=in_order)


def repeats(spark: SparkSession, ask: Ask) -> Repeats:
    """At the window's end."""
    reach = reach_of(ask)
    return repeats_in(spark, ask.observation.table.by_id[ask.window.until], reach.main)


@pytest.mark.parametrize("name", ["source_position", "source_partition", "none"])
def test_a_commit_s_files_are_counted_alike_however_many_come(
    spark: SparkSession, eventful: Ask, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Counts, writers, specs, and ranges of four bytes, of eight and of none: however many come at a time."""
    position = name if name != "none" else None
    ways(monkeypatch, few=True)
    here = counted(spark, eventful, position)

    ways(monkeypatch, few=False)
    in_parts = counted(spark, eventful, position)

    assert here == in_parts
    assert {(each.is_added, each.is_data) for each in here.counts} >= {(True, True), (False, True), (True, False)}
    assert {writer for each in here.counts for writer in each.writers} >= {"00003-0", "00003-12"}
    assert {(each.subtask, each.attempt) for those in here.writers.values() for each in those} >= {(3, 0), (3, 12)}


def test_repeated_files_are_told_alike_however_many_come(
    spark: SparkSession, eventful: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths, harm, and the sets of commits that share a file."""
    ways(monkeypatch, few=True)
    here = repeats(spark, eventful)

    ways(monkeypatch, few=False)
    in_parts = repeats(spark, eventful)

    assert here == in_parts
    found, _around = here
    assert found.repeated >= 2
    assert [each.extra for each in found.sample] == sorted((each.extra for each in found.sample), reverse=True)


@pytest.mark.parametrize("task", ["ledger", "duplicate_files", "duplicate_commits"])
def test_an_answer_is_the_same_however_many_come(
    eventful: Ask, asks: Asks, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    """Nobody can see from an answer how many entries the window has."""
    here = asks(task, eventful)
    ways(monkeypatch, few=False)

    in_parts = asks(task, eventful)

    assert here == in_parts


@pytest.mark.parametrize("partition", [None, "source_partition", "no_such_column"])
def test_what_commits_brought_is_told_alike_however_many_come(
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
    """Where more entries come than a manifest list says, or than are few, they come so many at a time."""
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

    inherited = Entry(7, 1, 0, "s3://lake/one.parquet", 3, 5, (Edges(None, None),), format="PARQUET", bytes=1, age=1)
    assert found == [inherited]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the manifests that were read, in order."""
    read: list[str] = []
    through = _few_entries.stored_entries

    def stored(spark: SparkSession, manifests: Sequence[Manifest], **more: Any) -> DataFrame:
        read.extend(each.path for each in manifests)
        return through(spark, manifests, **more)

    monkeypatch.setattr(_few_entries, "stored_entries", stored)
    monkeypatch.setattr(_reading, "stored_entries", stored)
    return read


def test_what_one_task_has_read_of_a_manifest_serves_the_others(eventful: Ask, asks: Asks, reads: list[str]) -> None:
    """Each is read once, and once more by the first task that asks for more of it; never by one that asks for less."""
    asks("table_health", eventful)
    bare = set(reads)
    asks("duplicate_commits", eventful)
    with_bounds = len(reads)
    again = [asks(task, eventful) for task in ("ledger", "table_health", "duplicate_commits", "ledger")]

    assert bare
    assert max(Counter(reads[:with_bounds]).values()) <= 2
    assert not set(reads[with_bounds:]) & bare
    assert again[0] == again[3]


def test_a_manifest_that_is_checked_is_read_itself(eventful: Ask, asks: Asks, reads: list[str]) -> None:
    """A copy would say nothing of what storage has."""
    asks("unreadable_files", eventful)
    before = len(reads)

    asks("unreadable_files", eventful)

    assert before
    assert len(reads) == 2 * before


def test_copies_that_are_too_many_are_read_again(
    eventful: Ask, asks: Asks, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is on memory, not on answers."""
    whole = asks("ledger", eventful)
    monkeypatch.setattr(_few_entries, "MOST_BYTES", 2_000)
    monkeypatch.setattr(_few_entries, "_COPIES", WeakKeyDictionary())
    before = len(reads)

    cut = [asks("ledger", eventful) for _ in range(2)]

    assert cut == [whole, whole]
    assert len(reads) - before > before


@pytest.mark.parametrize("task", ["missing_positions", "replayed_rows", "recovery_extent", "table_health"])
def test_files_are_told_alike_from_copies_and_by_spark(
    eventful: Ask, asks: Asks, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    """Those of each commit, with their bounds."""
    ways(monkeypatch, few=True)
    here = asks(task, eventful)
    ways(monkeypatch, few=False)

    assert here == asks(task, eventful)


def test_every_file_of_a_commit_is_told_alike_however_many_come(
    spark: SparkSession, eventful: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what it deletes, and the file that a delete is about."""
    table = eventful.observation.table
    commits, position = eventful.window.of(table), next(c for c in table.columns if c.name == "source_position")
    found = []
    for few in (True, False):
        ways(monkeypatch, few=few)
        found.append(sorted(files_of(spark, commits, position), key=str))

    assert found[0] == found[1]
    assert {each.content for each in found[0]} >= {"data", "equality-deletes"}
