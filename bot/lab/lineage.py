"""OpenLineage events of consumer runs, one JSON document a line, as the Spark integration writes them."""

import json
from datetime import datetime
from pathlib import Path

import attr
from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import dataset_version_dataset, symlinks_dataset
from openlineage.client.generated.base import InputDatasetFacet
from openlineage.client.serde import Serde

PRODUCER = "https://openlineage.io/integration/spark"
NAMESPACE = "analytics"


@attr.define
class IcebergScanReport(InputDatasetFacet):
    """Which snapshot a run read: the facet `icebergScanReport` of OpenLineage's Iceberg registry."""

    snapshotId: int  # noqa: N815
    schemaId: int  # noqa: N815
    filterDescription: str = "true"  # noqa: N815

    @staticmethod
    def _get_schema() -> str:
        return (
            "https://openlineage.io/spec/facets/1-0-0/IcebergScanReportInputDatasetFacet.json"
            "#/$defs/IcebergScanReportInputDatasetFacet"
        )


def complete_event(
    consumer: str, run_id: str, at: datetime, location: str, table: str, catalog: str, snapshot_id: int
) -> RunEvent:
    """The COMPLETE event of one run that read the table at this snapshot.

    The dataset is named by its storage path; the name that people know is in the symlinks.
    """
    by_name = symlinks_dataset.Identifier(namespace=catalog, name=table, type="TABLE")
    version = dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=str(snapshot_id))
    dataset = InputDataset(
        namespace="file",
        name=location.removeprefix("file://"),
        facets={"symlinks": symlinks_dataset.SymlinksDatasetFacet(identifiers=[by_name]), "version": version},
        inputFacets={"icebergScanReport": IcebergScanReport(snapshotId=snapshot_id, schemaId=0)},
    )
    return RunEvent(
        eventType=RunState.COMPLETE,
        eventTime=at.isoformat(),
        run=Run(runId=run_id),
        job=Job(namespace=NAMESPACE, name=consumer),
        inputs=[dataset],
        outputs=[],
        producer=PRODUCER,
    )


def append_event(file: Path, event: RunEvent) -> None:
    """Adds one line; the file is made when it is not there."""
    with file.open("a", encoding="utf-8") as events:
        events.write(Serde.to_json(event) + "\n")


def latest_reads(file: Path) -> dict[str, int]:
    """The snapshot that each consumer read last, by consumer."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    reads = {}
    for event in map(json.loads, lines):
        reads[event["job"]["name"]] = event["inputs"][0]["inputFacets"]["icebergScanReport"]["snapshotId"]
    return reads
