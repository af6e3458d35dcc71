"""Main was rolled back, and Flink shows no more where the run that goes on was restored: it has failed over since, or
Flink has forgotten it. What is not shown is no proof that nothing was lost."""

from collections.abc import Callable

import pytest

from bot.diagnosis import recovered_by_itself, rolled_back_while_running, source_positions_skipped
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.findings import GapsFinding, PositionGap
from bot.domain.rollbacks import Sequel, rollbacks
from bot.domain.table import HeadMove
from tests.cases import Tale, job_id

WHOLE = GapsFinding(lowest=0, highest=29, positions=30, missing=0, gaps=())


def rolled_back() -> Tale:
    """Main went from 6 back to 3 while the job was down."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5, 6).becomes("a", "FINISHED")
    return tale.rolls_back_to("a", 3)


# ---------------------------------------------------------------------- before it commits


def forgotten(began: int) -> Tale:
    """The run's source is quiet, and it has failed over from a checkpoint of its own."""
    return rolled_back().flink_runs("b", restored=began).completes("b", 7).flink_runs("b", restored=7)


def taken_over(began: int) -> Tale:
    """The same by a JobManager that counts anew."""
    tale = rolled_back().flink_runs("b", restored=began)
    tale.runs["b"] = tale.runs["b"].model_copy(update={"restored_count": 0})
    return tale.came_from("b", 7, f"s3://lake/checkpoints/{job_id('b')}/chk-7").completes("b", 8)


@pytest.mark.parametrize("began", [3, 6])
@pytest.mark.parametrize("tell", [forgotten, taken_over])
def test_a_silent_run_of_which_nothing_tells_where_it_began_is_in_doubt(
    tell: Callable[[int], Tale], began: int
) -> None:
    """Flink shows the same of a run from the target and of one from beyond: rows may be lost for ever."""
    case = tell(began).looked_at(gaps=WHOLE)

    found = rolled_back_while_running.examine(case)

    assert isinstance(found, CannotTell)
    assert found.missing == ("the point from which run bbbbbb was first restored, which Flink no longer lists",)
    assert isinstance(recovered_by_itself.examine(case), Excluded)


def by_history(began: int) -> Tale:
    """It failed over, and Flink lists all that it completed."""
    ids = range(began + 1, began + 6)
    tale = rolled_back().flink_runs("b", restored=began).remembers("b", *ids)
    return tale.came_from("b", ids[-1], f"s3://lake/checkpoints/{job_id('b')}/chk-{ids[-1]}")


def by_path(began: int) -> Tale:
    """It failed before it completed anything, and went back to the same point."""
    tale = rolled_back().flink_runs("b", restored=began)
    return tale.came_from("b", began, f"s3://lake/checkpoints/{job_id('a')}/chk-{began}")


@pytest.mark.parametrize("tell", [by_history, by_path])
@pytest.mark.parametrize(("began", "expected"), [(3, Excluded), (4, Matches), (6, Matches)])
def test_what_flink_still_shows_of_its_beginning_tells(tell: Callable[[int], Tale], began: int, expected: type) -> None:
    """From beyond the target its state holds what main lost; from the target it reads that again."""
    found = rolled_back_while_running.examine(tell(began).looked_at(gaps=WHOLE))

    assert isinstance(found, expected)
    if isinstance(found, Excluded):
        assert "reads again what main lost" in found.reason


# ---------------------------------------------------------------------- after its first commits


def failed_over(began: int) -> Tale:
    """The run has committed 5 and 6 above the target, and then failed over."""
    tale = rolled_back().flink_runs("b", restored=began).completes("b", 4).commits("b", 5, 6)
    return tale.flink_runs("b", restored=6)


def followed(began: int) -> Tale:
    """Another run has taken over from it, and Flink has forgotten it."""
    tale = failed_over(began).becomes("b", "FINISHED").forgets("b").flink_runs("c")
    return tale.came_from("c", 6, f"s3://lake/checkpoints/{job_id('b')}/chk-6")


def under_one_id(began: int) -> Tale:
    """The job kept its id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5, 6).rolls_back_to("a", 3)
    return tale.flink_runs("a", restored=began).commits("a", 5, 6).flink_runs("a", restored=6)


def found_in(tale: Tale, *, missing: tuple[int, int] | None, bounds: bool = True) -> Case:
    """Each commit brought ten positions, from (n - 1) * 10; those of this gap are missing."""
    gap = () if missing is None else (PositionGap(first=missing[0], last=missing[1]),)
    lacks = sum(each.last - each.first + 1 for each in gap)
    gaps = GapsFinding(lowest=0, highest=59, positions=60 - lacks, missing=lacks, gaps=gap)
    case = tale.looked_at(gaps=gaps)
    assert case.ledger is not None
    told = [row.model_copy(update=brought(row.checkpoint_id or 0)) for row in case.ledger.rows]
    ledger = case.ledger.model_copy(update={"rows": tuple(told)})
    return case.model_copy(update={"ledger": ledger}) if bounds else case


def brought(checkpoint: int) -> dict[str, int]:
    """The bounds of a commit's positions."""
    return {"position_from": 10 * (checkpoint - 1), "position_until": 10 * checkpoint - 1}


