"""Main goes back to below the snapshot at which the window of an incident begins."""

import pytest

from bot.diagnosis import recovered_by_itself, rolled_back_while_running, source_positions_skipped
from bot.diagnosis._asked import lacking
from bot.domain.diagnosis import Case, Excluded, Matches, Remedy
from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId
from bot.domain.table import Window
from bot.service.observing import readers_since
from tests.cases import Tale, job_id
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import World


def gone_back(*above: int) -> tuple[Tale, SnapshotId]:
    """An incident looks at what came after 6; then main goes back to 4, and the job goes on with 8 and 9."""
    tale = Tale().flink_runs("a").completes("a", *range(1, 7)).commits("a", *range(1, 7))
    since = tale.at("a", 6)
    tale.completes("a", *above)
    if above:
        tale.commits("a", *above)
    return tale.rolls_back_to("a", 4).completes("a", 8, 9).commits("a", 8, 9), since


@pytest.mark.parametrize("above", [(), (7,)], ids=["up to the beginning", "above it too"])
def test_it_is_told_with_all_that_main_lost(above: tuple[int, ...]) -> None:
    """The rows were written, and the last good snapshot is on main."""
    tale, since = gone_back(*above)
    case = tale.looked_at(since=since, missing=20 + 10 * len(above))

    found, skipped = rolled_back_while_running.examine(case), source_positions_skipped.examine(case)

    assert isinstance(found, Matches)
    assert (tale.at("a", 4), job_id("a"), Remedy.REWIND_TABLE_AND_JOB) == (
        found.last_good,
        found.wrong_run,
        found.remedy,
    )
    assert {tale.at("a", c) for c in (5, 6, *above, 8, 9)} == set(found.rows)
    assert isinstance(skipped, Excluded)
    assert "(F6)" in skipped.reason


def test_it_is_not_healthy_before_the_job_goes_on() -> None:
    """Nothing is missing below the head yet."""
    tale = Tale().flink_runs("a").completes("a", *range(1, 7)).commits("a", *range(1, 7))
    since = tale.at("a", 6)

    found = recovered_by_itself.examine(tale.rolls_back_to("a", 4).looked_at(since=since))

    assert isinstance(found, Excluded)
    assert "rolled back" in found.reason


def test_a_window_begins_on_main() -> None:
    """Whoever builds a case or asks a task: what both answer for reaches down to where main left the line."""
    tale, since = gone_back(7)
    case: Case = tale.case(since=since)

    asked = Ask(
        observation=case.observation, window=Window(since=since, until=case.window.until), contract=case.contract
    )

    assert tale.at("a", 4) == case.window.since == asked.window.since
    assert [5, 6, 7, 8, 9] == [s.checkpoint_id for s in Window(since=since, until=case.window.until).of(tale.table)]
    before = tale.table.by_id[tale.at("a", 5)].committed_at
    assert readers_since(tale.table, Window(since=since, until=case.window.until)) < before


def test_evidence_of_the_narrower_window_is_asked_again() -> None:
    """It was asked before anybody went back, for less than is in doubt now."""
    world = World()
    for _ in range(6):
        world.reads(2)
    looked = look(world, since=world.tale.at("a", 6))
    world.rolls_back_to(world.tale.at("a", 4))
    world.reads(2)

    assert lacking(case_of(world, looked), "missing_positions")
    assert not lacking(case_of(world, look(world, since=world.tale.at("a", 6))), "missing_positions")


def test_a_line_that_main_shares_nothing_with_begins_nowhere() -> None:
    """As when all that is older was expired: then everything that is listed is looked at."""
    tale, since = gone_back()
    tale.expires("a", 1, 2, 3, 4)

    assert tale.case(since=since).window.since is None
