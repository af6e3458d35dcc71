"""Histories that long hunts have found, in which an answer was too safe once; each is reduced to what it takes."""

import pytest

from tests.diagnosis.histories.drawn import Event, Plan, played
from tests.diagnosis.histories.held import wrongly_safe
from tests.diagnosis.histories.history import Setting
from tests.diagnosis.histories.truth import truth_of

OLDER_UNDER_ITS_ID = "started from an older point under its job id"
EMPTY_UNDER_ITS_ID = "started without state under its job id"
REWOUND = "table and job rewound together"
UPGRADED = "an upgrade with a savepoint"
FOUND = {
    "evidence is older than an upgrade that hides where its run had begun": Plan(
        265,
        Setting(lists="the living run"),
        (Event(0, "a checkpoint"), Event(3, OLDER_UNDER_ITS_ID)),
        then=(Event(5, UPGRADED),),
    ),
    "evidence is older than a restart, and commits came after both": Plan(
        53555,
        Setting("V1"),
        (Event(3, EMPTY_UNDER_ITS_ID), Event(4, "a quiet time")),
        then=(Event(5, "redeployed under its job id"), Event(6, "a checkpoint")),
    ),
    "evidence is older than a start without state by another uid": Plan(
        53392,
        Setting(lists="the living run"),
        (Event(2, "started from an older point with another uid"),),
        then=(Event(11, EMPTY_UNDER_ITS_ID), Event(12, "a checkpoint")),
    ),
    "evidence is older than what a restore has committed": Plan(
        18899,
        Setting("V1"),
        (Event(1, "a checkpoint"), Event(4, OLDER_UNDER_ITS_ID), Event(6, "a checkpoint whose commit is late")),
        then=(Event(7, "redeployed under its job id"),),
    ),
    "a savepoint and a checkpoint of one id": Plan(
        1785,
        Setting(),
        (
            Event(0, "an intermediate savepoint"),
            Event(3, "redeployed under its job id"),
            Event(6, "a checkpoint"),
            Event(7, "started from an older point"),
        ),
    ),
    "the same of a run that Flink has forgotten": Plan(
        1785,
        Setting(lists="the living run"),
        (
            Event(0, "an intermediate savepoint"),
            Event(3, "redeployed under its job id"),
            Event(6, "a checkpoint"),
            Event(7, "started from an older point"),
        ),
    ),
    "a checkpoint that was triggered after the commit of its id": Plan(
        11591,
        Setting(),
        (
            Event(0, EMPTY_UNDER_ITS_ID),
            Event(2, UPGRADED),
            Event(4, UPGRADED),
            Event(5, UPGRADED),
            Event(6, REWOUND),
            Event(7, REWOUND),
        ),
    ),
    "a run that was started anew without state, and has committed nothing since": Plan(
        70311,
        Setting("dynamic"),
        (Event(0, EMPTY_UNDER_ITS_ID), Event(3, "a quiet time"), Event(6, "started from an older point")),
    ),
    "a Flink manifest of the restored id is left": Plan(
        13459,
        Setting("V1", lists="the living run"),
        (Event(0, "a checkpoint"), Event(4, OLDER_UNDER_ITS_ID), Event(6, "a checkpoint"), Event(8, REWOUND)),
    ),
    "a lost commit began below the target": Plan(
        17160,
        Setting("V1", lists="the living run"),
        (Event(1, OLDER_UNDER_ITS_ID), Event(2, "a checkpoint"), Event(3, "a checkpoint"), Event(4, REWOUND)),
    ),
    "lost commits whose ids do not rise": Plan(
        48164,
        Setting("V1"),
        (
            Event(1, EMPTY_UNDER_ITS_ID),
            Event(4, "a checkpoint whose commit is late"),
            Event(5, "a checkpoint"),
            Event(7, REWOUND),
        ),
    ),
    "restored a moment before main was set back": Plan(
        33228,
        Setting("V1"),
        (
            Event(0, "a checkpoint"),
            Event(1, "a checkpoint whose commit is late"),
            Event(2, "a checkpoint"),
            Event(3, "a compaction"),
            Event(4, "started from an older point"),
            Event(5, "rolled back while the job runs"),
        ),
    ),
    "the same from a run without a commit": Plan(
        20849,
        Setting("V1"),
        (
            Event(0, "started from an older point"),
            Event(1, "a checkpoint"),
            Event(2, UPGRADED),
            Event(4, "started from another run's point"),
            Event(6, "rolled back while the job runs"),
        ),
    ),
    "a run that fills a hole, and then brings again what lies above": Plan(
        24209,
        Setting("V1"),
        (
            Event(1, "started without state"),
            Event(2, "a checkpoint"),
            Event(3, "started from another run's point"),
            Event(6, "a checkpoint"),
        ),
    ),
    "a window that begins where the source ended": Plan(
        24318,
        Setting("dynamic", keeps_keys=False),
        (Event(6, "an expiry of snapshots"), Event(7, "started without state"), Event(9, "a checkpoint")),
        opens_where_suspicious=True,
    ),
    "empty commits hide that a run began with nothing": Plan(
        36213,
        Setting(),
        (
            Event(0, "started without state"),
            Event(1, "a quiet time"),
            Event(2, "a standby JobManager takes over"),
        ),
    ),
    "the same of a run that another has taken over": Plan(
        38567,
        Setting("V1", commits_empty_after=3, lists="the living run"),
        (Event(0, "started without state"), Event(4, "a quiet time"), Event(5, "started from an older point")),
    ),
    "a later run began elsewhere than one that harmed nothing": Plan(
        43251,
        Setting("V1", lists="ended runs without details", shows_paths=False),
        (
            Event(0, "started without state"),
            Event(1, "an intermediate savepoint"),
            Event(2, "a quiet time"),
            Event(3, "started from another run's point"),
        ),
    ),
    "copies of rows whose commits have expired, beside a guest": Plan(
        55872,
        Setting("V1", keeps_keys=False),
        (
            Event(1, EMPTY_UNDER_ITS_ID),
            Event(2, "another job commits"),
            Event(3, "a checkpoint"),
            Event(4, "an expiry of snapshots"),
        ),
    ),
    "a run that stands below rows whose commits have expired": Plan(
        58941,
        Setting(keeps_keys=False),
        (
            Event(0, "a checkpoint"),
            Event(3, UPGRADED),
            Event(6, "started from another run's point"),
            Event(8, "a checkpoint"),
            Event(9, "an expiry of snapshots"),
        ),
    ),
}


@pytest.mark.parametrize("plan", FOUND.values(), ids=FOUND)
def test_no_answer_is_too_safe_any_more(plan: Plan) -> None:
    """Rows are lost or doubled in each, or will be."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_safe(drawn)
