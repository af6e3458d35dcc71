"""Hadoop, Iceberg and people spell one path in several ways: no evidence accuses a file for its spelling."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as in the tasks

from bot.adapters.spark import SparkEvidenceRunner
from bot.domain.evidence import Ask, Verdict
from bot.domain.findings import MissingFilesFinding, OrphanFilesFinding
from bot.domain.paths import may_be_same, place_of, plain
from spark_tasks import _head_files, orphan_files
from spark_tasks._spelling import agree, inside_of, plain_column
from spark_tasks._storage import sizes_of
from tests.adapters.test_spellings import MAY_BE, OTHERS, SAME
from tests.evidence.conftest import Asks
from tests.evidence.test_ledger import run_of
from tests.tables import OrdersTable


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
    assert listed is not None
    return listed.withColumn("path", F.concat(F.lit("hdfs://nn"), "path"))


def test_a_file_is_there_though_the_listing_says_the_host(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not even asked for by its name."""
    whole = _head_files.files_under
    monkeypatch.setattr(_head_files, "files_under", lambda *asked: on_hdfs(whole(*asked)))
    monkeypatch.setattr(_head_files, "MAX_ASKED", 0)
    head = orders.commits_files("a", 1, {f"{n}.parquet": range(3) for n in range(3)})
    (orders.data_folder / "2.parquet").unlink()

    answer = asks("missing_files", orders.ask(head))

    assert isinstance(answer.finding, MissingFilesFinding)
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
        assert listed is not None
        return listed.withColumn("path", F.concat(F.lit(prefix), "path"))

    monkeypatch.setattr(orphan_files, "files_under", elsewhere)
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    (orders.data_folder / "lost.parquet").write_bytes(b"x")

    answer = asks("orphan_files", later(orders, before))

    found = answer.finding
    assert isinstance(found, OrphanFilesFinding)
    assert answer.verdict is Verdict.CONFIRMED
    assert [Path(path).name for path in found.paths] == ["lost.parquet"]
    assert place_of(found.paths[0]).inside == str(orders.data_folder / "lost.parquet")


def later(orders: OrdersTable, since: int) -> Ask:
    """Half an hour after the last commit."""
    ask = orders.ask(since, jobs=[run_of("a")], flink_manifests=orders.flink_manifests())  # type: ignore[arg-type]
    table = ask.observation.table.model_copy(update={"read_at": datetime.now(UTC) + timedelta(minutes=30)})
    return ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})
