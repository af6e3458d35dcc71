"""Main was rolled back, and what it lost has expired with its files: nobody can call the table right."""

import pytest

from bot.diagnosis import no_snapshot_advanced, recovered_by_itself
from bot.domain.diagnosis import CannotTell, Matches
from bot.domain.table import HeadMove
from tests.cases import Tale


def set_back(*lost: int) -> Tale:
    """Run a committed up to checkpoint 5, main was set back, and these have expired; the log goes with them."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    if lost:
        tale.rolls_back_to("a", min(lost) - 1).expires("a", *lost)
        tale.moves = [HeadMove(at=tale.now, snapshot_id=tale.head)] if tale.head else []
    return tale


@pytest.mark.parametrize("completed", [(), (3, 4, 5)], ids=["forgotten", "listed"])
def test_the_job_is_not_healthy_while_it_has_not_committed_since(completed: tuple[int, ...]) -> None:
    """No orphan is left, and no checkpoint need be listed by Flink any more."""
    tale = set_back(3, 4, 5).completes("a", *completed)

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, CannotTell)
    assert any("3 snapshots newer than …002002" in each for each in found.missing)
    assert any(each.endswith("Ask again when the job has committed") for each in found.missing)


def test_a_table_that_stands_still_is_not_called_right() -> None:
    """The job died before its next commit."""
    found = no_snapshot_advanced.examine(set_back(3, 4, 5).becomes("a", "FAILED").looked_at())

    assert isinstance(found, CannotTell)
    assert any("rolled back and expired" in each for each in found.missing)
    assert any("No run is alive to commit: look who has moved main" in each for each in found.missing)


def test_evidence_vouches_for_what_lies_below_a_later_commit() -> None:
    """Positions of lost rows would be missing there."""
    tale = set_back(3, 4, 5).commits("a", 6)

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


def test_expiry_of_the_oldest_leaves_a_table_healthy() -> None:
    """They were below all that is listed."""
    tale = set_back().expires("a", 1, 2, 3)

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)
