"""The consumers of `sales.orders`: two Spark jobs of other teams, and the lineage events that they write."""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from bot.lab.errors import LabError
from bot.lab.home import Home
from bot.lab.process import Telling

NAMESPACE = "analytics"
_PLANS = "org.apache.spark.sql.catalyst.plans.logical"


class Read(BaseModel):
    """One run of a consumer: what it read and which run it was."""

    model_config = ConfigDict(frozen=True)

    consumer: str
    run_id: str
    snapshot_id: int


def listener(file: Path) -> dict[str, str]:
    """Spark's settings for events in this file, one JSON document a line; docs/lineage.md says why each is there.

    A metastore's address is named though there is none: of a JDBC catalog the listener would tell no inputs.
    """
    return {
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": NAMESPACE,
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(file),
        "spark.openlineage.filter.allowedSparkNodes": f"[{_PLANS}.Aggregate;{_PLANS}.Project]",
        "spark.hadoop.hive.metastore.uris": "thrift://lake:9083",
    }


def latest_reads(file: Path, listed: Iterable[int]) -> dict[str, Read]:
    """What each consumer read last, by consumer; of runs whose scan is told, of these snapshots.

    The listener writes a snapshot's id as a floating-point number, so the listed one next to it is meant.
    """
    near = {float(each): each for each in listed}
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    reads: dict[str, Read] = {}
    for event in map(json.loads, lines):
        for dataset in event["inputs"]:
            scan = dataset.get("inputFacets", {}).get("icebergScanReport")
            if scan is not None and (snapshot_id := near.get(float(scan["snapshotId"]))) is not None:
                consumer = event["run"]["facets"]["parent"]["job"]["name"]
                reads[consumer] = Read(consumer=consumer, run_id=event["run"]["runId"], snapshot_id=snapshot_id)
    return reads


QUERIES = {
    "revenue_daily": (
        "SELECT date(event_time) AS day, sum(amount) AS revenue, count(*) AS orders "
        "FROM {table} VERSION AS OF {snapshot} GROUP BY date(event_time) ORDER BY day"
    ),
    "fraud_features": (
        "SELECT customer, count(*) AS orders, max(amount) AS largest, max(event_time) AS latest "
        "FROM {table} VERSION AS OF {snapshot} GROUP BY customer ORDER BY orders DESC, customer LIMIT 20"
    ),
}
"""Consumer name -> what it asks of the table at the snapshot that it reads."""


class Readers:
    """Consumers that are reading now, in a process of their own, as they would anywhere else."""

    def __init__(self, home: Home, names: tuple[str, ...]) -> None:
        unknown = [name for name in names if name not in QUERIES]
        if unknown:
            raise LabError(
                f"There is no consumer {unknown[0]}.",
                f"Expected one of {', '.join(QUERIES)}; found {unknown[0]}.",
                "Name one of these.",
            )
        self._process = Telling("consumers", "bot.lab.consumer_run", home.folder, *names)

    def wait(self) -> list[Read]:
        """The runs, when they have ended. Raises: LabError with the end of the log when one failed."""
        lines = self._process.told("A consumer could not read the table.").splitlines()
        return [Read.model_validate_json(line) for line in lines]

    def close(self) -> None:
        self._process.close()
