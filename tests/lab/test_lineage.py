"""What the lab makes of the events that its consumers' Spark writes."""

from pathlib import Path

from bot.lab.consumers import Read, latest_reads

EVENTS = Path(__file__).parents[1] / "data" / "lineage" / "spark.jsonl"
"""Real ones; tests/adapters/test_lineage_of_spark.py says of what."""
FIRST, SECOND, HEAD = 1626460864135542456, 660025252136990232, 8720394282411403535


def test_the_latest_read_of_a_consumer_counts_with_its_whole_id() -> None:
    """The events hold it rounded; the listed snapshot next to it is meant, and a run of none of them is passed over."""
    assert latest_reads(EVENTS, [FIRST, SECOND, HEAD])["revenue_daily"].snapshot_id == HEAD
    assert latest_reads(EVENTS, [SECOND]) == {
        "revenue_daily": Read(
            consumer="revenue_daily", run_id="01a204a7-7171-7585-bde7-a9427854cde8", snapshot_id=SECOND
        )
    }


def test_before_the_first_event_nobody_has_read(tmp_path: Path) -> None:
    """The file comes with the first application."""
    assert latest_reads(tmp_path / "events.jsonl", [HEAD]) == {}
