"""F13: two runs at the same time; told from a hand-over, a pinned id that returns, and a second writer by design."""

from bot.diagnosis import checkpoint_committed_twice, restored_from_older_savepoint
from bot.diagnosis import two_jobs_write_the_table as mode
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.findings import RepeatedCommit
from bot.domain.flink import Restored
from bot.domain.ids import CheckpointId, OperatorId
from tests.cases import Tale, job_id
from tests.found import point, points, repeats, twice


def forked() -> Tale:
    """`b` was started from `a`'s checkpoint 4 while `a` ran on."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 7)).flink_runs("b", restored=4)
    return tale.commits("b", 5).commits("a", 7).commits("b", 6)


def test_the_later_run_is_taken_for_the_fork() -> None:
    """The table is trusted up to its first commit, and its own commits are the rows."""
    tale = forked()

    found = mode.examine(tale.looked_at(duplicates=10))

    assert isinstance(found, Matches)
    assert (Remedy.RESOLVE_FORK, job_id("b"), tale.at("a", 6)) == (found.remedy, found.wrong_run, found.last_good)
    assert (tale.at("b", 5), tale.at("b", 6)) == found.rows


def test_a_fork_that_stands_still_has_left_rows_to_take_back() -> None:
    """By a rewind where a restore point pairs below its first commit, else by key; nothing is left to be stopped."""
    tale = forked().becomes("b", "FINISHED")
    good = tale.at("a", 6)

    paired = mode.examine(tale.looked_at(duplicates=10, pairing=points(point(job_id("a"), 6, good))))
    unpaired = mode.examine(tale.looked_at(duplicates=10, pairing=points()))

    assert isinstance(paired, Matches)
    assert isinstance(unpaired, Matches)
    assert (Remedy.REWIND_TABLE_AND_JOB, Remedy.DEDUPLICATE_ROWS) == (paired.remedy, unpaired.remedy)
    assert (good, good) == (paired.last_good, unpaired.last_good)


def test_taking_turns_twice_needs_no_second_witness() -> None:
    """a, b, a, b on main is proof without Flink."""
    found = mode.examine(forked().flink_is_down().case())

    assert isinstance(found, Matches)


def test_one_return_may_be_a_pinned_id_that_was_started_again() -> None:
    """Flink tells: stopped and started anew it is a hand-over; not known, it is neither."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")
    tale.flink_runs("b", restored=2).commits("b", 3, 4).becomes("b", "FINISHED")
    tale.forgets("a").flink_runs("a", restored=4).commits("a", 5)

    asked, blind = mode.examine(tale.looked_at()), mode.examine(tale.flink_is_down().looked_at())

    assert isinstance(asked, Excluded)
    assert isinstance(blind, CannotTell)


def test_two_living_runs_are_a_fork_before_the_second_commits() -> None:
    """Then nothing is spoilt yet, and stopping it is all that there is to do."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).flink_runs("b", restored=3)

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (job_id("b"), tale.head) == (found.wrong_run, found.last_good)


def test_the_same_restore_path_is_told() -> None:
    """Both from one savepoint: one is a copy of the other."""
    tale = Tale().flink_runs("a", restored=3).flink_runs("b", restored=3).commits("a", 4).commits("b", 4)
    for run in "ab":
        point = tale.runs[run].restored
        assert isinstance(point, Restored)
        told = point.model_copy(update={"path": "s3://state/savepoint-1"})
        tale.runs[run] = tale.runs[run].model_copy(update={"restored": told})

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert any("restored from the same point" in reason for reason in found.reasons)


def test_a_run_that_is_about_to_end_is_no_second_writer() -> None:
    """Blue-green: the old run is CANCELLING while the new one starts."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELLING").flink_runs("b", restored=3)

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Excluded)


def second_writer() -> Tale:
    """Another Flink job with a sink of its own commits in turns with ours."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits("x", 7).commits("a", 3).commits("x", 8).commits("a", 4)
    tale.snapshots = [
        s.model_copy(update={"summary": s.summary | {"flink.operator-id": OperatorId("ee" * 16)}})
        if s.job_id == job_id("x")
        else s
        for s in tale.snapshots
    ]
    return tale


def test_a_second_writer_with_its_own_sink_is_a_fork_only_where_keys_repeat() -> None:
    """Rows decide, and before they were counted nobody knows."""
    tale = second_writer()

    uncounted, clean, repeated = (
        mode.examine(tale.case()),
        mode.examine(tale.case(duplicates=twice(0))),
        mode.examine(tale.case(duplicates=twice(5))),
    )

    assert isinstance(uncounted, CannotTell)
    assert isinstance(clean, Excluded)
    assert isinstance(repeated, Matches)


def test_a_fork_is_not_cured_by_a_rewind() -> None:
    """F2 leaves it alone: rewinding one run does not stop the other."""
    case = forked().looked_at(duplicates=10)

    found = restored_from_older_savepoint.examine(case)

    assert isinstance(found, Excluded)
    assert "F13" in found.reason


def test_an_orderly_hand_over_is_none() -> None:
    """One run after the other, and one alive."""
    tale = (
        Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED").flink_runs("b", restored=2).commits("b", 3)
    )

    found = mode.examine(tale.looked_at())

    assert isinstance(found, Excluded)
    assert "followed each other" in found.reason


def repeating() -> Tale:
    """As run on Flink 2.1 with the V2 sink: `b` brought `a`'s savepoint 4 once more, after `a` had committed it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).flink_runs("b", restored=4)
    return tale.commits("a", 4).commits("b", 5).commits("a", 6).commits("b", 6)


def again(tale: Tale) -> RepeatedCommit:
    """The two commits of checkpoint 4."""
    first, second = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 4)
    return RepeatedCommit(
        first=first, again=second, how="same-files", job_id=job_id("a"), checkpoint_id=CheckpointId(4), rows=10
    )


def test_what_the_fork_brought_of_its_savepoint_goes_with_it() -> None:
    """It bears the older run's id; the table is good below it, and it is no accident of its own (F1)."""
    tale = repeating()
    case = tale.looked_at(duplicates=10, duplicate_commits=repeats(again(tale)))

    found, lone = mode.examine(case), checkpoint_committed_twice.examine(case)

    assert isinstance(found, Matches)
    assert (tale.at("a", 4), tale.at("b", 5), tale.at("b", 6)) == found.rows
    assert tale.at("a", 5) == found.last_good
    assert isinstance(lone, Excluded)
    assert "F13" in lone.reason


def test_a_commit_made_twice_beside_a_fork_is_still_told() -> None:
    """Only a checkpoint from which a fork was restored is the fork's."""
    tale = forked().commits("a", 7)
    first, second = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 7)
    repeat = RepeatedCommit(
        first=first, again=second, how="same-files", job_id=job_id("a"), checkpoint_id=CheckpointId(7), rows=10
    )

    found = checkpoint_committed_twice.examine(tale.looked_at(duplicate_commits=repeats(repeat)))

    assert isinstance(found, Matches)


def test_a_repeat_without_a_fork_is_a_commit_made_twice() -> None:
    """One run after the other: nothing of the older one's is brought beside it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 2).becomes("a", "CANCELED").flink_runs("b", restored=2)
    first, second = (s.snapshot_id for s in tale.snapshots if s.checkpoint_id == 2)
    repeat = RepeatedCommit(
        first=first, again=second, how="same-files", job_id=job_id("a"), checkpoint_id=CheckpointId(2), rows=10
    )

    found = checkpoint_committed_twice.examine(tale.commits("b", 3).looked_at(duplicate_commits=repeats(repeat)))

    assert isinstance(found, Matches)