LATER = pytest.mark.parametrize("tell", [failed_over, followed, under_one_id])


@LATER
def test_missing_positions_tell_that_the_run_began_beyond_the_target(tell: Callable[[int], Tale]) -> None:
    """It began at 4, and nothing brings what 4 had brought."""
    tale = tell(4)
    case = found_in(tale, missing=(30, 39))

    found, skipped = rolled_back_while_running.examine(case), source_positions_skipped.examine(case)

    assert [Sequel.UNTOLD] == [each.sequel for each in rollbacks(tale.table, tale.jobs.values)]
    assert isinstance(found, Matches)
    assert tale.at("a", 3) == found.last_good
    assert any("so it began beyond the target" in reason for reason in found.reasons)
    assert isinstance(skipped, Excluded)
    assert "(F6)" in skipped.reason


@LATER
def test_a_run_from_the_target_that_was_quiet_at_first_is_not_accused(tell: Callable[[int], Tale]) -> None:
    """It brought the rows of 4 again under 5: every position is there, and the table is right."""
    case = found_in(tell(3), missing=None)

    found = rolled_back_while_running.examine(case)

    assert isinstance(found, Excluded)
    assert found.reason.endswith("the rows were put back or read again.")
    assert isinstance(recovered_by_itself.examine(case), Matches)


@LATER
def test_before_positions_are_looked_for_nobody_can_tell(tell: Callable[[int], Tale]) -> None:
    """And it is said what would."""
    found = rolled_back_while_running.examine(tell(4).case())

    assert isinstance(found, CannotTell)
    assert "first restored" in found.missing[0]
    assert "missing_positions" in found.missing[1]


@LATER
def test_positions_that_are_missing_elsewhere_are_none_of_it(tell: Callable[[int], Tale]) -> None:
    """The source skipped them."""
    case = found_in(tell(3), missing=(20, 29))

    assert isinstance(rolled_back_while_running.examine(case), Excluded)
    assert isinstance(source_positions_skipped.examine(case), Matches)


@LATER
def test_without_bounds_missing_positions_may_be_of_either(tell: Callable[[int], Tale]) -> None:
    """Neither mode is excluded."""
    case = found_in(tell(4), missing=(30, 39), bounds=False)

    assert isinstance(rolled_back_while_running.examine(case), CannotTell)
    assert isinstance(source_positions_skipped.examine(case), CannotTell)


def test_a_run_that_begins_with_the_first_lost_id_came_from_the_target() -> None:
    """Below its first commit nothing was lost, whatever Flink has forgotten."""
    tale = rolled_back().flink_runs("b", restored=3).commits("b", 4, 5, 6).flink_runs("b", restored=6)

    (found,) = rollbacks(tale.table, tale.jobs.values)

    assert Sequel.OTHER_RUN is found.sequel


@pytest.mark.parametrize("ids", [(3,), (2, 3)], ids=["one id twice", "counted anew"])
def test_a_silent_run_from_a_checkpoint_that_came_twice_is_in_doubt(ids: tuple[int, ...]) -> None:
    """What main lost carries the ids of what it has: a restore from 3 may be from the one or the other state."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    target = tale.head
    tale.commits("a", *ids).becomes("a", "FINISHED")
    tale.head = target
    tale.moves.append(HeadMove(at=tale.now, snapshot_id=target))
    case = tale.flink_runs("b", restored=3).looked_at(gaps=WHOLE)

    found = rolled_back_while_running.examine(case)

    assert isinstance(found, CannotTell)
    assert "its next commit tells" in found.missing[0]
    assert not isinstance(recovered_by_itself.examine(case), Matches)


def test_a_silent_run_from_below_what_came_twice_reads_all_of_it_again() -> None:
    """Checkpoint 1 is below both."""
    tale = Tale().flink_runs("a").commits("a", 1)
    target = tale.head
    tale.commits("a", 2, 3).becomes("a", "FINISHED")
    tale.head = target
    tale.moves.append(HeadMove(at=tale.now, snapshot_id=target))

    found = rolled_back_while_running.examine(tale.flink_runs("b", restored=1).looked_at(gaps=WHOLE))

    assert isinstance(found, Excluded)
