"""F1: one checkpoint or the same files twice; at the head, buried, and what only looks like it."""

import pytest

from bot.diagnosis import checkpoint_committed_twice as mode
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.findings import RepeatedCommit
from bot.domain.ids import CheckpointId, SnapshotId
from tests.cases import Tale, job_id
from tests.found import files_twice, point, points, repeats


def lost_answer() -> Tale:
    """Checkpoint 3 was committed, the answer was lost, and it was committed again."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 3)


def of(tale: Tale, how: str = "same-checkpoint", *, is_cherry_pick: bool = False) -> RepeatedCommit:
    """The two commits of checkpoint 3."""
    first, again = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 3)
    return RepeatedCommit.model_validate(
        {
            "first": first,
            "again": again,
            "how": how,
            "job_id": job_id("a"),
            "checkpoint_id": CheckpointId(3),
            "rows": 10,
            "is_cherry_pick": is_cherry_pick,
        }
    )


def test_a_repeat_at_the_head_is_dropped_alone() -> None:
    """The first copy carries the same checkpoint id, so table and job still pair below the second."""
    tale = lost_answer()
    first = SnapshotId(tale.snapshots[2].snapshot_id)

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale))))

    assert isinstance(found, Matches)
    assert (Remedy.DROP_DUPLICATED_COMMIT, first) == (found.remedy, found.last_good)
    assert (first, tale.head) == found.rows
    assert tale.head == found.newest_wrong
    assert any("still pair" in reason for reason in found.reasons)


def test_checkpoint_ids_that_begin_anew_after_an_empty_start_are_a_replay() -> None:
    """As run with the V1 sink under a fixed job id: 1 comes again with the same positions, in other files (F15)."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).commits("a", 1, 2, 3)

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale)), duplicate_files=files_twice()))
    same_files = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale, "same-files"))))

    assert isinstance(found, Excluded)
    assert "(F15)" in found.reason
    assert isinstance(same_files, Matches)


def test_ids_that_begin_anew_are_no_part_of_a_repeat_beside_them() -> None:
    """What a repair takes out of is named: the commit that was made twice, and not the replay (F15)."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).commits("a", 1, 2, 3, 4, 4)
    first, again = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 4)
    made_twice = of(tale).model_copy(update={"first": first, "again": again, "how": "same-files"})

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale), made_twice)))

    assert isinstance(found, Matches)
    assert (again,) == found.repeating


def test_a_buried_repeat_is_dropped_alone_as_well() -> None:
    """Only its own files go; the commits above it stay, and nothing is read again."""
    tale = lost_answer().commits("a", 4, 5)

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale))))

    assert isinstance(found, Matches)
    assert Remedy.DROP_DUPLICATED_COMMIT is found.remedy
    assert any("2 commits by Flink above it left as they are" in reason for reason in found.reasons)


@pytest.mark.parametrize(("pairs_at", "remedy"), [(2, Remedy.REWIND_TABLE_AND_JOB), (5, Remedy.DEDUPLICATE_ROWS)])
def test_a_repeat_below_a_compaction_is_rewound_or_deduplicated(pairs_at: int, remedy: Remedy) -> None:
    """Its rows lie in other files by then: a point that pairs below the repeat takes them back, one above keeps it."""
    tale = lost_answer().commits("a", 4, 5).commits(None, 6, operation="replace")
    pairing = points(point(job_id("a"), pairs_at, tale.at("a", pairs_at)))

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale)), pairing=pairing))

    assert isinstance(found, Matches)
    assert remedy is found.remedy


def test_files_that_are_live_twice_are_enough() -> None:
    """Also where the checkpoint ids differ: nothing writes one path twice but a repeated commit."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = mode.examine(tale.looked_at(duplicate_files=files_twice(10, tale.at("a", 2), tale.at("a", 3))))

    assert isinstance(found, Matches)
    assert (tale.at("a", 2), tale.at("a", 3)) == found.rows
    assert tale.at("a", 2) == found.last_good


