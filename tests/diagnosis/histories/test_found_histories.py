"""Histories that long hunts have found, in which an answer was wrong once; each reduced to what it takes."""

import pytest

from bot.domain.diagnosis import Remedy
from tests.diagnosis.histories.drawn import Event, Plan, played
from tests.diagnosis.histories.held import answered, false_alarms, wrongly_acquitted, wrongly_safe
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


OLDER = "started from an older point"
REDEPLOYED = "redeployed under its job id"
OVERWRITES = "Spark overwrites rows"
EXPIRES = "an expiry of snapshots"
FOUND_ACQUITTALS_FOUND = {
    "copies by its own run, whose newest start had no state": (
        "F3",
        Plan(
            58,
            Setting(),
            (Event(0, OLDER_UNDER_ITS_ID), Event(3, "a checkpoint"), Event(4, EMPTY_UNDER_ITS_ID)),
            job_fails_for_good=True,
        ),
    ),
    "copies of rows whose commit has expired": (
        "F2",
        Plan(
            11470,
            Setting(lists="the living run"),
            (
                Event(0, OLDER),
                Event(3, "a checkpoint"),
                Event(4, "a checkpoint"),
                Event(6, EXPIRES),
                Event(9, "cancelled and started again"),
            ),
        ),
    ),
    "copies under other keys by its own run": (
        "F3",
        Plan(
            1966,
            Setting("V1", keeps_keys=False),
            (Event(6, OLDER_UNDER_ITS_ID), Event(7, "a checkpoint"), Event(8, REDEPLOYED)),
            job_fails_for_good=True,
        ),
    ),
    "copies under other keys by a run that Flink does not list": (
        "F2",
        Plan(
            2179,
            Setting("V1", keeps_keys=False, lists="the living run"),
            (Event(1, OLDER), Event(2, "an upgrade with a savepoint")),
            job_fails_for_good=True,
        ),
    ),
    "copies of rows that Spark wrote anew": (
        "F2",
        Plan(
            8970,
            Setting("dynamic", lists="the living run"),
            (
                Event(3, OLDER_UNDER_ITS_ID),
                Event(5, OVERWRITES),
                Event(7, "a checkpoint"),
                Event(9, "table and job rewound together"),
            ),
        ),
    ),
    "more positions missing than an overwrite took": (
        "F18",
        Plan(
            12999,
            Setting(lists="ended runs without details"),
            (
                Event(0, EMPTY_UNDER_ITS_ID),
                Event(1, "a checkpoint"),
                Event(2, "a checkpoint"),
                Event(5, OVERWRITES),
                Event(7, "a checkpoint"),
            ),
            job_fails_for_good=True,
        ),
    ),
    "positions missing beside a rollback of a guest's commits": (
        "F18",
        Plan(
            14130,
            Setting(lists_guest=True),
            (
                Event(1, OLDER_UNDER_ITS_ID),
                Event(3, "an intermediate savepoint"),
                Event(4, "a checkpoint"),
                Event(5, "a checkpoint"),
                Event(7, "another job commits"),
                Event(8, "a failover"),
                Event(9, "rolled back while the job runs"),
            ),
            job_fails_for_good=True,
        ),
    ),
    "a rollback above which only a cherry-pick went on": (
        "F6",
        Plan(
            5637,
            Setting("V1"),
            (
                Event(2, "a checkpoint"),
                Event(3, "a checkpoint"),
                Event(4, OLDER),
                Event(6, "rolled back while the job runs"),
                Event(8, "lost commits are picked again"),
            ),
            job_fails_for_good=True,
        ),
    ),
    "another uid, and what the old sink owed waits for a restore": (
        "F12",
        Plan(2421, Setting("V1"), (), meanwhile=(Event(101, "the sink's uid is changed"),)),
    ),
    "another uid above a drained commit": (
        "F12",
        Plan(
            131,
            Setting("V1", lists="ended runs without details"),
            (Event(7, "drained and started"), Event(10, "the sink's uid is changed")),
        ),
    ),
    "a start without state above a drained commit": (
        "healthy",
        Plan(
            1643,
            Setting("V1"),
            (Event(3, "drained and started"),),
            meanwhile=(Event(100, "started without state under its job id"),),
        ),
    ),
    "two points of one id, beside a guest, without paths": (
        "F2",
        Plan(
            2875,
            Setting("V1", shows_paths=False),
            (
                Event(1, "another job commits"),
                Event(4, OLDER_UNDER_ITS_ID),
                Event(5, "a checkpoint whose commit is late"),
                Event(8, REDEPLOYED),
            ),
        ),
    ),
    "F12: the sink of a silent run has another uid, and the point that owed rows is on storage": (
        "F12",
        Plan(23759, Setting(shows_points=True), (Event(1, "the sink's uid is changed"),)),
    ),
    "F12: the same with the V1 sink, whose id Flink shows": (
        "F12",
        Plan(23008, Setting("V1", shows_points=True), (Event(2, "the sink's uid is changed"),)),
    ),
    "F12: a run that never had a commit left rows behind under its own uid": (
        "F12",
        Plan(
            50847,
            Setting(shows_points=True),
            (Event(1, "the sink's uid is changed"), Event(2, "the sink's uid is changed")),
            then=(Event(7, "drained and started"),),
        ),
    ),
    "F13: two writers take turns under new keys since commits were held against each other": (
        "F13",
        Plan(
            37454,
            Setting("V1", keeps_keys=False),
            (Event(6, "the job runs twice"),),
            meanwhile=(Event(100, "a checkpoint"),),
        ),
    ),
    "healthy: rows that a sink passed over came again, and a later manifest waits": (
        "healthy",
        Plan(
            35693,
            Setting("V1", shows_points=True),
            (
                Event(1, "a checkpoint"),
                Event(2, "a checkpoint"),
                Event(4, "a checkpoint"),
                Event(5, "started from an older point under its job id"),
                Event(7, "a checkpoint"),
                Event(9, "redeployed under its job id"),
                Event(10, "a checkpoint"),
            ),
            then=(Event(11, "a standby JobManager takes over"), Event(12, "an upgrade with a savepoint")),
        ),
    ),
    "positions that were skipped beside a rollback of copies": (
        "F18",
        Plan(
            47662,
            Setting("V1", lists="the living run"),
            (
                Event(1, EMPTY_UNDER_ITS_ID),
                Event(2, "drained and started"),
                Event(7, "a commit is made twice"),
                Event(8, "rolled back while the job runs"),
            ),
            job_fails_for_good=True,
        ),
    ),
}


