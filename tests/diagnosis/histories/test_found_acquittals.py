"""Histories that long hunts have found, in which rows are wrong and once every mode by which that comes was excluded;
and one without a fault in which a mode accused. Each is reduced to what it takes."""

import pytest

from tests.diagnosis.histories.drawn import Event, Plan, played
from tests.diagnosis.histories.held import answered, false_alarms, wrongly_acquitted
from tests.diagnosis.histories.history import Setting
from tests.diagnosis.histories.truth import truth_of

OLDER = "started from an older point"
OLDER_UNDER_ITS_ID = "started from an older point under its job id"
EMPTY_UNDER_ITS_ID = "started without state under its job id"
REDEPLOYED = "redeployed under its job id"
OVERWRITES = "Spark overwrites rows"
EXPIRES = "an expiry of snapshots"
FOUND = {
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


@pytest.mark.parametrize(("code", "plan"), FOUND.values(), ids=FOUND)
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
