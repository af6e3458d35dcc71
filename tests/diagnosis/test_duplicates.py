"""F1, F16 and F17: one checkpoint, the same files or the same keys twice, and copies that nothing explains."""

from typing import Any

import pytest

from bot.diagnosis import checkpoint_committed_twice as mode
from bot.diagnosis import (
    commits_withheld,
    restarted_from_empty,
    restored_from_older_savepoint,
    two_jobs_write_the_table,
)
from bot.diagnosis import upsert_duplicates_across_writers as across
from bot.diagnosis import upsert_duplicates_in_one_commit as within
from bot.diagnosis._support.examine import diagnose
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.findings import DuplicatePair, RepeatedCommit
from bot.observation.ids import CheckpointId, OperatorId, SnapshotId
from bot.observation.snapshot import REPAIR
from bot.observation.table import Snapshot
from tests.cases import Tale, job_id, placed
from tests.diagnosis.histories.held import MODES
from tests.found import files_twice, point, points, repeats, twice


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

    assert (Remedy.DROP_DUPLICATED_COMMIT, first) == (found.remedy, found.last_good)
    assert (first, tale.head) == found.rows
    assert tale.head == found.newest_wrong
    assert any("still pair" in reason for reason in found.reasons)


def test_checkpoint_ids_that_begin_anew_after_an_empty_start_are_a_replay() -> None:
    """As run with the V1 sink under a fixed job id: 1 comes again with the same positions, in other files (F15)."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).commits("a", 1, 2, 3)

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale)), duplicate_files=files_twice()))
    same_files = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale, "same-files"))))

    assert "(F15)" in found.reason
    assert isinstance(same_files, Matches)


def test_a_buried_repeat_is_dropped_alone_as_well() -> None:
    """Only its own files go; the commits above it stay, and nothing is read again."""
    tale = lost_answer().commits("a", 4, 5)

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale))))

    assert Remedy.DROP_DUPLICATED_COMMIT is found.remedy
    assert any("2 commits by Flink above it left as they are" in reason for reason in found.reasons)


@pytest.mark.parametrize(
    ("pairs_at", "remedy"), [(2, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB), (5, Remedy.DEDUPLICATE_ROWS)]
)
def test_a_repeat_below_a_compaction_is_rewound_or_deduplicated(pairs_at: int, remedy: Remedy) -> None:
    """Its rows lie in other files by then: a point that pairs below the repeat takes them back, one above keeps it."""
    tale = lost_answer().commits("a", 4, 5).commits(None, 6, operation="replace")
    pairing = points(point(job_id("a"), pairs_at, tale.at("a", pairs_at)))

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale)), pairing=pairing))

    assert remedy is found.remedy


def test_files_that_are_live_twice_are_enough() -> None:
    """Also where the checkpoint ids differ: nothing writes one path twice but a repeated commit."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    found = mode.examine(tale.looked_at(duplicate_files=files_twice(10, tale.at("a", 2), tale.at("a", 3))))

    assert (tale.at("a", 2), tale.at("a", 3)) == found.rows
    assert tale.at("a", 2) == found.last_good


def test_of_a_commit_with_rows_of_its_own_only_the_repeated_ones_are_too_many() -> None:
    """It names files that the table had already, and one that is new."""
    tale = lost_answer()
    told = of(tale, "same-files").model_copy(update={"rows": 20, "too_many": 10})

    found = mode.examine(
        tale.looked_at(duplicate_commits=repeats(told), duplicate_files=files_twice(10, told.first, told.again))
    )

    assert found.remedy is Remedy.DROP_DUPLICATED_COMMIT
    assert found.headline.endswith("10 rows too many.")
    assert found.reasons[0].endswith("20 rows, 10 of them its own.")


def test_commits_that_only_their_files_show_are_counted_beside_the_others() -> None:
    """One names a file of its own twice: no other commit has it, and it is too many all the same."""
    tale = lost_answer().commits("a", 4)
    told = of(tale, "same-files").model_copy(update={"too_many": 10})
    files = files_twice(10, told.first, told.again, tale.at("a", 4))

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(told), duplicate_files=files))

    assert (told.first, told.again, tale.at("a", 4)) == found.rows
    assert (told.again, tale.at("a", 4)) == found.repeating
    assert tale.at("a", 4) == found.newest_wrong
    assert "20 rows too many" in found.headline


@pytest.mark.parametrize(
    ("pairs_at", "remedy"), [(2, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB), (5, Remedy.DEDUPLICATE_ROWS)]
)
def test_what_may_hold_rows_of_its_own_is_never_dropped(pairs_at: int, remedy: Remedy) -> None:
    """The checkpoint came again in other files with other rows: which of them are too many, no file tells."""
    tale = lost_answer().commits("a", 4, 5)
    told = of(tale).model_copy(update={"too_many": 0})
    pairing = points(point(job_id("a"), pairs_at, tale.at("a", pairs_at)))

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(told), pairing=pairing))

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

    assert any("answer to a commit was lost" in reason for reason in found.reasons)


