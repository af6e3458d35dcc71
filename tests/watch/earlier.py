"""Cuts what a real table and a real Flink had told to an earlier moment, in milliseconds since 1970."""

from typing import Any

Page = dict[str, Any]


def cut_commits(told: Page, then: float) -> None:
    """The metadata file: main ends at the newest commit of then."""
    for log in ("snapshots", "snapshot-log", "metadata-log"):
        told[log] = [each for each in told[log] if each["timestamp-ms"] <= then]
    head = told["snapshot-log"][-1]
    told["current-snapshot-id"], told["last-updated-ms"] = head["snapshot-id"], head["timestamp-ms"]
    told["refs"] = {"main": {"snapshot-id": head["snapshot-id"], "type": "branch"}}


def cut_runs(page: Page, then: float) -> None:
    """The list of jobs."""
    page["jobs"] = [each for each in page["jobs"] if each["start-time"] <= then]
    for each in page["jobs"]:
        cut_run(each, then)


def cut_run(page: Page, then: float) -> None:
    """What a run says of itself: one that has ended since still ran."""
    if "end-time" in page and page["end-time"] > then:
        page |= {"end-time": -1, "state": "RUNNING"}
        for vertex in page.get("vertices", ()):
            vertex["status"] = "RUNNING"


def cut_checkpoints(page: Page, then: float) -> None:
    """The history of checkpoints, its counts and the newest of each kind."""
    page["history"] = [each for each in page["history"] if each["trigger_timestamp"] <= then]
    counted = [each["status"] for each in page["history"]]
    page["counts"] |= {status.lower(): counted.count(status) for status in ("COMPLETED", "FAILED")}
    latest = page["latest"]
    for status in ("completed", "failed", "savepoint"):
        mine = [each for each in page["history"] if each["is_savepoint"] or each["status"].lower() == status]
        if latest[status] is not None and latest[status]["trigger_timestamp"] > then:
            latest[status] = next((each for each in mine if each["is_savepoint"] == (status == "savepoint")), None)
    if latest["restored"] is not None and latest["restored"]["restore_timestamp"] > then:
        latest["restored"] = None


def cut_failures(page: Page, then: float) -> None:
    """The history of failures."""
    history = page["exceptionHistory"]
    history["entries"] = [each for each in history["entries"] if each["timestamp"] <= then]
