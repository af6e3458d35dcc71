"""Restores from too far back: exact rows, last good snapshot, and what is missing to tell."""

from collections.abc import Callable

import pytest

from bot.diagnosis import (
    commits_withheld,
    restored_from_older_savepoint,
)
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.ids import CheckpointId, SnapshotId
from tests.cases import Tale, job_id
from tests.found import twice


def rewound() -> Tale:
    """F2 on the V2 sink: `a` reached 10, `b` was restored from 6 and committed 7 and 8."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6).commits("b", 7, 8)


def test_a_rewind_trusts_the_last_commit_before_the_wrong_run() -> None:
    """Everything that the earlier run committed was right; the rows show both copies, from above the savepoint."""
    tale = rewound()

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Matches)
    assert (tale.at("a", 10), job_id("b")) == (found.last_good, found.wrong_run)
    assert (*(tale.at("a", c) for c in (7, 8, 9, 10)), tale.at("b", 7), tale.at("b", 8)) == found.rows
    assert Remedy.REWIND_TABLE_AND_JOB is found.remedy


def test_a_rewind_is_proven_by_the_ledger_alone_when_flink_is_down() -> None:
    """Falling checkpoint ids between two runs need no second witness."""
    tale = rewound().flink_is_down()

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Matches)
    assert any("fall from 10" in reason for reason in found.reasons)


def test_without_flink_a_silent_run_is_neither_seen_nor_excluded() -> None:
    """Only Flink knows of a V1 run that holds its commits back."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).flink_is_down()

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, CannotTell)
    assert "Flink REST at http://flink:8081: It refused the connection. Start Flink, then ask again." in found.missing


def test_a_rewind_that_a_later_failover_hides_is_still_found() -> None:
    """Flink shows only the newest restore; the chain remembers."""
    tale = rewound().flink_runs("b", restored=8).commits("b", 9)

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Matches)
    assert tale.at("a", 10) == found.last_good


def late_and_forgotten() -> Tale:
    """V1: `b` held 7 to 10 back and committed 12; then it failed over, and its first restore is no longer listed."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6, v1=True).commits("b", 12).flink_runs("b", restored=12, v1=True)


def test_a_forgotten_restore_is_told_by_the_repeated_rows() -> None:
    """When the new run's first commit repeats the old run's keys, it was a replay, listed or not."""
    tale = late_and_forgotten()
    duplicates = twice(40, pairs=[(tale.at("a", 9), tale.at("b", 12))])

    found = restored_from_older_savepoint.examine(tale.case(duplicates=duplicates))

    assert isinstance(found, Matches)
    assert tale.at("a", 10) == found.last_good


def failed_over() -> Tale:
    """V1, as rows flow: `b` was restored from 4, held 5 and 6 back, and committed all with 7; then it failed over."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 7)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=4, v1=True).commits("b", 7, rows=30).commits("b", 8)
    return tale.flink_runs("b", restored=8, v1=True)


def followed() -> Tale:
    """The same, and Flink has forgotten the run: another one has taken over."""
    tale = failed_over().becomes("b", "FINISHED").forgets("b")
    return tale.flink_runs("c", restored=8, of="b", v1=True).commits("c", 9)


def bounds(case: Case, first: SnapshotId, begins: int) -> Case:
    """Each commit holds the ten positions up to ten times its id; this one those from `begins` on."""
    assert case.ledger is not None
    told = [
        row.model_copy(
            update={
                "position_from": begins if row.snapshot_id == first else 10 * (row.checkpoint_id or 0) - 10,
                "position_until": 10 * (row.checkpoint_id or 0) - 1,
            }
        )
        for row in case.ledger.rows
    ]
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": tuple(told)})})


FORGOTTEN = pytest.mark.parametrize("tell", [failed_over, followed])


@FORGOTTEN
@pytest.mark.parametrize("begins", [None, 40])
def test_the_next_id_may_bring_all_that_was_held_back(tell: Callable[[], Tale], begins: int | None) -> None:
    """V1 commits with the first id above the old maximum: there is no gap, and the repeated rows tell it."""
    tale = tell()
    pairs = [(tale.at("a", 5), tale.at("b", 7)), (tale.at("a", 6), tale.at("b", 7))]
    case = tale.case(duplicates=twice(20, pairs=pairs))

    found = restored_from_older_savepoint.examine(case if begins is None else bounds(case, tale.at("b", 7), begins))

    assert isinstance(found, Matches)
    assert (tale.at("a", 6), job_id("b")) == (found.last_good, found.wrong_run)


