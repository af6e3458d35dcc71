"""The window that an incident opens with: both copies inside, the trusted snapshot below the fault."""

import pytest

from bot.domain.suspicion import Suspicion, propose_window
from tests.cases import Tale


def proposed(tale: Tale) -> Suspicion:
    return propose_window(tale.table, tale.jobs)


def rewound(*, v1: bool = False) -> Tale:
    """`a` reached 10; `b` was restored from 6."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6, v1=v1)


def test_a_rewinds_window_holds_both_copies() -> None:
    """It begins at the snapshot that carries the savepoint; consumers are pinned below the wrong run."""
    tale = rewound().commits("b", 7, 8)

    found = proposed(tale)

    assert (tale.at("a", 6), tale.head) == (found.window.since, found.window.until)
    assert tale.at("a", 10) == found.trusted
    assert "Run bbbbbb was restored from checkpoint 6 although run aaaaaa had committed checkpoint 10" in found.because


def test_a_savepoint_that_was_merged_begins_below_itself() -> None:
    """V1 commits no intermediate savepoint: the newest commit below it holds less, never more."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 4, 5).becomes("a", "FINISHED").flink_runs("b", restored=3)

    found = proposed(tale.commits("b", 4))

    assert tale.at("a", 2) == found.window.since


def test_a_silent_rewind_is_suspected_before_it_commits() -> None:
    """V1 holds everything back: the head is still right, and is what consumers are pinned to."""
    tale = rewound(v1=True).completes("b", 7, 8)

    found = proposed(tale)

    assert (tale.at("a", 6), tale.at("a", 10)) == (found.window.since, found.trusted)
    assert "has committed nothing since" in found.because


def test_falling_ids_are_enough_when_flink_is_down() -> None:
    """The sentence says that Flink was not asked."""
    tale = rewound().commits("b", 7, 8).flink_is_down()

    found = proposed(tale)

    assert (tale.at("a", 6), tale.at("a", 10)) == (found.window.since, found.trusted)
    assert "Flink was not asked" in found.because


def test_a_rollback_under_a_running_job_begins_at_its_target() -> None:
    """The target is the last snapshot that both histories share."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 8)).rolls_back_to("a", 3).commits("a", 8)

    found = proposed(tale)

    assert (tale.at("a", 3), tale.at("a", 3)) == (found.window.since, found.trusted)
    assert "lost 4 commits" in found.because


@pytest.mark.parametrize("restored", [14, 11, 8], ids=["above the hole", "at its edge", "from within what was lost"])
@pytest.mark.parametrize("commits", [True, False], ids=["it has committed", "it is silent"])
def test_a_later_rewind_does_not_hide_an_older_rollback(restored: int, commits: bool) -> None:
    """Main lost 6 to 10 under the running job; the rows above the hole were never proven."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).rolls_back_to("a", 5).commits("a", *range(11, 17))
    tale.becomes("a", "FINISHED").flink_runs("b", restored=restored)
    tale = tale.commits("b", restored + 1, restored + 2) if commits else tale

    found = proposed(tale)

    assert (tale.at("a", 5), tale.at("a", 5), tale.head) == (found.window.since, found.trusted, found.window.until)
    assert "rolled back" in found.because


def test_a_rollback_above_a_rewind_leaves_the_window_below_that() -> None:
    """Both faults lie in it, and consumers are pinned below the lower one."""
    tale = rewound().commits("b", *range(7, 15)).rolls_back_to("b", 9).commits("b", 15)

    found = proposed(tale)

    assert (tale.at("a", 6), tale.at("a", 10)) == (found.window.since, found.trusted)
    assert "Run bbbbbb was restored from checkpoint 6" in found.because


def test_a_rewind_together_is_not_suspected_again() -> None:
    """A restored run on top of the target explains the rollback."""
    tale = rewound().commits("b", 7, 8, 9).becomes("b", "CANCELED").rolls_back_to("a", 6)
    tale.flink_runs("c", restored=6).commits("c", *range(7, 40))

    found = proposed(tale)

    assert tale.at("a", 6) == found.trusted
    assert "Run cccccc was restored from checkpoint 6" in found.because


def test_a_failover_is_looked_at_from_twenty_commits_below() -> None:
    """The last commit before the restore is trusted."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 31)).flink_runs("a", restored=30).commits("a", 31, 32)

    found = proposed(tale)

    assert (tale.at("a", 10), tale.at("a", 30)) == (found.window.since, found.trusted)


@pytest.mark.parametrize(("commits", "since"), [(30, 10), (20, None), (3, None)])
def test_nothing_suspicious_trusts_the_head(commits: int, since: int | None) -> None:
    """Twenty commits are looked at, or all that are listed."""
    tale = Tale().flink_runs("a").commits("a", *range(1, commits + 1))

    found = proposed(tale)

    assert tale.head == found.trusted
    assert (tale.at("a", since) if since else None) == found.window.since


def test_nothing_below_a_trusted_waterline_is_suspected() -> None:
    """An earlier rewind that was accepted and verified is over."""
    tale = rewound().commits("b", *range(7, 20)).trusts("b", 12)

    found = proposed(tale)

    assert "was restored from checkpoint 6 at" in found.because
    assert tale.at("b", 12) == found.trusted


def test_a_waterline_under_review_excuses_nothing() -> None:
    """Only a verified one counts."""
    tale = rewound().commits("b", *range(7, 20)).trusts("b", 12, status="under-review")

    found = proposed(tale)

    assert tale.at("a", 10) == found.trusted


def test_a_rollback_above_the_waterline_is_suspected() -> None:
    """Proven commits stay proven, but what was lost above them is a new fault."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 8)).trusts("a", 3).rolls_back_to("a", 3).commits("a", 8)

    found = proposed(tale)

    assert tale.at("a", 3) == found.trusted
    assert "rolled back" in found.because


def test_a_rollback_below_the_waterline_is_over() -> None:
    """The waterline was verified after it."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 8)).rolls_back_to("a", 3).commits("a", 8, 9).trusts("a", 9)

    found = proposed(tale)

    assert tale.head == found.trusted


def test_a_rollback_that_takes_the_waterline_off_main_is_suspected() -> None:
    """A tag that is no ancestor of the head proves nothing of the head."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 8)).trusts("a", 6).rolls_back_to("a", 3).commits("a", 8)

    found = proposed(tale)

    assert tale.at("a", 3) == found.trusted


@pytest.mark.parametrize(("commits", "checkpoint"), [(300, 299), (10, 3)], ids=["long ago", "near the head"])
def test_a_failover_makes_no_old_rollback_the_edge(commits: int, checkpoint: int) -> None:
    """Run b was restored from what main was rolled back to, was quiet at 4, and went on. Since it failed over nothing
    shows where it began: that opens no window over all that came since."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5, 6).becomes("a", "FINISHED").rolls_back_to("a", 3)
    tale.flink_runs("b", restored=3).commits("b", *range(5, commits)).flink_runs("b", restored=commits - 1)

    found = propose_window(tale.table, tale.jobs)

    assert found.trusted is not None
    assert tale.table.by_id[found.trusted].checkpoint_id == checkpoint
