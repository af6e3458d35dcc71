"""Main was rolled back under a run that has ended since without a commit: a restart from its newest checkpoint goes on
above the hole."""

from datetime import timedelta

import pytest

from bot.diagnosis import rolled_back_while_running
from bot.domain.diagnosis import Excluded, Matches
from bot.domain.suspicion import propose_window
from tests.cases import Tale

ENDS = ["FAILED", "CANCELED", "FINISHED"]


def under_its_run(*, upgraded: bool = False) -> Tale:
    """Main goes back to 2 while run a lives, or run b, which was restored from run a's 3."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    if upgraded:
        tale.becomes("a", "FINISHED").flink_runs("b", restored=3)
    return tale.rolls_back_to("a", 2)


def ends(tale: Tale, run: str, state: str, *, after_s: int = 20) -> Tale:
    """The run, so many seconds later."""
    tale.now += timedelta(seconds=after_s)
    return tale.becomes(run, state)


@pytest.mark.parametrize("state", ENDS)
@pytest.mark.parametrize("upgraded", [False, True])
def test_a_restart_would_leave_the_hole(upgraded: bool, state: str) -> None:
    """The run's last checkpoint holds what main lost; nobody is sent to stop it once more."""
    tale = ends(under_its_run(upgraded=upgraded), "b" if upgraded else "a", state)

    found = rolled_back_while_running.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (tale.at("a", 2), None) == (found.last_good, found.wrong_run)
    assert f"is {state} by now" in " ".join(found.reasons)
    assert tale.at("a", 2) == propose_window(tale.table, tale.jobs).trusted


@pytest.mark.parametrize("state", ENDS)
def test_a_run_that_was_stopped_first_is_as_a_rewind_asks(state: str) -> None:
    """By clocks that may differ. One that failed at about that time was not stopped."""
    before = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", state).rolls_back_to("a", 2)
    at_once = ends(under_its_run(), "a", state, after_s=3)

    assert isinstance(rolled_back_while_running.examine(before.looked_at()), Excluded)
    expected = Matches if state == "FAILED" else Excluded
    assert isinstance(rolled_back_while_running.examine(at_once.looked_at()), expected)


def test_a_run_restored_from_the_target_since_settles_it() -> None:
    """And so does a table that is set back further, once the run has ended."""
    restarted = ends(under_its_run(), "a", "FAILED").flink_runs("b", restored=2)
    further = ends(under_its_run(), "a", "FAILED").rolls_back_to("a", 1)

    assert isinstance(rolled_back_while_running.examine(restarted.looked_at()), Excluded)
    assert isinstance(rolled_back_while_running.examine(further.looked_at()), Excluded)


def test_it_has_lost_nothing_that_its_state_holds_where_it_was_rewound() -> None:
    """Restored from the target before it failed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 2).flink_runs("a", restored=2)
    tale = ends(tale, "a", "FAILED")

    assert isinstance(rolled_back_while_running.examine(tale.looked_at()), Excluded)
