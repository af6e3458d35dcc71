"""Histories in which an answer was too safe once, found where Flink has forgotten a start whose checkpoint ids came
again, or where a manifest waits for a sink that does not come back; each is reduced to what it takes."""

import pytest

from tests.diagnosis.histories.drawn import Event, Plan, played
from tests.diagnosis.histories.held import wrongly_safe
from tests.diagnosis.histories.history import Setting
from tests.diagnosis.histories.truth import truth_of

EMPTY_UNDER_ITS_ID = "started without state under its job id"
FOUND = {
    "a forgotten run counted up to the restored id twice": Plan(
        96754,
        Setting("V1", lists="the living run"),
        (
            Event(1, EMPTY_UNDER_ITS_ID),
            Event(2, "a checkpoint whose commit is late"),
            Event(3, "a checkpoint whose commit is late"),
            Event(4, "a checkpoint"),
            Event(7, "table and job rewound together"),
        ),
    ),
    "the same in silence": Plan(
        113667,
        Setting("V1", lists="the living run"),
        (
            Event(0, EMPTY_UNDER_ITS_ID),
            Event(1, "a quiet time"),
            Event(7, "rolled back while the job runs"),
        ),
        then=(Event(11, "table and job rewound together"),),
    ),
    "the restored id was another run's, which had no commit of it": Plan(
        97058,
        Setting("V1", commits_empty_after=3, lists="ended runs without details", shows_paths=False),
        (
            Event(0, "a quiet time"),
            Event(1, "table and job rewound together"),
            Event(2, "a checkpoint"),
            Event(3, "started from another run's point"),
        ),
    ),
    "a run without rows goes on from one below rows whose commits have expired": Plan(
        106860,
        Setting("V1", keeps_keys=False, lists="ended runs without details"),
        (
            Event(0, "the job runs twice"),
            Event(2, "started from an older point with another uid"),
            Event(3, "a quiet time"),
            Event(4, "cancelled and started again"),
            Event(5, "an expiry of snapshots"),
        ),
    ),
    "a forgotten run counted up to the restored id and committed nothing more": Plan(
        137266,
        Setting("dynamic", lists="the living run"),
        (
            Event(1, EMPTY_UNDER_ITS_ID),
            Event(3, "a quiet time"),
            Event(5, "table and job rewound together"),
        ),
    ),
    "a run is restarted from an id above main's that a forgotten start counted": Plan(
        138453,
        Setting("dynamic"),
        (
            Event(0, EMPTY_UNDER_ITS_ID),
            Event(2, "a quiet time"),
            Event(3, "started from an older point under its job id"),
        ),
    ),
    "what the old uid's sink owed waits, and the job was restarted since": Plan(
        131575,
        Setting("V1"),
        (Event(1, "the sink's uid is changed"), Event(5, "a quiet time")),
        then=(Event(7, "cancelled and started again"),),
    ),
    "what a run without commits owed waits for its sink": Plan(
        135603,
        Setting("V1", lists="ended runs without details"),
        (
            Event(3, "a checkpoint"),
            Event(4, "started from an older point with another uid"),
            Event(5, "a failed checkpoint"),
            Event(6, "a standby JobManager takes over"),
            Event(7, "the sink's uid is changed"),
        ),
    ),
    "a start without state over the job's expired commits, below another job that goes on": Plan(
        126131,
        Setting("V1", lists_guest=True),
        (Event(6, "another job commits"), Event(7, "an expiry of snapshots")),
        then=(Event(9, "started without state"),),
    ),
    "a run that is to catch up began below a drained commit": Plan(
        132383,
        Setting("V1"),
        (
            Event(0, "a commit is made twice"),
            Event(1, "Spark takes copies out"),
            Event(3, "drained and started"),
            Event(5, "the sink's uid is changed"),
            Event(6, "a checkpoint"),
            Event(8, "Flink forgets runs that ended"),
            Event(9, "rolled back while the job runs"),
            Event(10, "main is set to a commit beside it"),
        ),
        then=(Event(11, "started from another run's point"),),
        opens_where_suspicious=True,
    ),
    "a standby JobManager goes on from an id that a forgotten start counted again": Plan(
        301610,
        Setting(),
        (
            Event(2, EMPTY_UNDER_ITS_ID),
            Event(7, "a quiet time"),
            Event(9, "a standby JobManager takes over"),
        ),
    ),
    "a start without state goes back to its own checkpoint, and main to one of the run before": Plan(
        333450,
        Setting("V1"),
        (
            Event(1, "started without state"),
            Event(4, "a checkpoint whose commit is late"),
            Event(5, "a checkpoint"),
            Event(6, "started from an older point under its job id"),
            Event(7, "rolled back while the job runs"),
        ),
        then=(Event(10, "a checkpoint"),),
    ),
    "what was lost is picked again beside the run that brings it again": Plan(
        331007,
        Setting("V1"),
        (
            Event(2, "an upgrade with a savepoint"),
            Event(5, "rolled back while the job runs"),
            Event(7, "table and job rewound together"),
        ),
        meanwhile=(
            Event(100, "a checkpoint"),
            Event(101, "lost commits are picked again"),
            Event(102, "a checkpoint"),
        ),
    ),
    "an older run's checkpoint, whose id main's newest run had not reached, and no path": Plan(
        34798,
        Setting(shows_paths=False),
        (
            Event(2, "a quiet time"),
            Event(4, "table and job rewound together"),
            Event(7, "a checkpoint"),
            Event(8, "started from another run's point"),
        ),
    ),
    "a standby JobManager goes on from below rows whose run had stood above them": Plan(
        403715,
        Setting(keeps_keys=False),
        (
            Event(0, "a checkpoint"),
            Event(1, "a checkpoint"),
            Event(3, "an expiry of snapshots"),
            Event(4, "started from an older point under its job id"),
            Event(5, "a checkpoint"),
            Event(6, "a standby JobManager takes over"),
        ),
    ),
}


@pytest.mark.parametrize("plan", FOUND.values(), ids=FOUND)
def test_no_answer_is_too_safe_any_more(plan: Plan) -> None:
    """Rows are lost or doubled in each, or will be."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_safe(drawn)
