"""The job was started anew, and what it had committed before has expired: main shows nothing of that any more."""

import pytest

from bot.diagnosis import recovered_by_itself, restarted_from_empty, restored_from_older_savepoint
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.flink import CheckpointKind
from tests.cases import Tale, job_id


def compacted(*reached: int) -> Tale:
    """Run a has committed these; main is compacted, and all but the compaction expires; then a is canceled."""
    tale = Tale().flink_runs("a").remembers("a", *reached).commits("a", *reached)
    rows = 10 * len(reached)
    tale.commits(None, operation="replace", rows=0).counts(
        deleted_records=rows, added_records=rows, total_records=rows, added_data_files=1, deleted_data_files=3
    )
    return tale.expires("a", *reached).becomes("a", "CANCELED")


def anew(*commits: int) -> Tale:
    """Run b is started without state over what run a had committed up to 3."""
    tale = compacted(1, 2, 3).flink_runs("b")
    for checkpoint in commits:
        tale.completes("b", checkpoint).commits("b", checkpoint)
    return tale


@pytest.mark.parametrize("commits", [(), (1, 2)], ids=["silent", "with commits"])
def test_a_start_without_state_over_expired_commits_is_not_ruled_out(commits: tuple[int, ...]) -> None:
    """Flink lists a run of the job that had completed checkpoints; it was healthy, and complete."""
    case = anew(*commits).looked_at()

    for examine in (restarted_from_empty.examine, recovered_by_itself.examine):
        found = examine(case)
        assert isinstance(found, CannotTell)
        assert "Flink lists checkpoints that run aaaaaa completed before" in found.missing[-1]


def test_without_an_earlier_run_rows_that_were_counted_settle_it() -> None:
    """So a first deployment over a table that others had filled, and compacted, gets healthy."""
    young, old = anew().forgets("a").looked_at(), anew(1).forgets("a").looked_at()

    assert [CannotTell, Excluded] == [type(restarted_from_empty.examine(case)) for case in (young, old)]
    assert [CannotTell, Matches] == [type(recovered_by_itself.examine(case)) for case in (young, old)]


def test_rows_that_live_twice_do_not_settle_it() -> None:
    """The earlier run was forgotten by Flink too, and the source began at its first row."""
    case = anew(1).forgets("a").looked_at(duplicates=10)

    found = restarted_from_empty.examine(case)

    assert isinstance(found, CannotTell)
    assert "is there once" in found.missing[-1]


def test_rows_that_nobody_has_counted_since_are_asked_for() -> None:
    """By whoever diagnoses."""
    case = anew(1).forgets("a").looked_at()

    found = restarted_from_empty.examine(case.model_copy(update={"duplicates": None}))

    assert isinstance(found, CannotTell)
    assert ("duplicate_rows",) == found.asks


def test_a_run_that_began_before_all_that_is_listed_is_none() -> None:
    """Its own older commits have expired, night by night."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2, 3).commits("a", 1, 2, 3).expires("a", 1, 2)

    assert isinstance(restarted_from_empty.examine(tale.looked_at()), Excluded)
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


@pytest.mark.parametrize(("duplicates", "expected"), [(10, CannotTell), (0, Excluded)])
def test_a_start_below_all_that_is_listed_may_explain_wrong_rows(duplicates: int, expected: type) -> None:
    """Only commits of the run without state are left; what it brought twice is still there."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2).commits("a", 1, 2).becomes("a", "CANCELED")
    tale.flink_runs("b").completes("b", 1, 2).commits("b", 1, 2).expires("a", 1, 2).expires("b", 1)

    assert isinstance(restarted_from_empty.examine(tale.looked_at(duplicates=duplicates)), expected)


def test_a_table_of_which_nothing_has_expired_tells_all() -> None:
    """An earlier run had completed checkpoints, and brought nothing."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2).becomes("a", "CANCELED").flink_runs("b")
    tale.completes("b", 1).commits("b", 1)

    assert isinstance(restarted_from_empty.examine(tale.looked_at()), Excluded)


def restored(number: int, path: str | None) -> Case:
    """Run b was restored from this point of run a, which had completed 4 checkpoints."""
    tale = compacted(1, 2, 3, 4).flink_runs("b").came_from("b", number, "")
    run = tale.runs["b"]
    assert run.restored is not None
    tale.runs["b"] = run.model_copy(update={"restored": run.restored.model_copy(update={"path": path})})
    return tale.looked_at()


@pytest.mark.parametrize("path", [f"s3://state/{job_id('a')}/chk-2", None])
def test_an_older_point_shows_by_the_checkpoints_that_flink_lists(path: str | None) -> None:
    """Main has lost the commits of 3 and 4 to expiry."""
    case = restored(2, path)

    for examine in (restored_from_older_savepoint.examine, recovered_by_itself.examine):
        found = examine(case)
        assert isinstance(found, CannotTell)
        assert any("had committed checkpoint 4" in each for each in found.missing)


def test_the_newest_point_is_right_whatever_has_expired() -> None:
    """Nothing that Flink lists is newer; only a rollback before the compaction may have taken rows."""
    case = restored(4, f"s3://state/{job_id('a')}/chk-4")

    found = recovered_by_itself.examine(case)

    assert isinstance(restored_from_older_savepoint.examine(case), Excluded)
    assert isinstance(found, CannotTell)
    assert ["whether main lost commits before"] == [each[:32] for each in found.missing]


def test_a_later_savepoint_is_no_commit() -> None:
    """An intermediate one commits nothing by itself."""
    case = restored(3, f"s3://state/{job_id('a')}/chk-3")
    jobs = case.observation.jobs.values
    a = next(run for run in jobs if run.job_id == job_id("a"))
    told = (a.checkpoints[0].model_copy(update={"kind": CheckpointKind.SAVEPOINT}), *a.checkpoints[1:])
    a = a.model_copy(update={"checkpoints": told})
    seen = case.observation.jobs.model_copy(update={"values": (*(r for r in jobs if r.job_id != a.job_id), a)})
    case = case.model_copy(update={"observation": case.observation.model_copy(update={"jobs": seen})})

    assert isinstance(restored_from_older_savepoint.examine(case), Excluded)
