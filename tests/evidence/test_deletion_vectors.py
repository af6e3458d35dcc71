"""A file of deletion vectors that is not whole is found, and named by whoever fails over it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

import spark_tasks
from bot.adapters.iceberg.reading import table_state
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_server import SparkServer
from bot.adapters.spark_session import open_session
from bot.domain.errors import FileDamaged
from bot.domain.evidence import Ask, Observation, Verdict
from bot.domain.findings import UnreadableFilesFinding
from bot.domain.table import Window
from bot.evidence import find_tasks
from tests.evidence.conftest import Asks
from tests.evidence.test_spark_runner import deaf
from tests.format_3 import OrdersOfFormat3
from tests.tables import CONTRACT, ORDERS, unseen

TASKS = find_tasks(spark_tasks)


@pytest.fixture
def writer(server: SparkServer) -> Iterator[SparkSession]:
    """A session of its own: Spark remembers a catalog as it first knew it."""
    session = open_session(server.url)
    yield session
    session.stop()


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
    assert isinstance(answer.finding, UnreadableFilesFinding)
    assert [(file.what, Path(file.path).name) for file in answer.finding.files] == [("deletes", puffin.name)]
    assert answer.finding.files[0].problem.startswith("It has 20 bytes instead of ")


@pytest.mark.parametrize("damage", ["cut", "turned"])
def test_who_fails_over_a_vector_names_its_file(
    runner: SparkEvidenceRunner, ask: Ask, puffin: Path, damage: str
) -> None:
    """Cut short, or with other bytes in the last vector and its size as before."""
    content = bytearray(puffin.read_bytes())
    footer = int.from_bytes(content[-12:-8], "little")
    last = len(content) - footer - 16
    content[last - 12 : last - 8] = bytes(each ^ 0xFF for each in content[last - 12 : last - 8])
    puffin.write_bytes(content if damage == "turned" else content[:20])

    with pytest.raises(FileDamaged) as failed:
        runner.run(TASKS["duplicate_rows"].task, ask, tag=f"vector-{damage}", on_progress=deaf)

    assert failed.value.path.endswith(str(puffin))
