"""A mistaken rollback is set forward again, and what the job had committed meanwhile is lost."""

import pytest

from bot.diagnosis import recovered_by_itself, restore_misses_flink_manifest, rolled_back_while_running
from bot.diagnosis import source_positions_skipped as skipped
from bot.domain.diagnosis import Excluded, Matches
from bot.domain.rollbacks import Sequel, rollbacks
from bot.domain.suspicion import propose_window
from bot.domain.table import Window
from tests.cases import Tale, job_id
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import World


def set_forward(*after: int) -> Tale:
    """1 to 6; main goes back to 4, the job commits 7 there, main is set to 6 again, and the job goes on."""
    tale = Tale().flink_runs("a").completes("a", *range(1, 7)).commits("a", *range(1, 7))
    tale.rolls_back_to("a", 4).completes("a", 7).commits("a", 7).rolls_back_to("a", 6)
    return tale.completes("a", *after).commits("a", *after) if after else tale


def test_what_was_committed_meanwhile_is_lost() -> None:
    """Everything up to 6 is there: it is the last good one, and the loss is no source's."""
    tale = set_forward(8, 9)
    case = tale.looked_at(since=tale.at("a", 1), missing=10)

    found, by_source = rolled_back_while_running.examine(case), skipped.examine(case)

    assert isinstance(found, Matches)
    assert (tale.at("a", 6), job_id("a")) == (found.last_good, found.wrong_run)
    assert {tale.at("a", c) for c in (7, 8, 9)} == set(found.rows)
    assert any("had been set to" in reason for reason in found.reasons)
    assert isinstance(by_source, Excluded)
    assert "(F6)" in by_source.reason


def test_it_is_told_before_the_job_goes_on() -> None:
    """Main must not be set to 7 for it: that would lose 5 and 6."""
    tale = set_forward()
    case = tale.looked_at(since=tale.at("a", 1))

    found, healthy = rolled_back_while_running.examine(case), recovered_by_itself.examine(case)

    assert isinstance(found, Matches)
    assert tale.at("a", 6) == found.last_good
    assert not any("would undo the rollback" in reason for reason in found.reasons)
    assert isinstance(healthy, Excluded)


def test_its_window_begins_where_main_was_set_to() -> None:
    """The lost commit is in it, although it stands on an older one."""
    tale = set_forward(8, 9)

    proposed = propose_window(tale.table, tale.jobs)

    assert (tale.at("a", 6), tale.at("a", 6)) == (proposed.window.since, proposed.trusted)
    assert [7, 8, 9] == [s.checkpoint_id for s in proposed.window.of(tale.table)]
    later = Window(since=tale.at("a", 8), until=proposed.window.until)
    assert [9] == [s.checkpoint_id for s in later.of(tale.table)]


def test_a_run_that_was_restored_where_main_was_set_to_reads_it_again() -> None:
    """Table and job went forward together."""
    tale = set_forward().becomes("a", "CANCELED").flink_runs("b", restored=6).commits("b", 7, 8)

    (found,) = rollbacks(tale.table, tale.jobs.values)

    assert (tale.at("a", 4), tale.at("a", 6), Sequel.OTHER_RUN) == (found.fork, found.target, found.sequel)


def test_a_commit_above_a_hole_is_not_taken_for_good() -> None:
    """Main goes back, forward, and back to the other line again: each line lost what the other one had."""
    tale = set_forward(8)
    tale.rolls_back_to("a", 7).commits("a", 9)
    case = tale.looked_at(missing=30)

    lost, found = rollbacks(tale.table, tale.jobs.values), rolled_back_while_running.examine(case)

    told = [[tale.table.by_id[s].checkpoint_id for s in each.left] for each in lost]
    assert ([[5, 6], [8]], [tale.at("a", 4), tale.at("a", 7)]) == (told, [each.target for each in lost])
    assert isinstance(found, Matches)
    assert tale.at("a", 4) == found.last_good


def test_a_missing_manifest_is_not_cured_by_losing_what_main_has() -> None:
    """The job fails for the manifest of 7; with main at 7 it would restart, without 5 and 6."""
    tale = set_forward().becomes("a", "RESTARTING").misses_manifest("a", "a", 7, times=3)

    found = restore_misses_flink_manifest.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert not any("restarts by itself" in reason for reason in found.reasons)
    assert tale.at("a", 6) == found.last_good


@pytest.mark.parametrize("is_set_forward", [True, False])
def test_what_was_found_before_it_says_nothing_of_it(is_set_forward: bool) -> None:
    """The head that was looked at is on main again, or still, and the rows that were lost came after it."""
    world = World()
    for _ in range(4):
        world.reads(2)
    seen, looked = world.tale.head, look(world)
    assert seen is not None
    if is_set_forward:
        world.rolls_back_to(world.chain()[1].snapshot_id)
    world.reads(2)
    world.rolls_back_to(seen)
    world.reads(2)

    before, after = case_of(world, looked), case_of(world, look(world))

    for case in (before, after):
        assert isinstance(rolled_back_while_running.examine(case), Matches)
        assert isinstance(recovered_by_itself.examine(case), Excluded)
