"""Table and job were rewound together, and the job was taken over or upgraded since: what Flink shows of its later
starts accuses nobody."""

from datetime import timedelta

import pytest

from bot.diagnosis import rolled_back_while_running
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.suspicion import propose_window
from tests.cases import Tale, job_id
from tests.found import hole


def is_right(tale: Tale) -> bool:
    """Whether F6 is excluded while rows are still to come, and no rollback is suspected."""
    case = tale.looked_at(gaps=hole(0).model_copy(update={"to_come": 10}))
    excluded = isinstance(rolled_back_while_running.examine(case), Excluded)
    return excluded and "rolled back" not in propose_window(tale.table, tale.jobs).because


@pytest.mark.parametrize("committed", [(2,), (2, 3, 4)])
@pytest.mark.parametrize("after", [0, 3])
def test_a_takeover_accuses_no_right_rewind(committed: tuple[int, ...], after: int) -> None:
    """Another JobManager starts the run anew from its own newest checkpoint: that tells nothing of where it began."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").rolls_back_to("a", 1)
    tale.flink_runs("b", restored=1).commits("b", *committed).forgets("b")
    last = committed[-1]
    tale.now += timedelta(seconds=30)
    tale.flink_runs("b").came_from("b", last, f"s3://state/{job_id('b')}/chk-{last}")
    if after:
        tale.remembers("b", *range(last + 1, last + 1 + after)).commits("b", *range(last + 1, last + 1 + after))

    assert is_right(tale)


@pytest.mark.parametrize("after", [(), (3, 4)], ids=["only that", "it has committed"])
def test_a_commit_under_the_id_of_the_run_that_the_restore_names_is_the_jobs(after: tuple[int, ...]) -> None:
    """Run b read 2 again and was upgraded before its commit, which run c makes; its cluster lists run c alone."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").rolls_back_to("a", 1)
    tale.flink_runs("b", restored=1).completes("b", 2).flink_runs("c").forgets("a").forgets("b")
    tale.came_from("c", 2, f"s3://state/{job_id('b')}/chk-2").commits("b", 2)
    tale = tale.commits("c", *after) if after else tale

    assert is_right(tale)


@pytest.mark.parametrize("after", [(), (5,)], ids=["only that", "it has committed"])
def test_such_a_commit_tells_of_a_hole_too(after: tuple[int, ...]) -> None:
    """Run b had gone on from 3, which main lost under it; run c makes its 4 up for it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED").flink_runs("b", restored=3)
    tale.rolls_back_to("a", 2).completes("b", 4).flink_runs("c").forgets("a").forgets("b")
    tale.came_from("c", 4, f"s3://state/{job_id('b')}/chk-4").commits("b", 4)
    tale = tale.commits("c", *after) if after else tale

    assert isinstance(rolled_back_while_running.examine(tale.looked_at(missing=10)), Matches)
    assert tale.at("a", 2) == propose_window(tale.table, tale.jobs).trusted


def test_where_a_taken_over_run_left_the_first_id_out_its_next_accuses_nobody() -> None:
    """Checkpoint 2 of run b failed, and its 3, all that main lost again, is known by its id alone since a JobManager
    took over: the ids are those of a run that began beyond the target, too, and only positions tell."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").rolls_back_to("a", 1)
    tale.flink_runs("b", restored=1).commits("b", 3).forgets("b")
    tale.now += timedelta(seconds=30)
    tale.flink_runs("b").came_from("b", 3, f"s3://state/{job_id('b')}/chk-3").forgets("a")

    assert isinstance(rolled_back_while_running.examine(tale.case()), CannotTell)
