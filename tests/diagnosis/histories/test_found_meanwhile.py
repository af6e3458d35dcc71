"""Histories in which an answer was too safe once, found where a job commits while evidence is collected, where Flink
tells no paths, or above a drained commit; each is reduced to what it takes."""

import pytest

from tests.diagnosis.histories.drawn import Event, Plan, played
from tests.diagnosis.histories.held import wrongly_safe
from tests.diagnosis.histories.history import Setting
from tests.diagnosis.histories.truth import truth_of

EMPTY_UNDER_ITS_ID = "started without state under its job id"
FOUND = {
    "a second submission commits under the new uid": Plan(
        10461, Setting("dynamic"), (Event(0, "the sink's uid is changed"), Event(1, "the job runs twice"))
    ),
    "two runs have the restored id, and no path tells which is meant": Plan(
        13935,
        Setting("V1", shows_paths=False),
        (
            Event(0, "a checkpoint"),
            Event(2, "drained and started"),
            Event(3, "rolled back while the job runs"),
            Event(5, "table and job rewound together"),
            Event(6, "a quiet time"),
            Event(8, "the sink's uid is changed"),
        ),
        then=(Event(9, "started from another run's point"),),
    ),
    "a drain left a savepoint whose id nothing tells": Plan(
        69228,
        Setting("V1", lists="the living run", shows_paths=False),
        (
            Event(0, EMPTY_UNDER_ITS_ID),
            Event(2, "drained and started"),
            Event(3, "rolled back while the job runs"),
        ),
    ),
    "a run that began empty is restarted from its own checkpoint": Plan(
        12264,
        Setting("V1"),
        (Event(3, "started without state"),),
        meanwhile=(
            Event(100, "a quiet time"),
            Event(101, "redeployed under its job id"),
            Event(102, "a checkpoint"),
        ),
    ),
    "the ledger is older than the first rows of a run": Plan(
        18490,
        Setting("V1", keeps_keys=False),
        (Event(6, "an expiry of snapshots"),),
        then=(Event(11, "started without state"), Event(12, "a checkpoint")),
    ),
    "an older point and another uid, above a drained commit": Plan(
        36295,
        Setting("V1", lists="ended runs without details"),
        (
            Event(1, "drained and started"),
            Event(4, "started from another run's point"),
            Event(7, "the sink's uid is changed"),
        ),
    ),
    "a start without state over rows of a run that Flink has forgotten, by another uid": Plan(
        52994,
        Setting("dynamic"),
        (Event(5, "the sink's uid is changed"), Event(6, "started without state")),
        then=(Event(10, "Flink forgets runs that ended"),),
        meanwhile=(Event(100, "a checkpoint"),),
    ),
    "the same above a rollback, beside a second submission": Plan(
        62576,
        Setting(lists="the living run"),
        (
            Event(0, "the job runs twice"),
            Event(1, "a checkpoint"),
            Event(2, "started from an older point with another uid"),
            Event(3, "rolled back while the job runs"),
            Event(5, EMPTY_UNDER_ITS_ID),
        ),
        then=(Event(7, "a checkpoint"),),
    ),
    "what a restore committed came after rows were counted": Plan(
        87004,
        Setting("V1", keeps_keys=False),
        (Event(4, "a checkpoint whose commit is late"), Event(5, EMPTY_UNDER_ITS_ID)),
        then=(Event(6, "started from an older point"),),
        meanwhile=(Event(100, "a checkpoint"),),
    ),
    "rows were counted before the run had passed where main had come": Plan(
        104787,
        Setting("V1", keeps_keys=False),
        (Event(1, "a checkpoint"), Event(2, "an expiry of snapshots")),
        meanwhile=(
            Event(100, "started from an older point with another uid"),
            Event(101, "a checkpoint"),
            Event(102, "a checkpoint"),
        ),
    ),
    "a compaction holds rows that the run has still before it": Plan(
        89759,
        Setting("V1", keeps_keys=False),
        (
            Event(0, "a checkpoint"),
            Event(1, "a checkpoint"),
            Event(3, "a checkpoint"),
            Event(5, "started from an older point"),
            Event(7, "a checkpoint"),
            Event(8, "a standby JobManager takes over"),
            Event(9, "an expiry of snapshots"),
            Event(10, "a compaction"),
        ),
    ),
    "a manifest of the restored id came after the look at manifests": Plan(
        22657,
        Setting("dynamic", interval_s=60),
        (Event(0, "redeployed under its job id"),),
        then=(Event(5, "a standby JobManager takes over"),),
        meanwhile=(Event(100, "started from an older point under its job id"), Event(101, "a checkpoint")),
    ),
}


@pytest.mark.parametrize("plan", FOUND.values(), ids=FOUND)
def test_no_answer_is_too_safe_any_more(plan: Plan) -> None:
    """Rows are lost or doubled in each, or will be."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_safe(drawn)