def test_a_replayed_range_in_other_files_is_a_neighbours() -> None:
    """Another run that reads the same source again writes new files: F2 or F13."""
    tale = lost_answer()

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale, "same-source-range"))))

    assert "F2" in found.reason


def test_a_cherry_pick_is_no_repeat() -> None:
    """It says itself where it was picked from."""
    tale = lost_answer()

    found = mode.examine(tale.looked_at(duplicate_commits=repeats(of(tale, is_cherry_pick=True))))

    assert "cherry-picked" in found.reason


@pytest.mark.parametrize("by_files", [True, False])
def test_a_repeat_that_main_has_no_more_is_looked_for_again(by_files: bool) -> None:
    """It was rolled back since; below it nothing is twice, and its parent may be off main as well."""
    tale = lost_answer()
    told = of(tale)
    found = {"duplicate_files": files_twice(10, told.first, told.again)} if by_files else {}
    tale.rolls_back_to("a", 2)

    answer = mode.examine(tale.looked_at(duplicate_commits=repeats(*([] if by_files else [told])), **found))

    assert "no longer on main" in answer.missing[0]


def copies(tale: Tale, first: SnapshotId, again: SnapshotId, **found: object) -> Case:
    """Two keys of the first commit live again in the other."""
    return tale.looked_at(**found).model_copy(update={"duplicates": twice(2, [(first, again)])})


def test_a_run_that_is_shown_from_before_both_went_nowhere() -> None:
    """Its source gave the rows twice."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    assert isinstance(commits_withheld.examine(copies(tale, tale.at("a", 2), tale.at("a", 3))), Excluded)


def asks_of_copies(case: Case) -> bool:
    """Whether nobody may rule out that a run of the job read again what it had brought."""
    told = {each.mode.code: each.examined for each in diagnose(case, MODES).results}
    open_ones = [told[code] for code in ("F2", "F3", "F15") if isinstance(told[code], CannotTell)]
    return any("brought keys of" in missing for each in open_ones for missing in each.missing)


def test_copies_that_a_guest_brought_are_none_of_the_jobs() -> None:
    """Flink lists its run under another name."""
    tale = Tale().flink_runs("z").flink_runs("a").commits("a", 1, 2).commits("z", 1).by_sink(OperatorId("ee" * 16))
    tale.runs["z"] = tale.runs["z"].model_copy(update={"name": "backfill"})

    assert not asks_of_copies(copies(tale, tale.at("a", 1), tale.at("z", 1)))
    assert asks_of_copies(copies(tale, tale.at("a", 1), tale.at("a", 2)))


def test_copies_below_the_window_are_not_looked_into() -> None:
    """They were there before the last commit that was good."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)

    told = [asks_of_copies(copies(tale, tale.at("a", 1), tale.at("a", 2), since=tale.at("a", n))) for n in (1, 2)]

    assert [True, False] == told


def case(*, keys: int = 8, upsert: bool = True, deletes: int = 0, **counts: int) -> Case:
    """Commits 1 to 3 of an upsert table; commit 2 wrote both copies of each repeated key."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    tale.properties["write.upsert.enabled"] = str(upsert).lower()
    more = {"added-equality-deletes": str(deletes)}
    tale.snapshots = [s.model_copy(update={"summary": s.summary | more}) for s in tale.snapshots]
    pair = DuplicatePair(first=tale.at("a", 2), second=tale.at("a", 2), keys=keys)
    found = twice(keys).model_copy(update={"pairs": (pair,), **counts})
    return tale.looked_at().model_copy(update={"duplicates": found})


def second_commit(of: Case) -> Snapshot:
    return of.observation.table.snapshots[1]


def test_keys_twice_in_one_commit_are_told_with_that_commit() -> None:
    """What lies below it is to be trusted; one copy of each key is to stay."""
    told = case(within_commit=8)

    found = within.examine(told)

    assert ((second_commit(told).snapshot_id,), second_commit(told).parent_id) == (found.rows, found.last_good)
    assert found.remedy is Remedy.DEDUPLICATE_ROWS


@pytest.mark.parametrize("mode", [within, across])
def test_a_table_that_only_appends_has_neither(mode: Any) -> None:
    """Nothing was to remove the older copy."""
    found = mode.examine(case(within_commit=8, across_partitions=8, upsert=False))

    assert "only appends" in found.reason


def test_copies_of_one_commit_by_different_subtasks_have_one_cause() -> None:
    """The distribution is to be mended (F17), not the sink (F16)."""
    told = case(within_commit=8, across_subtasks=8)

    found = within.examine(told), across.examine(told)

    assert [Excluded, Matches] == [type(one) for one in found]


@pytest.mark.parametrize("mode", [within, across])
def test_copies_that_a_compaction_hides_leave_it_open(mode: Any) -> None:
    """Of one commit or of several, by one subtask or by several: the compaction's file does not tell."""
    found = mode.examine(case(hidden=8))

    assert found.missing == ("who wrote the copies of 8 keys (a compaction has rewritten them and hides it)",)


