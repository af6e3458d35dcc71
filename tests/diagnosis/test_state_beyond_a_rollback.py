"""Main was rolled back under a run that has committed nothing itself: whether its state holds what main lost is told by
who wrote the point that it began from, and by ids, whenever the lost commits came."""

from datetime import timedelta

import pytest

from bot.diagnosis import flink_is_recovering, rolled_back_while_running
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.ids import OperatorId
from bot.domain.suspicion import propose_window
from tests.cases import Tale, job_id
from tests.found import hole


def to_come(tale: Tale, positions: int = 10) -> Case:
    """Looked at: so many positions that main lost lie above every live one."""
    return tale.looked_at(gaps=hole(0).model_copy(update={"to_come": positions}))


def checkpoint_of(run: str, checkpoint: int) -> str:
    """The path of a retained checkpoint."""
    return f"s3://state/{job_id(run)}/chk-{checkpoint}"


def savepoint_of(run: str) -> str:
    """The path of a savepoint."""
    return f"s3://state/savepoint-{job_id(run)[:6]}-0123456789ab"


def is_accused(tale: Tale, run: str, target: tuple[str, int]) -> bool:
    """Whether F6 names the run and the target, nothing says to wait, and an incident would begin there."""
    case, at = to_come(tale), tale.at(*target)
    found = rolled_back_while_running.examine(case)
    named = isinstance(found, Matches) and (found.last_good, found.wrong_run) == (at, job_id(run))
    waits = isinstance(flink_is_recovering.examine(case), Matches)
    return named and not waits and propose_window(tale.table, tale.jobs).trusted == at


def is_right(tale: Tale) -> bool:
    """Whether F6 is excluded and no rollback is suspected."""
    excluded = isinstance(rolled_back_while_running.examine(to_come(tale, 20)), Excluded)
    return excluded and "rolled back" not in propose_window(tale.table, tale.jobs).because


def upgraded() -> Tale:
    """Run a commits to 3 and is stopped with a savepoint; run b goes on from it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=3).completes("b", 4)


@pytest.mark.parametrize("other", [None, "z"], ids=["a compaction", "a guest"])
def test_what_others_committed_since_an_upgrade_hides_no_rollback(other: str | None) -> None:
    """It is newer than the run's restore, and of no matter."""
    tale = upgraded()
    if other is None:
        tale.commits(None, operation="replace", rows=0)
    else:
        tale.commits(other, 1).by_sink(OperatorId("ee" * 16))

    assert is_accused(tale.rolls_back_to("a", 2), "b", ("a", 2))


def test_a_commit_that_the_restored_run_made_up_for_the_one_before_is_in_its_state() -> None:
    """It bears the id of the run that wrote the rows (facts 1.1), and is newer than the restore."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", 3).becomes("a", "CANCELED")
    tale.flink_runs("b", restored=3).commits("a", 3).rolls_back_to("a", 2)

    assert is_accused(tale, "b", ("a", 2))


def counts_from_one_again() -> Tale:
    """Run b starts without state, commits its 1, and is upgraded to run c; main goes back to run a's 1."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b").commits("b", 1)
    tale.becomes("b", "FINISHED").flink_runs("c").came_from("c", 1, savepoint_of("b"))
    return tale.rolls_back_to("a", 1)


def brings_rows_again() -> Tale:
    """Run b is restored from 2, commits rows again with its 3, and is upgraded to run c; main goes back to run a's."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")
    tale.came_from("b", 2, checkpoint_of("a", 2)).commits("b", 3).becomes("b", "FINISHED")
    return tale.flink_runs("c").came_from("c", 3, savepoint_of("b")).rolls_back_to("a", 3)


def test_an_id_that_main_has_too_is_judged_by_the_run_that_wrote_the_state() -> None:
    """While the run is silent, and by its next commit."""
    for began, target in ((counts_from_one_again(), 1), (brings_rows_again(), 3)):
        assert is_accused(began, "c", ("a", target))
        assert is_accused(began.commits("c", target + 1), "c", ("a", target))


def test_without_a_path_such_an_id_leaves_it_open() -> None:
    """Nobody knows whose state it was."""
    tale = brings_rows_again()
    point = tale.runs["c"].restored
    assert point is not None
    tale.runs["c"] = tale.runs["c"].model_copy(update={"restored": point.model_copy(update={"path": None})})

    assert isinstance(rolled_back_while_running.examine(to_come(tale)), CannotTell)
    assert not isinstance(flink_is_recovering.examine(to_come(tale)), Matches)


@pytest.mark.parametrize("checkpoint", [3, 4])
def test_copies_taken_off_leave_nothing_in_the_state_of_the_first_writer(checkpoint: int) -> None:
    """Run b had brought rows twice; main and job go back to where run a was."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 4).becomes("a", "CANCELED").flink_runs("b")
    tale.came_from("b", 2, checkpoint_of("a", 2)).commits("b", 3).becomes("b", "CANCELED").rolls_back_to("a", 3)
    tale.flink_runs("c").came_from("c", checkpoint, checkpoint_of("a", checkpoint))

    assert is_right(tale)