@pytest.mark.parametrize(("code", "plan"), FOUND_ACQUITTALS_FOUND.values(), ids=FOUND_ACQUITTALS_FOUND)
def test_the_mode_that_may_hold_is_open(code: str, plan: Plan) -> None:
    """It says what is missing; nobody is told of wrong rows with nothing left to ask."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_acquitted(drawn)
    assert code in {mode.code for mode, _ in (*answered(drawn).undecided, *answered(drawn).matches)}


def test_ids_alone_accuse_no_run_of_a_rollback_where_every_position_was_found() -> None:
    """Flink is down, and the compaction makes the look at positions an old one."""
    events = (
        Event(1, "a checkpoint"),
        Event(3, "table and job rewound together"),
        Event(5, "a standby JobManager takes over"),
        Event(6, "a checkpoint"),
    )
    drawn = played(Plan(12504, Setting("V1"), events, then=(Event(7, "a compaction"),), flink_is_down=True))

    assert () == false_alarms(drawn)
    missing = {mode.code: told.missing for mode, told in answered(drawn).undecided}
    assert any("missing_positions, once more" in each for each in missing["F6"])


REPLACED = (
    Event(0, "drained and started"),
    Event(1, "an intermediate savepoint"),
    Event(4, "started without state"),
    Event(5, "a quiet time"),
)
"""The second run reads 7 to 8 into a checkpoint and 9 beside it; the third begins at 10."""


@pytest.mark.parametrize("events", [REPLACED[:3], REPLACED], ids=["before it commits", "of empty commits alone"])
def test_its_rows_are_open_until_the_next_run_has_brought_some(events: tuple[Event, ...]) -> None:
    """A start without state may begin at the earliest: nobody knows yet whether it reads them again."""
    drawn = played(Plan(28774, Setting("V1"), events))

    assert () == wrongly_acquitted(drawn)
    missing = {mode.code: told.missing for mode, told in answered(drawn).undecided}
    assert "1 Flink manifest of it with 2 rows is still on storage" in missing["F5"][0]


@pytest.mark.parametrize("commits", [1, 2])
def test_then_they_are_lost_and_are_appended_from_its_manifest(commits: int) -> None:
    """F5 alone says so: F3 would say that it was restored from below what is committed."""
    events = (*REPLACED, *(Event(6 + each, "a checkpoint") for each in range(commits)))
    told = answered(played(Plan(28774, Setting("V1"), events)))
    assert [mode.code for mode, _ in told.matches] == ["F5"]
    assert told.matches[0][1].remedy is Remedy.RECOVER_LEAKED_MANIFESTS
    reasons = {mode.code: each.reason for mode, each in told.excluded}
    assert "the sink lost them" in reasons["F18"]


def test_without_an_intermediate_checkpoint_there_is_nothing_of_it() -> None:
    """The run wrote no file that waits: what was not read is the source's gap (F18)."""
    events = (REPLACED[0], *REPLACED[2:], Event(6, "a checkpoint"))
    drawn = played(Plan(28774, Setting("V1"), events))

    assert "F5" not in {mode.code for mode, _ in (*answered(drawn).matches, *answered(drawn).undecided)}
    assert "F18" in {mode.code for mode, _ in answered(drawn).matches}