def test_of_a_commit_with_rows_of_its_own_only_the_repeated_ones_are_too_many() -> None:
    """It names files that the table had already, and one that is new."""
    tale = lost_answer()
    told = of(tale, "same-files").model_copy(update={"rows": 20, "too_many": 10})

    found = mode.examine(
        tale.looked_at(duplicate_commits=repeats(told), duplicate_files=files_twice(10, told.first, told.again))
    )

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.DROP_DUPLICATED_COMMIT
    assert found.headline.endswith("10 rows too many.")
    assert found.reasons[0].endswith("20 rows, 10 of them its own.")


def test_commits_that_only_their_files_show_are_counted_beside_the_others() -> None:
    """One names a file of its own twice: no other commit has it, and it is too many all the same."""
    tale = lost_answer().commits("a", 4)
    told = of(tale, "same-files").model_copy(update={"too_many": 10})
    files = files_twice(10, told.first, told.again, tale.at("a", 4))

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(told), duplicate_files=files))

    assert isinstance(found, Matches)
    assert (told.first, told.again, tale.at("a", 4)) == found.rows
    assert (told.again, tale.at("a", 4)) == found.repeating
    assert tale.at("a", 4) == found.newest_wrong
    assert "20 rows too many" in found.headline


@pytest.mark.parametrize(("pairs_at", "remedy"), [(2, Remedy.REWIND_TABLE_AND_JOB), (5, Remedy.DEDUPLICATE_ROWS)])
def test_what_may_hold_rows_of_its_own_is_never_dropped(pairs_at: int, remedy: Remedy) -> None:
    """The checkpoint came again in other files with other rows: which of them are too many, no file tells."""
    tale = lost_answer().commits("a", 4, 5)
    told = of(tale).model_copy(update={"too_many": 0})
    pairing = points(point(job_id("a"), pairs_at, tale.at("a", pairs_at)))

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(told), pairing=pairing))

    assert isinstance(found, Matches)
    assert remedy is found.remedy
    assert found.headline.endswith("up to 10 rows too many.")
    assert any("which nothing else in the table holds" in reason for reason in found.reasons)


def test_the_lost_answer_is_told_where_flink_lists_it() -> None:
    """The exception is the cause; without it the repeat stands on its own."""
    tale = lost_answer()
    thrown = tale.fails("a").runs["a"].failures[0]
    unknown = thrown.model_copy(update={"exception": "org.apache.iceberg.exceptions.CommitStateUnknownException"})
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failures": (unknown,)})

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale))))

    assert isinstance(found, Matches)
    assert any("answer to a commit was lost" in reason for reason in found.reasons)


def test_a_replayed_range_in_other_files_is_a_neighbours() -> None:
    """Another run that reads the same source again writes new files: F2 or F13."""
    tale = lost_answer()

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale, "same-source-range"))))

    assert isinstance(found, Excluded)
    assert "F2" in found.reason


def test_a_cherry_pick_is_no_repeat() -> None:
    """It says itself where it was picked from."""
    tale = lost_answer()

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale, is_cherry_pick=True))))

    assert isinstance(found, Excluded)
    assert "cherry-picked" in found.reason


def test_nothing_is_excluded_before_commits_and_files_were_compared() -> None:
    """Each of the two may show what the other does not."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)

    neither, commits_only = mode.examine(tale.case()), mode.examine(tale.case(duplicate_commits=repeats()))

    assert isinstance(neither, CannotTell)
    assert ("duplicate_commits", "duplicate_files") == neither.missing
    assert isinstance(commits_only, CannotTell)
    assert ("duplicate_files",) == commits_only.missing


@pytest.mark.parametrize("by_files", [True, False])
def test_a_repeat_that_main_has_no_more_is_looked_for_again(by_files: bool) -> None:
    """It was rolled back since; below it nothing is twice, and its parent may be off main as well."""
    tale = lost_answer()
    told = of(tale)
    found = {"duplicate_files": files_twice(10, told.first, told.again)} if by_files else {}
    tale.rolls_back_to("a", 2)

    answer = mode.examine(tale.looked_at(duplicate_commits=repeats(*([] if by_files else [told])), **found))

    assert isinstance(answer, CannotTell)
    assert "no longer on main" in answer.missing[0]