@FORGOTTEN
def test_an_orderly_hand_over_stays_quiet(tell: Callable[[], Tale]) -> None:
    """Before rows are counted, after, and where the source gave a key twice: its rows lie at other positions."""
    tale = tell()
    pairs = [(tale.at("a", 6), tale.at("b", 7))]
    twice_by_source = bounds(tale.case(duplicates=twice(1, pairs=pairs)), tale.at("b", 7), 60)

    for case in (tale.case(), tale.case(duplicates=twice(0)), twice_by_source):
        assert isinstance(restored_from_older_savepoint.examine(case), Excluded)
    assert isinstance(commits_withheld.examine(tale.case()), Excluded)


def test_a_forgotten_restore_cannot_be_judged_before_rows_are_counted() -> None:
    """A gap above the old maximum may be V1's late commit, or ten quiet checkpoints."""
    tale = late_and_forgotten()

    before = restored_from_older_savepoint.examine(tale.case())
    after = restored_from_older_savepoint.examine(tale.case(duplicates=twice(0)))

    assert isinstance(before, CannotTell)
    assert "duplicate_rows" in before.missing
    assert isinstance(after, Excluded)


def test_the_next_id_needs_no_listed_restore() -> None:
    """A run that begins right above the old maximum is taken for a hand-over, as long as no row is found twice."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=10).commits("b", 11).flink_runs("b", restored=11)

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Excluded)


def test_a_silent_run_that_ended_did_no_harm() -> None:
    """It committed nothing, and will not."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6).becomes("b", "CANCELED")

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Excluded)


def test_a_rewind_below_the_window_is_not_todays_fault() -> None:
    """The window limits the question: what it leaves out was judged before."""
    tale = rewound().commits("b", 9, 10)

    found = restored_from_older_savepoint.examine(tale.case(since=tale.at("b", 8)))

    assert isinstance(found, Excluded)


def test_another_operators_ids_are_not_compared() -> None:
    """Two sinks count on their own; a lower id of the other one is no fall."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).commits("b", 3)
    last = tale.snapshots[-1]
    tale.snapshots[-1] = last.model_copy(update={"summary": last.summary | {"flink.operator-id": "ab" * 16}})

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Excluded)


def test_withheld_commits_name_the_checkpoints_that_never_arrived() -> None:
    """Flink calls them completed; the reason lists those at or below the old maximum, and no others."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).flink_runs("a", restored=4)
    tale.completes("a", 5, 6, 7)

    found = commits_withheld.examine(tale.case())

    assert isinstance(found, Matches)
    assert "Flink completed 5, 6 and 7 in run aaaaaa, and no snapshot carries them for it." in found.reasons
    assert (tale.at("a", 10), job_id("a")) == (found.last_good, found.wrong_run)


def test_withheld_commits_that_came_late_trust_the_commit_before_them() -> None:
    """As run on Flink 1.20.3: 5 to 7 were dropped, 8 to 11 came as one commit of 232 rows."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 11)).flink_runs("a", restored=4, v1=True)
    tale.completes("a", 5, 6, 7).flink_runs("a", restored=7, v1=True).completes("a", 8, 9, 10, 11)
    tale.commits("a", 11, rows=232).commits("a", 12)

    found = commits_withheld.examine(tale.case())

    assert isinstance(found, Matches)
    assert tale.at("a", 10) == found.last_good
    assert any("232 rows at once" in reason for reason in found.reasons)


def test_an_unknown_sink_is_not_taken_for_either() -> None:
    """While Flink lists no operators, a silent new run may be V1 or V2."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6, vertices=False)

    found = commits_withheld.examine(tale.case())

    assert isinstance(found, CannotTell)
    assert "the operators of run bbbbbb" in found.missing[0]


def test_runs_of_other_jobs_are_not_this_jobs_runs() -> None:
    """Flink may answer with more than was asked for."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).flink_runs("b", restored=CheckpointId(1))
    tale.runs["b"] = tale.runs["b"].model_copy(update={"name": "clicks"})

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Excluded)