FOUND_ALARMS_FOUND = {
    "what a savepoint wrote, before a restart that a second one hides": Plan(
        20091,
        Setting(shows_points=True),
        (
            Event(1, "an intermediate savepoint"),
            Event(2, REDEPLOYED),
            Event(3, "a checkpoint"),
            Event(5, "a checkpoint"),
            Event(6, "an expiry of snapshots"),
            Event(7, REDEPLOYED),
        ),
    ),
    "the same, hidden by a JobManager that took over": Plan(
        23375,
        Setting(interval_s=60, shows_points=True),
        (
            Event(0, "an intermediate savepoint"),
            Event(3, REDEPLOYED),
            Event(4, "a quiet time"),
            Event(5, "a standby JobManager takes over"),
        ),
        opens_at=0.8203430948305879,
    ),
    "a failover to the point that a rewind began from, before the first commit": Plan(
        22596,
        Setting("V1", shows_paths=False),
        (Event(7, "table and job rewound together"), Event(8, "a failover")),
        meanwhile=(Event(100, "a checkpoint"),),
    ),
}


@pytest.mark.parametrize("plan", FOUND_ALARMS_FOUND.values(), ids=FOUND_ALARMS_FOUND)
def test_nobody_is_accused(plan: Plan) -> None:
    """Every row lives once."""
    drawn = played(plan)

    assert not truth_of(drawn.history).is_wrong
    assert () == false_alarms(drawn)


FOUND_FORGOTTEN_FOUND = {
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


@pytest.mark.parametrize("plan", FOUND_FORGOTTEN_FOUND.values(), ids=FOUND_FORGOTTEN_FOUND)
def test_no_answer_is_too_safe_any_more_found_forgotten(plan: Plan) -> None:
    """Rows are lost or doubled in each, or will be."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_safe(drawn)


FOUND_MEANWHILE_FOUND = {
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


@pytest.mark.parametrize("plan", FOUND_MEANWHILE_FOUND.values(), ids=FOUND_MEANWHILE_FOUND)
def test_no_answer_is_too_safe_any_more_found_meanwhile(plan: Plan) -> None:
    """Rows are lost or doubled in each, or will be."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_safe(drawn)


FOUND_STARTS_FOUND = {
    "of a run that is over, of which no details are left, and that brought no row": Plan(
        710364,
        Setting(commits_empty_after=3, lists="ended runs without details"),
        (Event(3, EMPTY_UNDER_ITS_ID), Event(5, "a quiet time"), Event(6, "the sink's uid is changed")),
    ),
    "above a drained commit, after a start that turned out well": Plan(
        727712,
        Setting("V1"),
        (Event(0, EMPTY_UNDER_ITS_ID),),
        then=(Event(3, "drained and started"), Event(4, "started without state")),
        meanwhile=(Event(100, "a checkpoint"),),
    ),
    "from a point of the ids that were counted first, under another uid": Plan(
        777512,
        Setting("V1"),
        (
            Event(4, EMPTY_UNDER_ITS_ID),
            Event(6, "a checkpoint"),
            Event(10, "started from an older point with another uid"),
        ),
    ),
    "from below what main has, then once more under another uid": Plan(
        842935,
        Setting("V1", lists="ended runs without details", shows_points=True),
        (
            Event(0, "a checkpoint"),
            Event(2, "a checkpoint"),
            Event(3, "a checkpoint"),
            Event(5, "started from an older point"),
            Event(6, "the sink's uid is changed"),
        ),
    ),
    "between its commits, of which the newest has no row, before a JobManager took over": Plan(
        1022598,
        Setting(),
        (Event(3, EMPTY_UNDER_ITS_ID), Event(8, "a quiet time"), Event(9, "a standby JobManager takes over")),
    ),
    "of a run that brought nothing, and of which Flink does not say that the next one goes on from it": Plan(
        1016839,
        Setting("dynamic", shows_paths=False),
        (Event(1, "started without state"), Event(2, "a quiet time"), Event(3, "started from an older point")),
    ),
}


@pytest.mark.parametrize("plan", FOUND_STARTS_FOUND.values(), ids=FOUND_STARTS_FOUND)
def test_it_is_open(plan: Plan) -> None:
    """Rows are wrong, or will be: something is missing to say that they are right, or nobody says so."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_safe(drawn)


def test_what_is_missing_is_said() -> None:
    """The first rows that come since tell where it began."""
    drawn = played(FOUND_STARTS_FOUND["of a run that is over, of which no details are left, and that brought no row"])

    missing = {mode.code: told.missing for mode, told in answered(drawn).undecided}
    assert missing["healthy"]
