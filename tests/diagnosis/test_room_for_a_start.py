"""Whether a start without state that Flink has forgotten may have counted up to the restored id: only where there was
time for it, and nothing on storage tells when the point was written."""

from datetime import timedelta

import pytest

from bot.diagnosis._which_point import which_point
from bot.diagnosis.recovered_by_itself import examine
from bot.domain.diagnosis import CannotTell, Matches
from tests.cases import Tale, job_id


def forgotten(*, pause: int, at: int = 2, ids: tuple[int, ...] = (1, 2)) -> Tale:
    """Run a commits these, a checkpoint every three seconds; so many seconds later run b is restored from `at`, and
    Flink has forgotten run a."""
    tale = Tale().flink_runs("a").commits("a", *ids).becomes("a", "CANCELED")
    tale.now += timedelta(seconds=pause)
    return tale.forgets("a").flink_runs("b").came_from("b", at, f"s3://state/{job_id('a')}/chk-{at}")


@pytest.mark.parametrize(("pause", "is_open"), [(0, False), (1, True)])
def test_there_must_have_been_time_to_count_up_to_it(*, pause: int, is_open: bool) -> None:
    """11 s pass by themselves: for two checkpoints, and what clocks may differ."""
    found = which_point(forgotten(pause=pause).looked_at())

    assert (found is not None) is is_open


def test_a_high_id_is_none_that_was_counted_in_between() -> None:
    """A minute is too short for 40 checkpoints."""
    tale = forgotten(pause=60, at=41, ids=(40, 41))

    assert which_point(tale.looked_at()) is None
    assert isinstance(examine(tale.looked_at()), Matches)


def test_the_table_is_not_called_right_before_the_first_rows_tell() -> None:
    """They do, once they were counted."""
    tale = forgotten(pause=60)
    silent = examine(tale.looked_at())

    assert isinstance(silent, CannotTell)
    assert "may have been started without state after …002002" in silent.missing[0]
    assert isinstance(examine(tale.commits("b", 3).looked_at()), Matches)


def test_when_the_point_was_written_tells() -> None:
    """Before main had its commit: that of the first count. Later: another one under the same id."""
    tale = forgotten(pause=60).keeps_point("a", 2)
    assert which_point(tale.looked_at()) is None

    tale.points = [tale.points[0].model_copy(update={"written_at": tale.now - timedelta(seconds=20)})]

    assert "was written after the commit" in (which_point(tale.looked_at()) or "")


@pytest.mark.parametrize(
    ("reached", "number", "pause", "is_open"),
    [(2, 4, 0, False), (2, 7, 60, True), (2, 7, 11, False), (40, 42, 60, False)],
    ids=["at once", "it should have come further", "so far it would have come", "too far from 1"],
)
def test_an_id_above_mains_may_be_of_a_count_from_1(*, reached: int, number: int, pause: int, is_open: bool) -> None:
    """11 s pass by themselves, and a checkpoint takes three."""
    tale = Tale().flink_runs("a").commits("a", reached - 1, reached).forgets("a").flink_runs("a")
    tale.now += timedelta(seconds=pause)
    tale.came_from("a", number, f"s3://state/{job_id('a')}/chk-{number}")

    assert (which_point(tale.looked_at()) is not None) is is_open


def test_a_start_that_is_listed_hides_no_other() -> None:
    """Flink would list a later one."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")
    tale.now += timedelta(minutes=2)
    tale.flink_runs("b").came_from("b", 2, f"s3://state/{job_id('a')}/chk-2")

    assert which_point(tale.looked_at()) is None


@pytest.mark.parametrize(("pause", "is_open"), [(0, False), (60, True)])
def test_without_a_path_a_silent_run_may_have_had_the_id(*, pause: int, is_open: bool) -> None:
    """Run a had come to 3, a checkpoint every ten seconds; run b went on from there, later, and committed 8 to 10, from
    which run c goes on."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED")
    tale.now += timedelta(seconds=pause)
    tale.flink_runs("b").commits("b", 8, 9, 10).becomes("b", "CANCELED").forgets("a")

    told = which_point(tale.flink_runs("c", restored=10).looked_at())

    assert (told is not None and "run aaaaaa may have completed that id" in told) is is_open
