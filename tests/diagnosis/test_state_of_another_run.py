"""A run that has committed nothing, and whose restored checkpoint is not of the run that made the newest commit."""

from datetime import timedelta

import pytest

from bot.diagnosis import (
    recovered_by_itself,
    restarted_from_empty,
    restored_from_older_savepoint,
    rolled_back_while_running,
)
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from tests.cases import Tale, job_id
from tests.diagnosis.test_counted_since_the_start import counted_at

MODES = (recovered_by_itself, restarted_from_empty, restored_from_older_savepoint)


def checkpoint(run: str, number: int) -> str:
    """Where Flink keeps it."""
    return f"s3://state/{job_id(run)}/chk-{number}"


def handed_over(*reached: int) -> Tale:
    """Run a has committed these and was canceled."""
    reached = reached or (1, 2, 3)
    return Tale().flink_runs("a").remembers("a", *reached).commits("a", *reached).becomes("a", "CANCELED")


def taken_over(number: int, *, is_listed: bool = True) -> Tale:
    """Run b was started without state, wrote nothing, and a standby JobManager took it over from its own checkpoint."""
    tale = handed_over()
    if not is_listed:
        tale.forgets("a")
    return tale.flink_runs("b").came_from("b", number, checkpoint("b", number))


def from_an_empty_start() -> Tale:
    """Run c was restored from a checkpoint of run b, which began without state; main carries run a's of that id."""
    tale = handed_over(1, 2).flink_runs("b").commits("b", 1).becomes("b", "CANCELED").rolls_back_to("a", 2)
    return tale.flink_runs("c").came_from("c", 2, checkpoint("b", 2))


@pytest.mark.parametrize(
    "tale",
    [
        pytest.param(taken_over(3), id="own checkpoint of the same id"),
        pytest.param(taken_over(3, is_listed=False), id="own checkpoint, the other run is forgotten"),
        pytest.param(taken_over(11), id="own checkpoint of a higher id"),
    ],
)
def test_a_checkpoint_of_another_run_is_no_state_of_main(tale: Tale) -> None:
    """Its source stands where nobody knows: healthy was said, and that nothing had been started without state."""
    found = [mode.examine(tale.looked_at()) for mode in MODES]

    assert [CannotTell] * 3 == [type(each) for each in found]
    assert all("whose state run" in each.missing[-1] for each in found if isinstance(each, CannotTell))


@pytest.mark.parametrize("counted", [False, True])
def test_its_first_commits_end_no_doubt_before_their_rows_are_counted(*, counted: bool) -> None:
    """Run c was restored from the old line, below which main and job were rewound: it reads again what b brought."""
    tale = handed_over(1, 2).completes("a", 3, 4, 5).flink_runs("b").came_from("b", 2, checkpoint("a", 2))
    tale.commits("b", 3, 4).becomes("b", "CANCELED").flink_runs("c").came_from("c", 5, checkpoint("a", 5))
    old = counted_at(tale)
    tale.commits("c", 6, 7).completes("c", 7)

    case = tale.looked_at(evidence=counted_at(tale) if counted else old)
    found = recovered_by_itself.examine(case)

    assert isinstance(found, Matches if counted else CannotTell), found


def test_nor_is_one_of_a_run_that_began_without_state_and_was_rolled_back() -> None:
    """What main lost of run b lies in it: a hole is coming, so nothing is healthy (F6 matches)."""
    case = from_an_empty_start().looked_at()

    assert isinstance(rolled_back_while_running.examine(case), Matches)
    assert isinstance(recovered_by_itself.examine(case), Excluded)
    assert isinstance(restarted_from_empty.examine(case), CannotTell)
    assert isinstance(restored_from_older_savepoint.examine(case), CannotTell)


def upgraded(path: str) -> Tale:
    """Run b was restored from this, as the newest that run a has committed, and is silent."""
    return handed_over().flink_runs("b").came_from("b", 3, path)


def shown_to_go_on() -> Tale:
    """Run b was restored from run a's newest, and run c from a checkpoint of b, which had nothing to write."""
    tale = upgraded(checkpoint("a", 3)).completes("b", 4, 5).becomes("b", "CANCELED")
    return tale.flink_runs("c").came_from("c", 5, checkpoint("b", 5))


def failed_over() -> Tale:
    """Flink still lists all that run b has taken since it went on from run a's newest, and then its own failover."""
    return upgraded(checkpoint("a", 3)).remembers("b", 4, 5).came_from("b", 5, checkpoint("b", 5))


@pytest.mark.parametrize(
    "tale",
    [
        pytest.param(upgraded(checkpoint("a", 3)), id="a retained checkpoint"),
        pytest.param(upgraded(f"s3://saves/savepoint-{job_id('a')[:6]}-0123456789ab"), id="a savepoint"),
        pytest.param(upgraded("s3://saves/before-the-upgrade"), id="a savepoint that was moved"),
        pytest.param(shown_to_go_on(), id="of a run that went on from there"),
        pytest.param(failed_over(), id="its own, and it went on from there"),
        pytest.param(taken_over(11).commits("b", 12), id="it has committed"),
    ],
)
def test_a_path_that_leads_to_the_newest_commit_raises_no_doubt(tale: Tale) -> None:
    """So most jobs look after an upgrade while their source is idle."""
    case = tale.looked_at()

    assert isinstance(recovered_by_itself.examine(case), Matches)
    assert isinstance(restarted_from_empty.examine(case), Excluded)
    assert isinstance(restored_from_older_savepoint.examine(case), Excluded)


@pytest.mark.parametrize(("number", "expected"), [(200, CannotTell), (500, Matches)])
def test_an_id_that_no_start_without_state_can_have_reached_tells(number: int, expected: type) -> None:
    """A checkpoint every three seconds: in the minute since the newest commit twenty, or some more, not hundreds."""
    tale = handed_over(number - 2, number - 1)
    tale.now += timedelta(minutes=1)
    tale.flink_runs("b").came_from("b", number, checkpoint("b", number))

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), expected)


def test_a_chain_that_leads_to_a_forgotten_run_is_not_known_to_lead_on() -> None:
    """Where run b began, nobody tells any more."""
    tale = shown_to_go_on().forgets("b")

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), CannotTell)


def test_an_own_checkpoint_above_an_older_origin_is_not_known_to_pair() -> None:
    """Run b went on from below the newest commit, and its failover hides that."""
    tale = handed_over().flink_runs("b").came_from("b", 2, checkpoint("a", 2)).remembers("b", 3, 4)
    tale.came_from("b", 4, checkpoint("b", 4))

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), CannotTell)
