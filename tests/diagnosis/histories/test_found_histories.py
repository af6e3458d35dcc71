"""Histories that long hunts have found, in which an answer was wrong once; each reduced to what it takes.

A story is a label and, indented below it, between bars: its seed, the sink where it is not V2, what else differs in
setting or plan, the events with their numbers, and those that came `then` or `meanwhile`.
"""

import re
from ast import literal_eval
from typing import Any

import pytest

from bot.incident.diagnosis import Remedy
from tests.diagnosis.histories.drawn import Event, Plan, played
from tests.diagnosis.histories.held import answered, false_alarms, wrongly_acquitted, wrongly_clean, wrongly_safe
from tests.diagnosis.histories.history import Setting
from tests.diagnosis.histories.truth import truth_of


def plans(stories: str) -> dict[str, Plan]:
    """Each story by its label."""
    told = re.split(r"\n(?! )", stories.strip())
    lines = (each.split("\n", 1) for each in told)
    return {label: _plan(*" ".join(story.split()).split(" | ")) for label, story in lines}


def _plan(seed: str, *parts: str) -> Plan:
    setting: dict[str, Any] = {}
    plan: dict[str, Any] = {"events": ()}
    for part in parts:
        key, is_given, value = part.partition("=")
        first, _, later = part.partition(" ")
        if is_given:
            (setting if key in Setting._fields else plan)[key] = value if key == "lists" else literal_eval(value)
        elif part in {"V1", "dynamic"}:
            setting["sink"] = part
        elif first in {"then", "meanwhile"}:
            plan[first] = _events(later)
        else:
            plan["events"] = _events(part)
    return Plan(int(seed), Setting(**setting), **plan)


def _events(told: str) -> tuple[Event, ...]:
    parted = (each.split(" ", 1) for each in told.split("; "))
    return tuple(Event(int(number), name) for number, name in parted)


