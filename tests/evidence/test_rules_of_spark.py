"""Evidence is computed in Spark and not here, and small inputs get the same answers."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cachetools import LRUCache
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus, write_manifest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.adapters.spark import SparkEvidenceRunner
from bot.observation.evidence import Ask
from bot.observation.table import Window
from spark_tasks._support import manifest_entries as _manifest_entries
from spark_tasks._support import reading as _reading
from spark_tasks._support.manifest_entries import Entry, few_entries, stored_entries
from spark_tasks._support.manifests import Manifest, own_manifests
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
    monkeypatch.setattr(_manifest_entries, "FEW_ENTRIES", 2_500 if few else -1)
    monkeypatch.setattr(_manifest_entries, "AT_A_TIME", 2)


ALIKE = ("ledger", "duplicate_files", "duplicate_commits", "missing_positions", "replayed_rows", "recovery_extent")


@pytest.mark.parametrize("partition", [None, "source_partition"])
@pytest.mark.parametrize("task", ALIKE)
def test_an_answer_is_the_same_however_many_entries_come(
    eventful: Ask, asks: Asks, monkeypatch: pytest.MonkeyPatch, task: str, partition: str | None
) -> None:
    """Writers, ranges, shared and deleted files: nobody can see from an answer how many entries the window has."""
    contract = eventful.contract.model_copy(update={"position_partition": partition})
    ask = eventful.model_copy(update={"contract": contract})
    ways(monkeypatch, few=True)
    here = asks(task, ask)

    ways(monkeypatch, few=False)

    assert here == asks(task, ask)


def test_few_entries_of_many_manifests_are_counted_over_all_tasks(
    spark: SparkSession, eventful: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No task knows what the others read: as many as are few come whole, and one more is too many."""
    manifests = own_manifests(spark, eventful.window.of(eventful.observation.table))
    found = few_entries(spark, manifests)
    assert found is not None
    tasks = stored_entries(spark, manifests).select(F.spark_partition_id()).distinct().count()
    undercounted = [each._replace(added=1, existing=0, removed=0) for each in manifests]

    monkeypatch.setattr(_manifest_entries, "FEW_ENTRIES", len(found))
    whole = few_entries(spark, undercounted)
    monkeypatch.setattr(_manifest_entries, "FEW_ENTRIES", len(found) - 1)

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
    monkeypatch.setattr(_manifest_entries, "FEW_ENTRIES", 2)

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

    found = few_entries(spark, [listed])

    inherited = Entry(7, 1, 0, "s3://lake/one.parquet", 3, 5, format="parquet", bytes=1, age=1)
    assert found == [inherited]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the manifests that were read, in order."""
    read: list[str] = []
    through = _manifest_entries.stored_entries

    def stored(spark: SparkSession, manifests: Sequence[Manifest], **more: Any) -> DataFrame:
        read.extend(each.path for each in manifests)
        return through(spark, manifests, **more)

    monkeypatch.setattr(_manifest_entries, "stored_entries", stored)
    monkeypatch.setattr(_reading, "stored_entries", stored)
    return read


def test_what_one_task_has_read_of_a_manifest_serves_the_others(eventful: Ask, asks: Asks, reads: list[str]) -> None:
    """Each is read once, whoever asks first."""
    told = [
        asks(task, eventful) for task in ("duplicate_files", "duplicate_commits", "ledger", "recovery_extent", "ledger")
    ]

    assert reads
    assert max(Counter(reads).values()) == 1
    assert told[2] == told[4]


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
    monkeypatch.setattr(_manifest_entries, "_COPIES", LRUCache(3, getsizeof=lambda copy: len(copy[1]) + 1))
    before = len(reads)

    cut = [asks("ledger", eventful) for _ in range(2)]

    assert cut == [whole, whole]
    assert len(reads) - before > before
