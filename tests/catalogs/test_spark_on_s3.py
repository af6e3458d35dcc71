"""Waterline's own Spark on a warehouse in S3: what it needs follows from what the catalog says."""

import itertools
from collections.abc import Iterator

import pytest

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_server import EmbeddedSpark
from bot.evidence import find_tasks
from bot.observation.contract import TableContract
from bot.observation.errors import EvidenceFailed
from bot.observation.evidence import Answer, Ask, Observation, Verdict
from bot.observation.looked import NotSeen
from bot.observation.table import Window
from tests.catalogs.ailing_s3 import AilingS3, ailing_s3
from tests.catalogs.orders import Orders

pytestmark = pytest.mark.slow
TASKS = find_tasks(spark_tasks)
UNASKED = NotSeen(source="a test", reason="Not asked.", remedy="")
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def storage(aws: str) -> Iterator[AilingS3]:
    """S3 behind a proxy that can deny."""
    with ailing_s3(aws) as between:
        yield between


@pytest.fixture(autouse=True)
def nowhere_else(monkeypatch: pytest.MonkeyPatch, storage: AilingS3) -> None:
    """The environment has keys that S3 does not know: only the catalog's word counts."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-this-machine")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    storage.admitted = None


def keys(name: str) -> dict[str, str]:
    """Properties with the keys of this name."""
    return {"s3.access-key-id": name, "s3.secret-access-key": "any"}


@pytest.fixture(scope="module")
def orders(storage: AilingS3, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Orders]:
    """`sales.orders` of a SQL catalog whose properties say where its S3 is; a row of it is there twice."""
    folder = tmp_path_factory.mktemp("catalog")
    place = {"type": "sql", "uri": f"sqlite:///{folder / 'catalog.db'}", "warehouse": "s3://lake/spark"}
    there = {"s3.endpoint": storage.address, "s3.region": "us-east-1", **keys("of-the-catalog")}
    made = Orders("sql", "sales", {**place, **there})
    made.append(6)
    yield made
    made.close()


@pytest.fixture(scope="module")
def runner(orders: Orders, embedded: EmbeddedSpark) -> Iterator[SparkEvidenceRunner]:
    """As the settings make it; what the catalog vends is kept in `ours.storage`."""
    wanted = embedded.model_copy(update={"properties": dict(orders.properties)})
    made = SparkEvidenceRunner(TASKS, wanted, access_of=orders.ours.storage.properties_of)
    yield made
    made.close()


def ask(orders: Orders) -> Ask:
    table = orders.ours.load(orders.name)
    assert table.head is not None
    return Ask(
        observation=Observation(table=table, jobs=UNASKED, checkpoints=UNASKED, reads=UNASKED, flink_manifests=UNASKED),
        window=Window(since=table.snapshots[0].snapshot_id, until=table.head),
        contract=TableContract(key=("order_id",), position="position"),
    )


def put(runner: SparkEvidenceRunner, task: str, orders: Orders) -> Answer:
    """The answer to one task."""
    tag = f"s3-{next(NUMBERS)}"
    return runner.run(TASKS[task].task, ask(orders), tag=tag, on_progress=lambda _progress: None)[0]


def test_every_task_reads_s3_with_the_catalogs_keys(
    orders: Orders, runner: SparkEvidenceRunner, storage: AilingS3
) -> None:
    """An endpoint of one's own, by path; no key of the environment is used."""
    storage.admitted = "of-the-catalog"

    answers = {task: put(runner, task, orders) for task in TASKS}

    assert Verdict.CONFIRMED is answers["duplicate_rows"].verdict
    assert Verdict.RULED_OUT is answers["unreadable_files"].verdict
    assert Verdict.RULED_OUT is answers["missing_files"].verdict


def test_keys_that_the_catalog_vends_later_are_used_at_once(
    orders: Orders, runner: SparkEvidenceRunner, storage: AilingS3
) -> None:
    """Vended keys live for an hour, and the server for days."""
    for vended in ("vended-first", "vended-then"):
        storage.admitted = None
        asked = ask(orders)
        orders.ours.storage.learn(orders.name, {**orders.properties, **keys(vended)})
        storage.admitted = vended
        task = TASKS["unreadable_files"].task

        answer, _ = runner.run(task, asked, tag=vended, on_progress=lambda _progress: None)

        assert Verdict.RULED_OUT is answer.verdict


def test_a_storage_that_denies_is_told_as_such(orders: Orders, runner: SparkEvidenceRunner, storage: AilingS3) -> None:
    """It says nothing of the files, and no task that fails in the same way is suggested."""
    asked, task = ask(orders), TASKS["duplicate_rows"].task
    storage.admitted = "somebody-else"

    with pytest.raises(EvidenceFailed, match="denied Spark access") as one:
        runner.run(task, asked, tag="denied", on_progress=lambda _progress: None)
    with pytest.raises(EvidenceFailed, match="denied Spark access"):
        runner.probe(asked.observation.table)
    assert "unreadable_files" not in one.value.remedy


def test_a_probe_reads_a_file_of_each_kind(orders: Orders, runner: SparkEvidenceRunner, storage: AilingS3) -> None:
    """As evidence will: what the doctor says is what a night will need."""
    storage.admitted = "of-the-catalog"
    table = orders.ours.load(orders.name)

    assert all(kind in runner.probe(table) for kind in ("metadata", "manifest list", "manifest", "data file"))


def test_tasks_of_one_diagnosis_ask_s3_once_for_each_manifest(
    orders: Orders, runner: SparkEvidenceRunner, storage: AilingS3
) -> None:
    """Which never change; only the task that checks the manifests themselves asks for them each time."""
    orders.append(7)
    asked: list[str] = []
    storage.of = lambda _method, path: asked.append(path) is not None

    def manifests(task: str) -> int:
        """Requests for manifests that the task makes."""
        asked.clear()
        put(runner, task, orders)
        return sum("-m0.avro" in path for path in asked)

    first = manifests("ledger")
    tasks = ("table_health", "duplicate_files", "ledger", "missing_files")
    later = {task: manifests(task) for _ in range(2) for task in tasks}
    checked = [manifests("unreadable_files") for _ in range(2)]

    assert first > 0
    assert {task for task, requests in later.items() if requests} <= {"missing_files"}
    assert min(checked) >= first
