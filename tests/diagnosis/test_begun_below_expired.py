"""A run was restored, and what the job had committed before has expired: only Flink's lists and its rows may tell
whether it began from an older point."""

import pytest

from bot.diagnosis import commits_withheld, recovered_by_itself, restarted_from_empty, restored_from_older_savepoint
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.findings import GapsFinding
from tests.cases import Tale, job_id


def compacts(tale: Tale, rows: int) -> Tale:
    """Main is compacted; the rows lie in one file then."""
    return tale.commits(None, operation="replace", rows=0).counts(
        deleted_records=rows, added_records=rows, total_records=rows, added_data_files=1, deleted_data_files=3
    )


def under_its_id(*commits: int) -> Tale:
    """Run a committed 1 and 2, main was compacted, and a starts again from its checkpoint 1; only the compaction is
    left of what was there before."""
    tale = compacts(Tale().flink_runs("a").remembers("a", 1, 2).commits("a", 1, 2), rows=20)
    tale.expires("a", 1, 2).forgets("a").flink_runs("a").came_from("a", 1, f"s3://state/{job_id('a')}/chk-1")
    return tale.remembers("a", *commits).commits("a", *commits) if commits else tale


def test_a_silent_run_under_its_job_id_is_neither_healthy_nor_without_a_fault() -> None:
    """A JobManager that takes over from the newest checkpoint looks the same: nothing tells before its rows come."""
    case = under_its_id().looked_at()

    for examine in (commits_withheld.examine, recovered_by_itself.examine):
        found = examine(case)
        assert isinstance(found, CannotTell)
        assert any("had committed more than checkpoint 1" in each for each in found.missing)


def test_its_first_rows_settle_it_once_they_were_counted() -> None:
    """No key lives twice, and no position is missing."""
    case = under_its_id(3).looked_at()

    assert isinstance(commits_withheld.examine(case), Excluded)
    assert isinstance(recovered_by_itself.examine(case), Matches)


def test_rows_that_nobody_has_counted_are_asked_for() -> None:
    """By whoever diagnoses."""
    found = commits_withheld.examine(under_its_id(3).looked_at().model_copy(update={"duplicates": None}))

    assert isinstance(found, CannotTell)
    assert ("duplicate_rows",) == found.asks


def test_a_compaction_after_the_restore_hides_no_older_point() -> None:
    """All that main lists is younger than the run, which has done nothing; Flink lists a later checkpoint."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2).commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b")
    tale.came_from("b", 1, f"s3://state/{job_id('a')}/chk-1")
    case = compacts(tale, rows=20).expires("a", 1, 2).looked_at()

    for examine in (restored_from_older_savepoint.examine, recovered_by_itself.examine):
        found = examine(case)
        assert isinstance(found, CannotTell)
        assert any("had committed checkpoint 2" in each for each in found.missing)


@pytest.mark.parametrize(("rows", "expected"), [(30, CannotTell), (20, Excluded)])
def test_only_its_own_commits_are_left(rows: int, expected: type) -> None:
    """Run b read 10 rows again, maybe under other keys; as many rows as positions show that none is there twice, as
    after main and job went back together."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2).commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b")
    tale.came_from("b", 1, f"s3://state/{job_id('a')}/chk-1").completes("b", 3).commits("b", 3)
    tale.counts(total_records=rows).expires("a", 1, 2)
    gaps = GapsFinding(lowest=0, highest=19, positions=20, missing=0, gaps=())

    assert isinstance(restored_from_older_savepoint.examine(tale.looked_at(gaps=gaps)), expected)


def test_a_run_in_between_had_gone_on() -> None:
    """Run c went back to run a's newest checkpoint, though run b had gone on from there since."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2).commits("a", 1, 2).becomes("a", "CANCELED")
    tale.flink_runs("b").came_from("b", 2, f"s3://state/{job_id('a')}/chk-2").completes("b", 3).commits("b", 3)
    tale.becomes("b", "CANCELED").flink_runs("c").came_from("c", 2, f"s3://state/{job_id('a')}/chk-2")
    case = compacts(tale, rows=30).expires("a", 1, 2).expires("b", 3).looked_at()

    found = restored_from_older_savepoint.examine(case)

    assert isinstance(found, CannotTell)
    assert any("whether run bbbbbb had committed checkpoint 3" in each for each in found.missing)


@pytest.mark.parametrize("listed", [(1, 2), ()], ids=["with its checkpoints", "only its end"])
def test_a_start_without_state_that_has_brought_no_rows_is_in_doubt(listed: tuple[int, ...]) -> None:
    """Its empty commit is all that is left, and Flink lists a run before it."""
    tale = Tale().flink_runs("a").remembers("a", *listed).commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b")
    case = tale.completes("b", 10).commits("b", 10, rows=0).expires("a", 1, 2).looked_at()

    for examine in (restarted_from_empty.examine, recovered_by_itself.examine):
        found = examine(case)
        assert isinstance(found, CannotTell)
        assert any("was started without state" in each for each in found.missing)
