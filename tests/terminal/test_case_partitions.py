"""Commits may tell of each partition that they changed: a saved case holds nothing of it, and is diagnosed the same."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform
from pyiceberg.types import LongType, NestedField, StringType

from bot.adapters.case_redaction import CannotBeCut, without_told_partitions
from bot.adapters.case_rereading import read_again
from bot.adapters.case_sources import sources_of
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.contract import TableContract
from bot.domain.diagnosis import Case
from bot.domain.flink import FlinkManifest, JobRun, StoredCheckpoint
from bot.domain.hidden_values import outgoing_case
from bot.domain.looked import Seen
from bot.domain.suspicion import propose_window
from tests.adapters.lake import Lake
from tests.cases import Tale
from tests.tables import ORDERS

SECRET = "ACME"
HIDES, SHOWS = TableContract(redacted=("customer",)), TableContract()
IDENTITY, BUCKET = IdentityTransform(), BucketTransform(4)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """A catalog without a table."""
    made = Lake(tmp_path)
    made.catalog.drop_table(ORDERS)
    yield made
    made.close()


def parted(lake: Lake, contract: TableContract, by: Transform[str, object] = IDENTITY) -> Case:
    """A look at a table whose commits tell of every partition."""
    schema = Schema(NestedField(1, "order_id", LongType()), NestedField(2, "customer", StringType()))
    spec = PartitionSpec(PartitionField(2, 1000, by, "customer" if by is IDENTITY else "customer_bucket"))
    limit = {"write.summary.partition-limit": "10"}
    table = lake.catalog.create_table(ORDERS, schema, partition_spec=spec, properties=limit)
    table.append(pa.table({"order_id": [1, 2], "customer": [SECRET, "Globex"]}))
    summary = lake.table.metadata.snapshots[0].summary
    assert summary is not None
    assert any(key.startswith("partitions.customer") for key in summary.additional_properties)
    state = PyIcebergCatalog("lake", lake.properties, SystemClock()).load(ORDERS)
    base = Tale().flink_runs("a").commits("a", 1).looked_at()
    seen = {
        "jobs": Seen[JobRun](source="Flink", values=()),
        "checkpoints": Seen[StoredCheckpoint](source="storage", values=()),
        "flink_manifests": Seen[FlinkManifest](source="storage", values=()),
    }
    world = base.observation.model_copy(update={"table": state, **seen})
    window = propose_window(state, world.jobs).window
    return base.model_copy(update={"observation": world, "contract": contract, "window": window})


def told(case: Case, *, with_values: bool) -> bytes:
    """All that the file would hold."""
    shown = case if with_values else case.without_samples()
    raw = sources_of(case, {}, with_values=with_values).raw
    return outgoing_case(shown, case.contract).model_dump_json().encode() + b"".join(raw.values())


@pytest.mark.parametrize(("contract", "with_values"), [(HIDES, False), (HIDES, True), (SHOWS, False)])
def test_no_partition_that_may_not_leave_is_told_by_a_summary(
    lake: Lake, contract: TableContract, with_values: bool
) -> None:
    """Neither in the case nor in the metadata; hidden ones never, others unasked not."""
    case = parted(lake, contract)

    kept = told(case, with_values=with_values)

    assert SECRET.encode() not in kept
    assert b"added-records" in kept


@pytest.mark.parametrize(("by", "with_values"), [(IDENTITY, True), (BUCKET, False)])
def test_metadata_that_may_leave_is_kept_byte_for_byte(
    lake: Lake, by: Transform[str, object], with_values: bool
) -> None:
    """Asked for where nothing is hidden, and a bucket tells no value."""
    case = parted(lake, SHOWS, by)
    whole = Path(case.observation.table.metadata_location.removeprefix("file://")).read_bytes()

    sources = sources_of(case, {}, with_values=with_values)

    assert whole == sources.raw[case.observation.table.metadata_location]
    assert case.observation.table.metadata_location not in sources.cut


def test_the_file_is_read_again_as_it_was_recorded(lake: Lake) -> None:
    """Also a record of an earlier version, which held what the commits told."""
    case = parted(lake, HIDES)
    sources = sources_of(case, {}, with_values=False)
    first = case.observation.table.snapshots[0]
    older = first.model_copy(update={"summary": {**first.summary, f"partitions.customer={SECRET}": "added-records=1"}})
    table = case.observation.table.model_copy(update={"snapshots": (older,)})
    recorded = case.model_copy(update={"observation": case.observation.model_copy(update={"table": table})})

    again = [read_again(each, sources.raw) for each in (outgoing_case(case, HIDES), recorded)]

    assert [[], []] == [each.differences for each in again]
    assert all("1 metadata file" in each.read for each in again)
    assert case.observation.table.metadata_location in sources.cut


def test_packed_metadata_is_cut_and_packed_again() -> None:
    """Tables may be told to pack it; what cannot be unpacked is left out rather than kept whole."""
    summary = {"operation": "append", f"partitions.customer={SECRET}": "added-records=1"}
    whole = json.dumps({"snapshots": [{"snapshot-id": 1, "summary": summary}, {"snapshot-id": 2}]}).encode()

    cut = without_told_partitions(gzip.compress(whole))

    assert SECRET.encode() not in gzip.decompress(cut)
    assert {"operation": "append"} == json.loads(gzip.decompress(cut))["snapshots"][0]["summary"]
    assert gzip.compress(b"{}", mtime=0) == without_told_partitions(gzip.compress(b"{}", mtime=0))
    with pytest.raises(CannotBeCut):
        without_told_partitions(gzip.compress(whole)[:-9])