FOUND = plans("""
evidence is older than an upgrade that hides where its run had begun
    265 | lists=the living run | 0 a checkpoint; 3 started from an older point under its job id | then 5 an upgrade
    with a savepoint
evidence is older than a restart, and commits came after both
    53555 | V1 | 3 started without state under its job id; 4 a quiet time | then 5 redeployed under its job id; 6 a
    checkpoint
evidence is older than a start without state by another uid
    53392 | lists=the living run | 2 started from an older point with another uid | then 11 started without state under
    its job id; 12 a checkpoint
evidence is older than what a restore has committed
    18899 | V1 | 1 a checkpoint; 4 started from an older point under its job id; 6 a checkpoint whose commit is late |
    then 7 redeployed under its job id
a savepoint and a checkpoint of one id
    1785 | 0 an intermediate savepoint; 3 redeployed under its job id; 6 a checkpoint; 7 started from an older point
the same of a run that Flink has forgotten
    1785 | lists=the living run | 0 an intermediate savepoint; 3 redeployed under its job id; 6 a checkpoint; 7 started
    from an older point
a checkpoint that was triggered after the commit of its id
    11591 | 0 started without state under its job id; 2 an upgrade with a savepoint; 4 an upgrade with a savepoint; 5
    an upgrade with a savepoint; 6 table and job rewound together; 7 table and job rewound together
a run that was started anew without state, and has committed nothing since
    70311 | dynamic | 0 started without state under its job id; 3 a quiet time; 6 started from an older point
a Flink manifest of the restored id is left
    13459 | V1 | lists=the living run | 0 a checkpoint; 4 started from an older point under its job id; 6 a checkpoint;
    8 table and job rewound together
a lost commit began below the target
    17160 | V1 | lists=the living run | 1 started from an older point under its job id; 2 a checkpoint; 3 a checkpoint;
    4 table and job rewound together
lost commits whose ids do not rise
    48164 | V1 | 1 started without state under its job id; 4 a checkpoint whose commit is late; 5 a checkpoint; 7 table
    and job rewound together
restored a moment before main was set back
    33228 | V1 | 0 a checkpoint; 1 a checkpoint whose commit is late; 2 a checkpoint; 3 a compaction; 4 started from an
    older point; 5 rolled back while the job runs
the same from a run without a commit
    20849 | V1 | 0 started from an older point; 1 a checkpoint; 2 an upgrade with a savepoint; 4 started from another
    run's point; 6 rolled back while the job runs
a run that fills a hole, and then brings again what lies above
    24209 | V1 | 1 started without state; 2 a checkpoint; 3 started from another run's point; 6 a checkpoint
a window that begins where the source ended
    24318 | dynamic | keeps_keys=False | opens_where_suspicious=True | 6 an expiry of snapshots; 7 started without
    state; 9 a checkpoint
empty commits hide that a run began with nothing
    36213 | 0 started without state; 1 a quiet time; 2 a standby JobManager takes over
the same of a run that another has taken over
    38567 | V1 | commits_empty_after=3 | lists=the living run | 0 started without state; 4 a quiet time; 5 started from
    an older point
a later run began elsewhere than one that harmed nothing
    43251 | V1 | lists=ended runs without details | shows_paths=False | 0 started without state; 1 an intermediate
    savepoint; 2 a quiet time; 3 started from another run's point
copies of rows whose commits have expired, beside a guest
    55872 | V1 | keeps_keys=False | 1 started without state under its job id; 2 another job commits; 3 a checkpoint; 4
    an expiry of snapshots
a run that stands below rows whose commits have expired
    58941 | keeps_keys=False | 0 a checkpoint; 3 an upgrade with a savepoint; 6 started from another run's point; 8 a
    checkpoint; 9 an expiry of snapshots
rows were missing among commits that expired before the next look
    772120 | dynamic | partitions=2 | 6 started without state; 7 a checkpoint | then 11 an expiry of snapshots |
    meanwhile 100 a checkpoint
rows that begin a source partition lie in a manifest of a run that is over
    771363 | dynamic | lists=the living run | partitions=2 | 0 started without state under its job id; 3 a checkpoint; 5
    a checkpoint; 6 drained and started | then 7 a checkpoint
""")
FOUND_FORGOTTEN_FOUND = plans("""
a forgotten run counted up to the restored id twice
    96754 | V1 | lists=the living run | 1 started without state under its job id; 2 a checkpoint whose commit is late;
    3 a checkpoint whose commit is late; 4 a checkpoint; 7 table and job rewound together
the same in silence
    113667 | V1 | lists=the living run | 0 started without state under its job id; 1 a quiet time; 7 rolled back while
    the job runs | then 11 table and job rewound together
the restored id was another run's, which had no commit of it
    97058 | V1 | commits_empty_after=3 | lists=ended runs without details | shows_paths=False | 0 a quiet time; 1 table
    and job rewound together; 2 a checkpoint; 3 started from another run's point
a run without rows goes on from one below rows whose commits have expired
    106860 | V1 | keeps_keys=False | lists=ended runs without details | 0 the job runs twice; 2 started from an older
    point with another uid; 3 a quiet time; 4 cancelled and started again; 5 an expiry of snapshots
a forgotten run counted up to the restored id and committed nothing more
    137266 | dynamic | lists=the living run | 1 started without state under its job id; 3 a quiet time; 5 table and job
    rewound together
a run is restarted from an id above main's that a forgotten start counted
    138453 | dynamic | 0 started without state under its job id; 2 a quiet time; 3 started from an older point under
    its job id
what the old uid's sink owed waits, and the job was restarted since
    131575 | V1 | 1 the sink's uid is changed; 5 a quiet time | then 7 cancelled and started again
what a run without commits owed waits for its sink
    135603 | V1 | lists=ended runs without details | 3 a checkpoint; 4 started from an older point with another uid; 5
    a failed checkpoint; 6 a standby JobManager takes over; 7 the sink's uid is changed
a start without state over the job's expired commits, below another job that goes on
    126131 | V1 | lists_guest=True | 6 another job commits; 7 an expiry of snapshots | then 9 started without state
a run that is to catch up began below a drained commit
    132383 | V1 | opens_where_suspicious=True | 0 a commit is made twice; 1 Spark takes copies out; 3 drained and
    started; 5 the sink's uid is changed; 6 a checkpoint; 8 Flink forgets runs that ended; 9 rolled back while the job
    runs; 10 main is set to a commit beside it | then 11 started from another run's point
a standby JobManager goes on from an id that a forgotten start counted again
    301610 | 2 started without state under its job id; 7 a quiet time; 9 a standby JobManager takes over
a start without state goes back to its own checkpoint, and main to one of the run before
    333450 | V1 | 1 started without state; 4 a checkpoint whose commit is late; 5 a checkpoint; 6 started from an older
    point under its job id; 7 rolled back while the job runs | then 10 a checkpoint
what was lost is picked again beside the run that brings it again
    331007 | V1 | 2 an upgrade with a savepoint; 5 rolled back while the job runs; 7 table and job rewound together |
    meanwhile 100 a checkpoint; 101 lost commits are picked again; 102 a checkpoint
an older run's checkpoint, whose id main's newest run had not reached, and no path
    34798 | shows_paths=False | 2 a quiet time; 4 table and job rewound together; 7 a checkpoint; 8 started from
    another run's point
a standby JobManager goes on from below rows whose run had stood above them
    403715 | keeps_keys=False | 0 a checkpoint; 1 a checkpoint; 3 an expiry of snapshots; 4 started from an older point
    under its job id; 5 a checkpoint; 6 a standby JobManager takes over
""")
FOUND_MEANWHILE_FOUND = plans("""
a second submission commits under the new uid
    10461 | dynamic | 0 the sink's uid is changed; 1 the job runs twice
two runs have the restored id, and no path tells which is meant
    13935 | V1 | shows_paths=False | 0 a checkpoint; 2 drained and started; 3 rolled back while the job runs; 5 table
    and job rewound together; 6 a quiet time; 8 the sink's uid is changed | then 9 started from another run's point
a drain left a savepoint whose id nothing tells
    69228 | V1 | lists=the living run | shows_paths=False | 0 started without state under its job id; 2 drained and
    started; 3 rolled back while the job runs
a run that began empty is restarted from its own checkpoint
    12264 | V1 | 3 started without state | meanwhile 100 a quiet time; 101 redeployed under its job id; 102 a
    checkpoint
the ledger is older than the first rows of a run
    18490 | V1 | keeps_keys=False | 6 an expiry of snapshots | then 11 started without state; 12 a checkpoint
an older point and another uid, above a drained commit
    36295 | V1 | lists=ended runs without details | 1 drained and started; 4 started from another run's point; 7 the
    sink's uid is changed
a start without state over rows of a run that Flink has forgotten, by another uid
    52994 | dynamic | 5 the sink's uid is changed; 6 started without state | then 10 Flink forgets runs that ended |
    meanwhile 100 a checkpoint
the same above a rollback, beside a second submission
    62576 | lists=the living run | 0 the job runs twice; 1 a checkpoint; 2 started from an older point with another
    uid; 3 rolled back while the job runs; 5 started without state under its job id | then 7 a checkpoint
what a restore committed came after rows were counted
    87004 | V1 | keeps_keys=False | 4 a checkpoint whose commit is late; 5 started without state under its job id |
    then 6 started from an older point | meanwhile 100 a checkpoint
rows were counted before the run had passed where main had come
    104787 | V1 | keeps_keys=False | 1 a checkpoint; 2 an expiry of snapshots | meanwhile 100 started from an older
    point with another uid; 101 a checkpoint; 102 a checkpoint
a compaction holds rows that the run has still before it
    89759 | V1 | keeps_keys=False | 0 a checkpoint; 1 a checkpoint; 3 a checkpoint; 5 started from an older point; 7 a
    checkpoint; 8 a standby JobManager takes over; 9 an expiry of snapshots; 10 a compaction
a manifest of the restored id came after the look at manifests
    22657 | dynamic | interval_s=60 | 0 redeployed under its job id | then 5 a standby JobManager takes over |
    meanwhile 100 started from an older point under its job id; 101 a checkpoint
""")
FOUND_STARTS_FOUND = plans("""
of a run that is over, of which no details are left, and that brought no row
    710364 | commits_empty_after=3 | lists=ended runs without details | 3 started without state under its job id; 5 a
    quiet time; 6 the sink's uid is changed
above a drained commit, after a start that turned out well
    727712 | V1 | 0 started without state under its job id | then 3 drained and started; 4 started without state |
    meanwhile 100 a checkpoint
from a point of the ids that were counted first, under another uid
    777512 | V1 | 4 started without state under its job id; 6 a checkpoint; 10 started from an older point with another
    uid
from below what main has, then once more under another uid
    842935 | V1 | lists=ended runs without details | shows_points=True | 0 a checkpoint; 2 a checkpoint; 3 a
    checkpoint; 5 started from an older point; 6 the sink's uid is changed
between its commits, of which the newest has no row, before a JobManager took over
    1022598 | 3 started without state under its job id; 8 a quiet time; 9 a standby JobManager takes over
of a run that brought nothing, and of which Flink does not say that the next one goes on from it
    1016839 | dynamic | shows_paths=False | 1 started without state; 2 a quiet time; 3 started from an older point
without state above rows that have expired, of source partitions that are silent since
    6187 | V1 | partitions=3 | 0 started without state; 1 a checkpoint; 3 an upgrade with a savepoint; 5 an expiry of
    snapshots
without state above rows that have expired, in a table without positions
    5998 | V1 | keeps_keys=False | has_positions=False | 1 a checkpoint; 3 started from an older point; 4 started
    without state under its job id; 7 a checkpoint; 9 a failover | then 10 an expiry of snapshots | meanwhile 100 a
    checkpoint
of the other half of a job, whose rows main lost since this one was restored
    2273 | dynamic | interval_s=60 | shows_paths=False | partitions=2 | 200 the job is split in two; 4 a checkpoint
    whose commit is late; 5 rolled back while the job runs; 6 Flink forgets runs that ended
of the other half of a job, from a state whose run Flink does not list any more
    200666 | interval_s=60 | lists=the living run | partitions=2 | 202 the job is split in two; 200 the topic deletes
    records that nobody has read | then 10 an upgrade with a savepoint
""")
WRONG = (FOUND, FOUND_FORGOTTEN_FOUND, FOUND_MEANWHILE_FOUND, FOUND_STARTS_FOUND)