@pytest.mark.parametrize(("mode", "counts"), [(within, {"within_commit": 3}), (across, {"across_partitions": 3})])
def test_no_state_is_trusted_while_some_writer_is_hidden(mode: Any, counts: dict[str, int]) -> None:
    """The copies that are hidden may be older than those that are told."""
    found = mode.examine(case(hidden=5, **counts))

    assert found.last_good is None


NOTHING = {"total-records": "40", "total-data-files": "4", "total-delete-files": "0", "changed-partition-count": "0"}


def replayed(tale: Tale) -> Tale:
    """Run b read again from checkpoint 4 what run a had committed up to 8."""
    tale.flink_runs("a").commits("a", *range(1, 9)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=4).commits("b", *range(5, 12)).completes("b", 11)


def test_a_commit_of_nothing_above_the_restore_point_is_not_read_again() -> None:
    """Flink commits an empty checkpoint from time to time; the new run has another job id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 14)
    for place in (-2, -1):
        told = {k: v for k, v in tale.snapshots[place].summary.items() if place == -2 or not k.startswith("added")}
        tale.snapshots[place] = tale.snapshots[place].model_copy(update={"summary": told | NOTHING})
    tale.becomes("a", "FAILED").flink_runs("b", restored=13).completes("b", 14, 15).commits("b", 15)

    case = tale.looked_at()

    assert isinstance(restored_from_older_savepoint.examine(case), Excluded)
    assert isinstance(commits_withheld.examine(case), Excluded)


def test_a_replay_of_an_upsert_table_is_told_and_nothing_is_taken_back() -> None:
    """The same rows replaced themselves."""
    tale = Tale()
    tale.properties["write.upsert.enabled"] = "true"

    found = restored_from_older_savepoint.examine(placed(replayed(tale).looked_at()))

    assert found.remedy is Remedy.TELL_CONSUMERS
    assert "readers see older values" in found.reasons[-1]


def test_a_replay_that_a_repair_has_cleaned_up_is_not_to_be_rewound() -> None:
    """The copies were taken out by an approved repair; the fall of the ids stays in the history."""
    tale = replayed(Tale()).commits(None, operation="delete")
    last = tale.snapshots[-1]
    tale.snapshots[-1] = last.model_copy(update={"summary": {**last.summary, REPAIR: "p-1"}})
    assert tale.snapshots[-1].is_repair

    found = restored_from_older_savepoint.examine(placed(tale.looked_at()))

    assert found.remedy is Remedy.TELL_CONSUMERS
    assert "nothing to take back any more" in found.reasons[-1]


def test_a_replay_that_did_no_harm_hides_no_later_one() -> None:
    """Run b came out whole, and run c was restored from below it since: what b read comes again."""
    case = replayed(Tale()).becomes("b", "CANCELED").flink_runs("c", restored=9).looked_at()

    found = restored_from_older_savepoint.examine(case)

    assert (job_id("c"), Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB) == (found.wrong_run, found.remedy)


@pytest.mark.parametrize("duplicates", [0, 20])
def test_a_backfill_beside_the_job_is_a_fork_only_if_rows_live_twice(duplicates: int) -> None:
    """By default the V2 sink's operator id is of the table's name: each INSERT into the table bears the same."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).commits("b", 1, 2).commits("a", 6, 7).completes("a", 6, 7)
    case = tale.looked_at(duplicates=duplicates)

    assert isinstance(two_jobs_write_the_table.examine(case), Matches if duplicates else Excluded)
    assert not isinstance(restarted_from_empty.examine(case), Matches)


def test_a_failover_to_its_own_checkpoint_does_not_make_an_empty_start_a_rewind() -> None:
    """Flink's latest restore names checkpoint 3 of the very run that began with nothing."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).completes("a", 8).becomes("a", "FAILED")
    tale.flink_runs("b").completes("b", 1, 2).commits("b", 2, 3).completes("b", 3)
    tale.flink_runs("b", restored=3).completes("b", 4).commits("b", 4)
    case = tale.looked_at(duplicates=20)

    assert isinstance(restarted_from_empty.examine(case), Matches)
    assert not isinstance(restored_from_older_savepoint.examine(case), Matches)


@pytest.mark.parametrize("v1", [True, False])
def test_what_is_withheld_comes_with_v1_only(*, v1: bool) -> None:
    """V2 takes a committed id for done and lets the files go: nobody should wait for them."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", *range(1, 9)).flink_runs("a", restored=4, v1=v1).completes("a", 5)

    found = commits_withheld.examine(tale.looked_at())

    assert any("all of it comes in one commit" in reason for reason in found.reasons) is v1
