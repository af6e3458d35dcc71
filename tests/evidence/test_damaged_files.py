"""A damaged file or deletion vector is named by whoever fails over it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as in the tasks

import spark_tasks
from bot.adapters.iceberg.streaming_metadata import table_state
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_repairs import spark_catalog
from bot.diagnosis import cleanup_deleted_files as f9
from bot.evidence import find_tasks
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Examined
from bot.observation.errors import FileDamaged
from bot.observation.evidence import Ask, Observation, Verdict
from bot.observation.findings import MissingFilesFinding, UnreadableFilesFinding
from bot.observation.ids import SnapshotId
from bot.observation.paths import may_be_same, place_of, plain
from bot.observation.table import Window
from spark_tasks import missing_files, orphan_files
from spark_tasks._support.storage import agree, inside_of, plain_column, sizes_of
from tests.adapters.test_iceberg_files import MAY_BE, OTHERS, SAME
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.evidence.test_collecting import deaf
from tests.evidence.test_ledger import run_of
from tests.format_3 import OrdersOfFormat3
from tests.tables import CONTRACT, ORDERS, OrdersTable, of_table, unseen

TASKS = find_tasks(spark_tasks)
Damages = Callable[[Path], None]


def turned(at: slice) -> Damages:
    """Some of its bytes are others; name and size stay."""

    def damage(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[at] = bytes(each ^ 0xFF for each in content[at])
        file.write_bytes(content)

    return damage


def test_a_parquet_file_whose_pages_are_damaged_is_named(
    runner: SparkEvidenceRunner, asks: Asks, orders: OrdersTable
) -> None:
    """Its footer is whole, so that no look at names, sizes and footers can find it, and none claims that it did."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"good.parquet": range(10, 20), "bad one+%3A.parquet": range(20, 2_000)})
    damaged = orders.data_folder / "bad one+%3A.parquet"
    turned(slice(damaged.stat().st_size // 4, damaged.stat().st_size // 4 + 60))(damaged)

    looked = asks("unreadable_files", orders.ask(before))
    with pytest.raises(FileDamaged) as failed:
        runner.run(TASKS["missing_positions"].task, orders.ask(before), tag="pages", on_progress=deaf)

    assert looked.verdict is Verdict.RULED_OUT
    assert "of their contents only 2 Parquet footers were read, and no row" in looked.headline
    assert failed.value.path == f"file://{damaged}"
    assert "Exception" not in str(failed.value)


@pytest.mark.parametrize("form", ["avro", "orc"])
@pytest.mark.parametrize("damage", [turned(slice(0, 4)), turned(slice(-12, None))], ids=["head", "tail"])
def test_an_avro_or_orc_file_is_named(
    runner: SparkEvidenceRunner, asks: Asks, orders: OrdersTable, writer: SparkSession, form: str, damage: Damages
) -> None:
    """Of such files only name and size are looked at, and the answer says so."""
    before = orders.commits("a", 1, range(10))
    [damaged] = as_form(orders, writer, form)
    damage(damaged)

    looked = asks("unreadable_files", orders.ask(before))
    with pytest.raises(FileDamaged) as failed:
        runner.run(TASKS["duplicate_rows"].task, orders.ask(before), tag=f"{form}", on_progress=deaf)

    assert looked.verdict is Verdict.RULED_OUT
    assert "of their contents nothing was read" in looked.headline
    assert failed.value.path.endswith(str(damaged))


def as_form(orders: OrdersTable, writer: SparkSession, form: str) -> set[Path]:
    """Spark adds all rows once more, in files of this format."""
    folder = orders.data_folder.parents[3]
    lake = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
    for key, value in spark_catalog("lake", lake, {}).conf.items():
        writer.conf.set(key, value)
    there = set(orders.data_folder.iterdir())
    rows = writer.table(f"lake.{ORDERS}")
    rows.writeTo(f"lake.{ORDERS}").option("write-format", form).append()
    return {file for file in orders.data_folder.iterdir() if file not in there and file.suffix == f".{form}"}


@pytest.fixture
def ask(tmp_path: Path, writer: SparkSession) -> Ask:
    """About a commit and the deletion of some of its rows by vectors of two files, in one Puffin file."""
    orders = OrdersOfFormat3(tmp_path, writer)
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(100, 200))
    orders.commits("a", 3, range(200, 300))
    orders.deletes(*range(120, 280, 7))
    catalog = SqlCatalog("lake", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/lake")
    table = catalog.load_table(ORDERS)
    state = table_state(ORDERS, table.metadata, table.metadata_location, datetime.now(UTC))
    catalog.close()
    nobody = unseen("nobody")
    world = Observation(
        table=state, jobs=nobody, checkpoints=nobody, reads=nobody, flink_manifests=nobody, written=nobody
    )
    return Ask(observation=world, window=Window(since=before, until=state.head), contract=CONTRACT)


@pytest.fixture
def puffin(ask: Ask, tmp_path: Path) -> Path:
    """The file of the vectors, as it lies on storage."""
    [found] = (tmp_path / "lake").rglob("*.puffin")
    (found.parent / f".{found.name}.crc").unlink(missing_ok=True)
    return found


def test_vectors_that_are_whole_are_not_complained_of(ask: Ask, puffin: Path, asks: Asks) -> None:
    """Spark states the size of the whole Puffin file, for every vector in it."""
    answer = asks("unreadable_files", ask)

    assert answer.verdict is Verdict.RULED_OUT
    assert asks("duplicate_rows", ask).verdict is Verdict.RULED_OUT


def test_a_cut_file_of_vectors_is_damaged(ask: Ask, puffin: Path, asks: Asks) -> None:
    """Readers of the table need it: without it nobody knows which rows are deleted."""
    puffin.write_bytes(puffin.read_bytes()[:20])

    answer = asks("unreadable_files", ask)

    assert answer.verdict is Verdict.CONFIRMED
    assert [(file.what, Path(file.path).name) for file in answer.finding.files] == [("deletes", puffin.name)]
    assert answer.finding.files[0].problem.startswith("It has 20 bytes instead of ")


def examined(asks: Asks, ask: Ask, *tasks: str) -> Examined:
    """The mode's answer after these tasks have answered."""
    found = {task: asks(task, ask).finding for task in tasks}
    unreadable, missing = found.get("unreadable_files"), found.get("missing_files")
    assert unreadable is None or isinstance(unreadable, UnreadableFilesFinding)
    assert missing is None or isinstance(missing, MissingFilesFinding)
    case = Case(
        observation=ask.observation,
        window=ask.window,
        contract=ask.contract,
        job_name=None,
        unreadable=unreadable,
        missing_files=missing,
    )
    return f9.examine(case)


@pytest.fixture
def before(orders: OrdersTable) -> SnapshotId:
    """An old file, and two of the window above the commit that is returned."""
    before = orders.commits_files("a", 1, {"old.parquet": range(10)})
    orders.commits_files("a", 2, {"one.parquet": range(10, 20)})
    orders.commits_files("a", 3, {"two.parquet": range(20, 30)})
    return before


def loses(orders: OrdersTable, *names: str) -> None:
    """These files can no longer be found."""
    for name in names:
        (orders.data_folder / name).unlink()


@pytest.mark.parametrize("tasks", [("missing_files",), ("unreadable_files",), ("unreadable_files", "missing_files")])
def test_where_no_data_file_is_given_the_storage_is_suspected(
    orders: OrdersTable, asks: Asks, before: SnapshotId, tasks: tuple[str, ...]
) -> None:
    """The metadata is there, as where data lies in a bucket of its own: one key or one mount has it all fail."""
    loses(orders, "old.parquet", "one.parquet", "two.parquet")

    found = examined(asks, orders.ask(before), *tasks)

    assert found.missing[0].startswith("the storage itself")
    assert ("missing_files" in found.asks) is ("missing_files" not in tasks)
    assert "orphan_files" in found.asks


def test_a_window_that_lost_all_its_files_is_judged_by_the_older_ones(
    orders: OrdersTable, asks: Asks, before: SnapshotId
) -> None:
    """A clean-up that is too young takes just these: while it is open, all of the table is asked for; then it is told
    apart."""
    loses(orders, "one.parquet", "two.parquet")
    ask = orders.ask(before)

    first, then = examined(asks, ask, "unreadable_files"), examined(asks, ask, "unreadable_files", "missing_files")

    assert isinstance(first, CannotTell)
    assert first.asks[0] == "missing_files"
    assert then.last_good == before


def test_columns_compare_as_paths_do(runner: SparkEvidenceRunner) -> None:
    """The twins agree on every pair of spellings."""
    spark: SparkSession = runner.connection.session()
    pairs = [*SAME, *MAY_BE, *OTHERS, ("/w/a b+%3A.parquet", "file:///w/a b+%3A.parquet")]
    one, other = F.col("one"), F.col("other")
    is_same = (inside_of(one) == inside_of(other)) & agree(one, other)

    told = spark.createDataFrame(pairs, "one string, other string").select(plain_column(one), is_same).collect()

    assert [tuple(row) for row in told] == [(plain(a), may_be_same(a, b)) for a, b in pairs]


def test_a_file_is_found_by_every_spelling_of_its_name(orders: OrdersTable, runner: SparkEvidenceRunner) -> None:
    """Hadoop answers in its own spelling; what is not there is found by none."""
    orders.commits_files("a", 1, {"a.parquet": range(3)})
    file = orders.data_folder / "a.parquet"
    asked = [f"file://{file}", f"file:{file}", str(file), f"file://{file.parent}//a.parquet", f"file:{file}x"]

    found = sizes_of(runner.connection.session(), orders.state(), asked)

    assert found.sizes == dict.fromkeys(asked[:4], file.stat().st_size)
    assert [path for path in asked if found.lacks(path)] == asked[4:]


def on_hdfs(listed: DataFrame | None) -> DataFrame:
    """As HDFS lists it, of which metadata says neither scheme nor host: `/w/a` is `hdfs://nn:8020/w/a`."""
    return listed.withColumn("path", F.concat(F.lit("hdfs://nn"), "path"))


def test_a_file_is_there_though_the_listing_says_the_host(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not even asked for by its name: the one that may be asked for is the one that is gone."""
    whole = missing_files.files_under
    monkeypatch.setattr(missing_files, "files_under", lambda *asked: on_hdfs(whole(*asked)))
    monkeypatch.setattr(missing_files, "MAX_ASKED", 1)
    head = orders.commits_files("a", 1, {f"{n}.parquet": range(3) for n in range(3)})
    (orders.data_folder / "2.parquet").unlink()

    answer = asks("missing_files", orders.ask(head))

    assert (answer.finding.count, answer.finding.rows) == (1, 3)


@pytest.mark.parametrize("prefix", ["hdfs://nn:8020", "s3://another-bucket"])
def test_a_committed_file_is_no_orphan_though_the_listing_says_another_host(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    """It would be moved aside: what may be a name for it counts as one. A file that nothing names is told all the
    same, and what was put aside before is not told again."""
    whole = orphan_files.files_under

    def elsewhere(*asked: object) -> DataFrame:
        listed = whole(*asked)  # type: ignore[arg-type]
        return listed.withColumn("path", F.concat(F.lit(prefix), "path"))

    monkeypatch.setattr(orphan_files, "files_under", elsewhere)
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    (orders.data_folder / "lost.parquet").write_bytes(b"x")

    answer = asks("orphan_files", later(orders, before))

    found = answer.finding
    assert answer.verdict is Verdict.CONFIRMED
    assert [Path(path).name for path in found.paths] == ["lost.parquet"]
    assert place_of(found.paths[0]).inside == str(orders.data_folder / "lost.parquet")


def later(orders: OrdersTable, since: int) -> Ask:
    """Half an hour after the last commit."""
    ask = orders.ask(since, jobs=[run_of("a")], flink_manifests=orders.flink_manifests())  # type: ignore[arg-type]
    return of_table(ask, read_at=datetime.now(UTC) + timedelta(minutes=30))