@pytest.mark.parametrize("plan", [pytest.param(plan, id=label) for found in WRONG for label, plan in found.items()])
def test_no_answer_is_too_safe_any_more(plan: Plan) -> None:
    """Rows are lost or doubled in each, or will be."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_safe(drawn)


ACQUITTED = """
F2: the job is down, its older commits have expired, and keys could not be counted
    772103 | V1 | job_fails_for_good=True | fails=('duplicate_rows', 'corrected_rows') | 0 started from an older point
    under its job id; 1 another job commits; 2 a checkpoint; 4 a checkpoint; 5 an expiry of snapshots
F3: copies by its own run, whose newest start had no state
    58 | job_fails_for_good=True | 0 started from an older point under its job id; 3 a checkpoint; 4 started without
    state under its job id
F2: copies of rows whose commit has expired
    11470 | lists=the living run | 0 started from an older point; 3 a checkpoint; 4 a checkpoint; 6 an expiry of
    snapshots; 9 cancelled and started again
F3: copies under other keys by its own run
    1966 | V1 | keeps_keys=False | job_fails_for_good=True | 6 started from an older point under its job id; 7 a
    checkpoint; 8 redeployed under its job id
F2: copies under other keys by a run that Flink does not list
    2179 | V1 | keeps_keys=False | lists=the living run | job_fails_for_good=True | 1 started from an older point; 2 an
    upgrade with a savepoint
