"""A consumer's lineage event says which snapshot its run has read."""

import json
from datetime import UTC, datetime
from pathlib import Path

from bot.lab.lineage import append_event, complete_event, latest_reads

BIG = 8_049_801_064_444_816_105
"""Above 2**53: a snapshot id that a float would spoil."""


def test_an_event_names_run_consumer_table_and_snapshot(tmp_path: Path) -> None:
    """The snapshot id arrives whole, as a number in the scan report and as text in the version."""
    file = tmp_path / "events.jsonl"
    at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    run_id = "0249adf9-a1e0-4dc4-a347-6e45124e785a"
    event = complete_event("revenue_daily", run_id, at, "file:///w/sales/orders", "sales.orders", "lake", BIG)

    append_event(file, event)

    told = json.loads(file.read_text(encoding="utf-8"))
    (read,) = told["inputs"]
    assert (told["eventType"], told["run"]["runId"], told["eventTime"]) == ("COMPLETE", run_id, at.isoformat())
    assert read["inputFacets"]["icebergScanReport"]["snapshotId"] == BIG
    assert read["facets"]["version"]["datasetVersion"] == str(BIG)
    assert read["facets"]["symlinks"]["identifiers"][0]["name"] == "sales.orders"
    assert read["name"] == "/w/sales/orders"


def test_the_latest_read_of_each_consumer_counts(tmp_path: Path) -> None:
    """A later run of the same consumer takes the place of the earlier one."""
    file = tmp_path / "events.jsonl"
    at = datetime(2026, 11, 21, 12, tzinfo=UTC)
    run_id = "0249adf9-a1e0-4dc4-a347-6e45124e785a"
    for consumer, snapshot_id in (("revenue_daily", 1), ("fraud_features", 2), ("revenue_daily", BIG)):
        append_event(file, complete_event(consumer, run_id, at, "file:///w", "sales.orders", "lake", snapshot_id))

    reads = latest_reads(file)

    assert reads == {"revenue_daily": BIG, "fraud_features": 2}
