"""Copies that nothing listed explains leave open who brought them; those that something explains leave nothing open."""

import pytest

from bot.diagnosis import commits_withheld, restored_from_older_savepoint
from bot.domain.diagnosis import CannotTell, Case, Excluded
from bot.domain.findings import RepeatedCommit
from bot.domain.ids import OperatorId, SnapshotId
from tests.cases import Tale
from tests.found import repeats, twice


def copies(tale: Tale, first: SnapshotId, again: SnapshotId, **found: object) -> Case:
    """Two keys of the first commit live again in the other."""
    return tale.looked_at(**found).model_copy(update={"duplicates": twice(2, [(first, again)])})


def taken_over() -> Tale:
    """Run b goes on from its own checkpoint 3 under another JobManager, and Flink lists no other run."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).flink_runs("b", restored=1).commits("b", 2, 3)
    return tale.forgets("a").forgets("b").flink_runs("b", restored=3)


def test_copies_of_an_expired_commit_leave_open_who_brought_them() -> None:
    """Flink shows the newest start of the run only, and the earlier run's commits have expired."""
    tale = taken_over()
    again = tale.at("b", 2)
    case = copies(tale.expires("a", 1, 2), SnapshotId(1), again)

    found = restored_from_older_savepoint.examine(case)

    assert isinstance(found, CannotTell)
    assert "from which point run bbbbbb began" in found.missing[0]
    assert isinstance(commits_withheld.examine(case), Excluded)


def test_where_the_later_copy_has_expired_too_nobody_is_acquitted() -> None:
    """Neither commit is listed."""
    found = restored_from_older_savepoint.examine(copies(taken_over().expires("a", 1, 2), SnapshotId(1), SnapshotId(2)))

    assert isinstance(found, CannotTell)
    assert "which run made" in found.missing[0]


def test_copies_of_its_own_before_the_start_that_flink_shows() -> None:
    """That this start restored nothing says nothing of the one before it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).forgets("a").flink_runs("a")
    tale.becomes("a", "FAILED")

    found = commits_withheld.examine(copies(tale, tale.at("a", 2), tale.at("a", 3)))

    assert isinstance(found, CannotTell)


def test_a_run_that_is_shown_from_before_both_went_nowhere() -> None:
    """Its source gave the rows twice."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    assert isinstance(commits_withheld.examine(copies(tale, tale.at("a", 2), tale.at("a", 3))), Excluded)


@pytest.mark.parametrize("how", ["by one commit", "by another writer", "made twice"])
def test_copies_that_are_another_modes_fault(how: str) -> None:
    """F16, F21 and F1 tell of them."""
    tale = taken_over().commits(None).expires("a", 1, 2)
    first, again, spark = SnapshotId(1), tale.at("b", 2), tale.snapshots[-1].snapshot_id
    made = RepeatedCommit(
        first=tale.at("b", 3), again=again, how="same-checkpoint", job_id=None, checkpoint_id=None, rows=2
    )
    told = {
        "by one commit": copies(tale, again, again),
        "by another writer": copies(tale, first, spark),
        "made twice": copies(tale, first, again, duplicate_commits=repeats(made)),
    }

    assert isinstance(restored_from_older_savepoint.examine(copies(tale, first, again)), CannotTell)
    assert isinstance(restored_from_older_savepoint.examine(told[how]), Excluded)
    assert isinstance(commits_withheld.examine(told[how]), Excluded)


def test_copies_that_a_guest_brought_are_none_of_the_jobs() -> None:
    """Flink lists its run under another name."""
    tale = taken_over().flink_runs("z").commits("z", 1).by_sink(OperatorId("ee" * 16)).expires("a", 1, 2)
    tale.runs["z"] = tale.runs["z"].model_copy(update={"name": "backfill"})

    assert isinstance(restored_from_older_savepoint.examine(copies(tale, SnapshotId(1), tale.at("z", 1))), Excluded)


def test_copies_below_the_window_are_not_looked_into() -> None:
    """They were there before the last commit that was good."""
    tale = taken_over().expires("a", 1, 2)

    case = copies(tale, SnapshotId(1), tale.at("b", 2), since=tale.at("b", 2))

    assert isinstance(restored_from_older_savepoint.examine(case), Excluded)


@pytest.mark.parametrize("was_restored", [False, True])
def test_a_source_range_that_came_again_under_other_keys(was_restored: bool) -> None:
    """What the run was restored from before is not shown; one that never was restored went nowhere."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale = tale.flink_runs("a", restored=3) if was_restored else tale
    ends = (tale.at("a", 2), tale.at("a", 3))
    made = RepeatedCommit(first=ends[0], again=ends[1], how="same-source-range", job_id=None, checkpoint_id=3, rows=2)

    found = commits_withheld.examine(tale.looked_at(duplicate_commits=repeats(made)))

    assert isinstance(found, CannotTell if was_restored else Excluded)
    if isinstance(found, CannotTell):
        assert ("replayed_rows",) == found.asks
