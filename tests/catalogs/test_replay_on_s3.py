"""A replay into a table behind a REST catalog, with its files on S3, by Waterline's own Spark."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_server import EmbeddedSpark
from bot.evidence import find_tasks
from bot.lab import rest_catalog
from bot.lab.jars import rest_server_jars
from bot.observation.evidence import Verdict
from bot.observation.ids import TableName
from tests.little_flink import open_catalog
from tests.repairs.recipes import declared
from tests.repairs.scene import RUN, RepairScene
from tests.tables import ORDERS

pytestmark = pytest.mark.slow
KEYS = {"s3.access-key-id": "of-the-catalog", "s3.secret-access-key": "any"}


@pytest.fixture
def lake(aws: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Properties of Iceberg's own REST catalog over this S3. Only they say where S3 is, and with which keys."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    served = {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": f"jdbc:sqlite:{tmp_path / 'rest.db'}",
        "jdbc.schema-version": "V1",
        "clients": "1",
        "warehouse": f"s3://lake/{tmp_path.name}",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": aws,
        "s3.path-style-access": "true",
        "client.region": "us-east-1",
        **KEYS,
    }
    with rest_catalog.rest_server(served, rest_server_jars(on_s3=True)) as address:
        yield {"type": "rest", "uri": address, "s3.endpoint": aws, "s3.region": "us-east-1", **KEYS}


@pytest.fixture
def scene(lake: dict[str, str], tmp_path: Path, embedded: EmbeddedSpark) -> Iterator[RepairScene]:
    """Run A wrote positions 0 to 29 there, and somebody removed 10 to 19."""
    (tmp_path / "lake.json").write_text(json.dumps(lake))
    runner = SparkEvidenceRunner(find_tasks(spark_tasks), embedded.model_copy(update={"properties": lake}))
    made = RepairScene(tmp_path, runner, replay=declared())
    made.flink.checkpoints(RUN, 3)
    made.orders.deletes("source_position >= 10 and source_position < 20")
    yield made
    made.close()
    runner.close()


def positions(folder: Path, ref: str) -> list[int]:
    """As PyIceberg reads them, with what the same catalog says."""
    catalog = open_catalog(folder)
    rows = catalog.load_table(TableName(ORDERS)).scan().use_ref(ref).to_arrow()
    catalog.close()
    return sorted(rows["source_position"].to_pylist())


def test_a_gap_is_replayed_on_a_branch_proven_and_published(scene: RepairScene) -> None:
    """Spark reads, writes and commits by what PyIceberg is told; main is untouched until the second approval."""
    scene.opens("ledger")

    rehearsal = scene.carries_out(scene.proposes("replay_source_range"))
    proof = scene.proves(rehearsal)
    branch = rehearsal.proposal.rehearses_on
    assert branch is not None
    before = positions(scene.folder, "main"), positions(scene.folder, branch)
    scene.carries_out(scene.proposes("publish_repair"))
    answer = scene.services.evidence.run_now(scene.incident, "missing_positions")

    assert proof.passed, proof.checks
    assert ([*range(10), *range(20, 30)], list(range(30))) == before
    assert list(range(50)) == positions(scene.folder, "main")
    assert answer.verdict is Verdict.RULED_OUT