F2: copies of rows that Spark wrote anew
    8970 | dynamic | lists=the living run | 3 started from an older point under its job id; 5 Spark overwrites rows; 7
    a checkpoint; 9 table and job rewound together
F18: more positions missing than an overwrite took
    12999 | lists=ended runs without details | job_fails_for_good=True | 0 started without state under its job id; 1 a
    checkpoint; 2 a checkpoint; 5 Spark overwrites rows; 7 a checkpoint
F3: rows left out beside a rollback of a guest's commits
    14130 | lists_guest=True | job_fails_for_good=True | 1 started from an older point under its job id; 3 an
    intermediate savepoint; 4 a checkpoint; 5 a checkpoint; 7 another job commits; 8 a failover; 9 rolled back while
    the job runs
F6: a rollback above which only a cherry-pick went on
    5637 | V1 | job_fails_for_good=True | 2 a checkpoint; 3 a checkpoint; 4 started from an older point; 6 rolled back
    while the job runs; 8 lost commits are picked again
F12: another uid, and what the old sink owed waits for a restore
    2421 | V1 | meanwhile 101 the sink's uid is changed
F12: another uid above a drained commit
    131 | V1 | lists=ended runs without details | 7 drained and started; 10 the sink's uid is changed
healthy: a start without state above a drained commit
    1643 | V1 | 3 drained and started | meanwhile 100 started without state under its job id