def test_a_state_is_followed_through_runs_that_committed_nothing() -> None:
    """Run c goes on from run b, which went on from what main lost, or from below it."""
    tale = upgraded().becomes("b", "FINISHED").flink_runs("c").came_from("c", 4, savepoint_of("b"))
    rewound = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").rolls_back_to("a", 2)
    rewound.flink_runs("b", restored=2).completes("b", 3).becomes("b", "FINISHED")
    rewound.flink_runs("c").came_from("c", 3, savepoint_of("b"))

    assert is_accused(tale.rolls_back_to("a", 2), "c", ("a", 2))
    assert is_right(rewound)


# ---------------------------------------------------------------------- under one job id


def passes_over(*, v1: bool = False) -> Tale:
    """The run is restored from 1 under its id, below the 3 that main has, completes 2, and main is set back to 1."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).flink_runs("a", restored=1, v1=v1).completes("a", 2)
    tale.now += timedelta(seconds=10)
    return tale.rolls_back_to("a", 1)


def test_checkpoints_passed_over_before_the_rollback_are_lost() -> None:
    """The sink took them for committed (F3); whether silent, or by its next commit."""
    assert is_accused(passes_over(), "a", ("a", 1))
    assert is_accused(passes_over().commits("a", 3), "a", ("a", 1))


def test_the_first_sink_keeps_what_it_passes_over() -> None:
    """`FlinkSink` commits it with the first id above what it found on main (facts 1.1)."""
    assert is_right(passes_over(v1=True))


def test_a_checkpoint_after_the_rollback_is_not_passed_over() -> None:
    """Its commit is under way: table and job were rewound together."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1)

    assert is_right(tale.flink_runs("a", restored=1).completes("a", 2))


def test_an_id_that_may_be_of_main_or_of_what_it_lost_leaves_it_open_for_a_run_of_which_alone_flink_knows() -> None:
    """Run c is restored from the 1 of run b, which began anew, and Flink shows no path; main goes back to the 1 of run
    a. By which sink the job commits is told by its graph."""
    tale = counts_from_one_again().forgets("a").forgets("b")
    point = tale.runs["c"].restored
    assert point is not None
    tale.runs["c"] = tale.runs["c"].model_copy(update={"restored": point.model_copy(update={"path": None})})

    assert isinstance(rolled_back_while_running.examine(to_come(tale)), CannotTell)
    assert not isinstance(flink_is_recovering.examine(to_come(tale)), Matches)


def test_a_checkpoint_of_its_own_does_not_tell_where_a_redeployed_run_began() -> None:
    """Run b went on from beyond the target; its first commit comes only once it was redeployed under its job id."""
    tale = upgraded().rolls_back_to("a", 2)
    tale.forgets("b").flink_runs("b").came_from("b", 4, checkpoint_of("b", 4)).commits("b", 4)

    found = rolled_back_while_running.examine(to_come(tale))

    assert isinstance(found, CannotTell)
    assert found.missing == ("the point from which run bbbbbb was first restored, which Flink no longer lists",)
    assert not isinstance(flink_is_recovering.examine(to_come(tale)), Matches)


def test_such_a_checkpoint_tells_it_where_main_lost_none_below() -> None:
    """Run b came from the target: its first checkpoint has the id of the first that main lost."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").rolls_back_to("a", 2)
    tale.flink_runs("b").came_from("b", 3, checkpoint_of("b", 3)).commits("b", 3)

    assert isinstance(rolled_back_while_running.examine(to_come(tale)), Excluded)
