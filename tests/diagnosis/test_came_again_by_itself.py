"""F3 that a failover hides: Flink shows the newest restore of a run only, and its own copies show the one before."""

import pytest

from bot.diagnosis import commits_withheld
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.findings import RepeatedCommit
from tests.cases import Tale, job_id
from tests.found import repeats, twice


def went_back(*, v1: bool = True) -> Tale:
    """Run a was restored below its own commits under its job id, and brings checkpoint 2 and 3 again with 4."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).flink_runs("a", restored=1, v1=v1).completes("a", 4)
    return tale.commits("a", 4)


def fails_over(tale: Tale, *, v1: bool = True) -> Tale:
    """Flink restores it from its own checkpoint 4, which is all that it shows from then on."""
    return tale.flink_runs("a", restored=4, v1=v1).completes("a", 5).commits("a", 5)


def counted(tale: Tale, **found: object) -> Case:
    """Keys of two commits live again in a third."""
    copies = twice(20, [(tale.at("a", 2), tale.at("a", 4)), (tale.at("a", 3), tale.at("a", 4))])
    return tale.looked_at(**found).model_copy(update={"duplicates": copies})


def came_again(tale: Tale) -> RepeatedCommit:
    """The source range of checkpoint 2 came again."""
    return RepeatedCommit(
        first=tale.at("a", 2), again=tale.at("a", 4), how="same-source-range", job_id=None, checkpoint_id=None, rows=20
    )


def at_positions(case: Case, *bounds: tuple[int, int]) -> Case:
    """The ledger tells what the commits hold."""
    assert case.ledger is not None
    told = zip(case.ledger.rows, bounds, strict=True)
    rows = tuple(row.model_copy(update={"position_from": low, "position_until": high}) for row, (low, high) in told)
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows})})


@pytest.mark.parametrize("v1", [True, False])
def test_one_failover_later_it_is_not_ruled_out(*, v1: bool) -> None:
    """Every mode excluded itself, over twenty rows too many."""
    found = commits_withheld.examine(counted(fails_over(went_back(v1=v1), v1=v1)))

    assert isinstance(found, CannotTell)
    assert found.missing[0].startswith("the point from which run aaaaaa was first restored, which Flink no longer")


def test_a_source_range_that_came_again_proves_it() -> None:
    """Both by key and by position."""
    tale = fails_over(went_back())

    found = commits_withheld.examine(counted(tale, duplicate_commits=repeats(came_again(tale))))

    assert isinstance(found, Matches)
    assert (tale.at("a", 3), job_id("a"), Remedy.REWIND_TABLE_AND_JOB) == (
        found.last_good,
        found.wrong_run,
        found.remedy,
    )


def test_a_takeover_or_a_forgotten_run_hides_it_as_well() -> None:
    """A new JobManager counts restores anew; a cluster that is gone tells nothing."""
    taken = went_back().forgets("a").flink_runs("a", v1=True).came_from("a", 4, f"s3://state/{job_id('a')}/chk-4")
    forgotten = fails_over(went_back()).forgets("a")

    assert [CannotTell] * 2 == [type(commits_withheld.examine(counted(tale))) for tale in (taken, forgotten)]


def test_while_flink_shows_the_restore_that_tells() -> None:
    """Copies say no more than it."""
    found = commits_withheld.examine(counted(went_back()))

    assert isinstance(found, Matches)
    assert "was restored from checkpoint 1" in found.reasons[0]


def test_a_run_that_was_never_restored_did_not_go_back() -> None:
    """Then its source gave the rows twice."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4)

    assert isinstance(commits_withheld.examine(counted(tale)), Excluded)


def test_copies_at_later_positions_were_given_twice_by_the_source() -> None:
    """A producer that sends once more what it had sent."""
    tale = fails_over(Tale().flink_runs("a").commits("a", 1, 2, 3, 4))

    case = at_positions(counted(tale), (0, 9), (10, 19), (20, 29), (30, 39), (40, 49))

    assert isinstance(commits_withheld.examine(case), Excluded)


def test_a_table_that_is_written_by_key_has_copies_of_its_own_kind() -> None:
    """F16 and F17 tell of these."""
    tale = fails_over(went_back())
    tale.properties["write.upsert.enabled"] = "true"

    assert isinstance(commits_withheld.examine(counted(tale)), Excluded)


def test_a_commit_that_was_made_twice_is_another_fault() -> None:
    """F1 tells of the very files or the very checkpoint."""
    tale = fails_over(went_back())
    again = came_again(tale).model_copy(update={"how": "same-files"})

    assert isinstance(commits_withheld.examine(counted(tale, duplicate_commits=repeats(again))), Excluded)