F2: two points of one id, beside a guest, without paths
    2875 | V1 | shows_paths=False | 1 another job commits; 4 started from an older point under its job id; 5 a
    checkpoint whose commit is late; 8 redeployed under its job id
F12: the sink of a silent run has another uid, and the point that owed rows is on storage
    23759 | shows_points=True | 1 the sink's uid is changed
F12: the same with the V1 sink, whose id Flink shows
    23008 | V1 | shows_points=True | 2 the sink's uid is changed
F12: a run that never had a commit left rows behind under its own uid
    50847 | shows_points=True | 1 the sink's uid is changed; 2 the sink's uid is changed | then 7 drained and started
F13: two writers take turns under new keys since commits were held against each other
    37454 | V1 | keeps_keys=False | 6 the job runs twice | meanwhile 100 a checkpoint
healthy: rows that a sink passed over came again, and a later manifest waits
    35693 | V1 | shows_points=True | 1 a checkpoint; 2 a checkpoint; 4 a checkpoint; 5 started from an older point
    under its job id; 7 a checkpoint; 9 redeployed under its job id; 10 a checkpoint | then 11 a standby JobManager
    takes over; 12 an upgrade with a savepoint
F18: positions that were skipped beside a rollback of copies
    47662 | V1 | lists=the living run | job_fails_for_good=True | 1 started without state under its job id; 2 drained
    and started; 7 a commit is made twice; 8 rolled back while the job runs
"""


@pytest.mark.parametrize(("label", "plan"), plans(ACQUITTED).items(), ids=plans(ACQUITTED))
def test_the_mode_that_may_hold_is_open(label: str, plan: Plan) -> None:
    """The one before the colon says what is missing; nobody is told of wrong rows with nothing left to ask."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_acquitted(drawn)
    assert label.split(":")[0] in {mode.code for mode, _ in (*answered(drawn).undecided, *answered(drawn).matches)}


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


FOUND_ALARMS_FOUND = plans("""
what a savepoint wrote, before a restart that a second one hides
    20091 | shows_points=True | 1 an intermediate savepoint; 2 redeployed under its job id; 3 a checkpoint; 5 a
    checkpoint; 6 an expiry of snapshots; 7 redeployed under its job id
the same, hidden by a JobManager that took over
    23375 | interval_s=60 | shows_points=True | opens_at=0.8203430948305879 | 0 an intermediate savepoint; 3 redeployed
    under its job id; 4 a quiet time; 5 a standby JobManager takes over
a failover to the point that a rewind began from, before the first commit
    22596 | V1 | shows_paths=False | 7 table and job rewound together; 8 a failover | meanwhile 100 a checkpoint
a failover after which only commits of another job are listed
    772323 | 7 another job commits; 8 a failover; 9 an expiry of snapshots
a compaction of a table that is written by key, whose parent has expired
    200356 | keys=3 | 5 a compaction; 6 an expiry of snapshots | then 8 a checkpoint
""")


@pytest.mark.parametrize("plan", FOUND_ALARMS_FOUND.values(), ids=FOUND_ALARMS_FOUND)
def test_nobody_is_accused(plan: Plan) -> None:
    """Every row lives once."""
    drawn = played(plan)

    assert not truth_of(drawn.history).is_wrong
    assert () == false_alarms(drawn)


def test_what_is_missing_is_said() -> None:
    """The first rows that come since tell where it began."""
    drawn = played(FOUND_STARTS_FOUND["of a run that is over, of which no details are left, and that brought no row"])

    missing = {mode.code: told.missing for mode, told in answered(drawn).undecided}
    assert missing["healthy"]


CALLED_CLEAN = plans("""
a run withholds its rows, and the next one has brought others since
    771846 | partitions=3 | keys=3 | 2 started from an older point under its job id; 3 an upgrade with a savepoint; 7 a
    checkpoint
the first records of a source partition were deleted unread
    4259 | dynamic | partitions=3 | 200 the topic deletes records that nobody has read; 6 a checkpoint
the same, before the job was split
    5643 | V1 | partitions=2 | 200 the topic deletes records that nobody has read; 202 the job is split in two
""")


@pytest.mark.parametrize("plan", CALLED_CLEAN.values(), ids=CALLED_CLEAN)
def test_no_snapshot_is_called_clean_that_is_not(plan: Plan) -> None:
    """Of a match that names the newest one before its fault."""
    assert () == wrongly_clean(played(plan))
