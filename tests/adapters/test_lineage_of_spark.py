"""What the bot reads from events that Spark's own listener wrote.

`tests/data/lineage/spark.jsonl`: openlineage-spark 1.53.0 with PySpark 4.1.4 and Iceberg 1.12.0, one application that
asked a table of three snapshots in many ways. The warehouse's path was shortened, and facets that say nothing of reads
(schema, columns, storage, the machine) were left out; most RUNNING events too.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.lineage import OpenLineageFile
from bot.observation.ids import SnapshotId
from bot.observation.readers import ReadRun
from bot.observation.table import Snapshot, TableState
from tests.adapters.test_lineage import AGES_AGO, TABLE

EVENTS = Path(__file__).parents[1] / "data" / "lineage" / "spark.jsonl"
FIRST, SECOND, HEAD = 1626460864135542456, 660025252136990232, 8720394282411403535


def committed(snapshot: int) -> Snapshot:
    """One commit of the table."""
    return Snapshot(
        snapshot_id=SnapshotId(snapshot), parent_id=None, sequence_number=1, committed_at=AGES_AGO, operation="append",
        manifest_list="snap.avro", schema_id=0, summary={},
    )  # fmt: skip


ORDERS = TABLE.model_copy(
    update={
        "location": "file:///lake/warehouse/sales/orders",
        "head": SnapshotId(HEAD),
        "snapshots": tuple(committed(each) for each in (FIRST, SECOND, HEAD)),
    }
)


def reads(table: TableState = ORDERS) -> tuple[ReadRun, ...]:
    """Every read that the file tells."""
    return OpenLineageFile(EVENTS, "lake").reads(table, AGES_AGO)


def of(run: str, table: TableState = ORDERS) -> list[int | None]:
    """The snapshots that this run read; a run is named by the end of its id."""
    return [read.snapshot_id for read in reads(table) if read.run_id.endswith(run)]


@pytest.mark.parametrize(
    ("run", "snapshots"),
    [
        ("6447c9", [SECOND]),  # VERSION AS OF, in the order of days
        ("154f87", [FIRST]),  # VERSION AS OF
        ("54cde8", [SECOND]),  # TIMESTAMP AS OF
        ("80ba07", [FIRST]),  # VERSION AS OF a tag
        ("ac7026", [FIRST]),  # FROM orders.tag_t1
        ("2bc4b8", [HEAD]),  # CREATE TABLE … AS SELECT
        ("43aef9", [HEAD]),  # MERGE INTO another table
        ("7efa70", [HEAD]),  # it failed in the middle of the read
    ],
)
def test_the_snapshot_is_the_one_that_was_scanned(run: str, snapshots: list[int]) -> None:
    """Spark writes it as a floating-point number, and START names the table's head whatever the run will read."""
    assert of(run) == snapshots


def test_a_run_that_read_two_snapshots_read_both() -> None:
    """A union of then and now."""
    assert set(of("1f7a31")) == {FIRST, HEAD}


def test_metadata_tables_hold_no_rows() -> None:
    """`orders.files` has the table's place, its version and a scan of its own."""
    assert of("8af601") == []


def test_a_count_that_is_answered_from_metadata_does_not_tell_what_it_read() -> None:
    """It was `count(*) … VERSION AS OF` the first one, and only the head is named: nothing is certain."""
    assert of("8dcaf3") == [HEAD, None]


def test_the_run_around_a_run_reads_nothing_more() -> None:
    """CREATE TABLE … AS SELECT is two runs of one application; the outer one names the head and no scan."""
    assert of("4aae1b") == []


def test_a_later_run_of_the_same_application_into_the_same_table_is_a_run_of_its_own(tmp_path: Path) -> None:
    """It is around nothing: it began when the one that scanned was over, and failed before it told a scan."""
    events = [json.loads(line) for line in EVENTS.read_text().splitlines()]
    for event in [each for each in events if each["run"]["runId"].endswith("4aae1b")]:
        at = datetime.fromisoformat(event["eventTime"]) + timedelta(hours=3)
        kind = "FAIL" if event["eventType"] == "COMPLETE" else event["eventType"]
        run = {**event["run"], "runId": "later"}
        events.append({**event, "eventTime": at.isoformat(), "eventType": kind, "run": run})
    file = tmp_path / "events.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events))

    told = OpenLineageFile(file, "lake").reads(ORDERS, AGES_AGO)

    assert {read.snapshot_id for read in told if read.run_id == "later"} == {HEAD, None}
    assert not [read for read in told if read.run_id.endswith("4aae1b")]


def test_the_consumer_is_the_application() -> None:
    """Each statement is a run of its own; its job's name ends with the plan's node."""
    assert {read.consumer for read in reads()} == {"revenue_daily"}


def test_a_rounded_snapshot_that_is_listed_no_more_is_not_told() -> None:
    """It may be any, so nobody is told that it was harmless; the head is known by its version too."""
    expired = ORDERS.model_copy(update={"snapshots": ()})

    assert of("154f87", expired) == [None]
    assert of("2bc4b8", expired) == [HEAD]


def test_whoever_read_what_it_wrote_is_found() -> None:
    """The merge read the mart that CREATE TABLE … AS SELECT had filled from the table."""
    told = OpenLineageFile(EVENTS, "lake").downstream(ORDERS, AGES_AGO)

    assert ("43aef9", "2bc4b8") in {(far.run_id[-6:], far.origin[-6:]) for far in told}


def test_an_event_may_leave_its_datasets_out(tmp_path: Path) -> None:
    """The specification asks for neither inputs nor outputs; a producer may write null."""
    event = {"eventTime": datetime(2026, 11, 3, tzinfo=UTC).isoformat(), "eventType": "START", "inputs": None}
    event |= {"outputs": None, "run": {"runId": "r"}, "job": {"namespace": "n", "name": "j"}}
    file = tmp_path / "events.jsonl"
    file.write_text(json.dumps(event) + "\n")

    assert OpenLineageFile(file, "lake").reads(ORDERS, AGES_AGO) == ()
