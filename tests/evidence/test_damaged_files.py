"""A row task that comes to a damaged file names it, whatever its format, and says no Java trace."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_repairs import spark_catalog
from bot.adapters.spark_server import SparkServer
from bot.adapters.spark_session import open_session
from bot.domain.errors import FileDamaged
from bot.domain.evidence import Verdict
from bot.evidence import find_tasks
from tests.evidence.conftest import Asks
from tests.evidence.test_spark_runner import deaf
from tests.tables import ORDERS, OrdersTable

TASKS = find_tasks(spark_tasks)
Damages = Callable[[Path], None]


def turned(at: slice) -> Damages:
    """Some of its bytes are others; name and size stay."""

    def damage(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[at] = bytes(each ^ 0xFF for each in content[at])
        file.write_bytes(content)

    return damage


@pytest.fixture
def writer(server: SparkServer) -> Iterator[SparkSession]:
    """A session of its own: Spark remembers a catalog as it first knew it."""
    session = open_session(server.url)
    yield session
    session.stop()


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
