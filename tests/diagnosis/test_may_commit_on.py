"""`no-advance`: a job is never restored beside a writer that may go on where nobody looks."""

import pytest

from bot.diagnosis import no_snapshot_advanced as mode
from bot.domain.diagnosis import CannotTell, Matches
from tests.cases import Tale, job_id
from tests.diagnosis.test_no_snapshot_advanced import forgotten, given_up, later, looping
from tests.found import point, points


def elsewhere() -> Tale:
    """Run a failed; run b commits, and the cluster that is asked does not know it."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FAILED").commits("b", 4, 5, 6)


def back_again() -> Tale:
    """The run failed three times, and commits since a moment."""
    return looping().commits("a", 4)


@pytest.mark.parametrize(
    ("tale", "said"),
    [
        (elsewhere(), "whether run bbbbbb still writes"),
        (later(elsewhere(), hours=5), "whether run bbbbbb still writes"),
        (Tale().flink_runs("a").commits("a", 1, 2, 3).forgets("a"), "whether run aaaaaa still writes"),
        (Tale().flink_runs("a").commits("a", 1).forgets("a"), "whether run aaaaaa still writes"),
        (Tale().commits("z", 1, 2).flink_runs("a").becomes("a", "FAILED"), "whether run zzzzzz still writes"),
        (later(given_up(), minutes=1).commits("a", 4), "who writes the table as run aaaaaa"),
        (back_again(), "whether run aaaaaa comes back"),
    ],
    ids=["elsewhere", "elsewhere, long ago", "forgotten just now", "no rhythm", "replaced just now", "after its end",
         "after its failure"],
)  # fmt: skip
def test_a_job_is_not_restored_beside_a_writer_that_may_go_on(tale: Tale, said: str) -> None:
    """A fork would write each row twice: who made the newest commit must be known to have stopped."""
    newest = tale.snapshots[-1]
    pairing = points(point(newest.job_id or job_id("a"), newest.checkpoint_id or 0, newest.snapshot_id))

    found = mode.examine(tale.looked_at(pairing=pairing))

    assert isinstance(found, CannotTell)
    assert 1 == len(found.missing)
    assert said in found.missing[0]


@pytest.mark.parametrize(
    "tale",
    [
        later(Tale().commits("z", 1, 2).flink_runs("a").becomes("a", "FAILED"), minutes=1),
        later(back_again(), minutes=1),
    ],
    ids=["another run came after it", "silent again"],
)
def test_a_writer_that_was_replaced_or_fell_silent_does_not_go_on(tale: Tale) -> None:
    """An upgrade that never committed, and a recovery that did not last."""
    assert isinstance(mode.examine(tale.looked_at()), Matches)


def test_a_job_that_flink_forgot_is_looked_for_elsewhere_first() -> None:
    """Its silence shows that nothing commits, and not that nothing runs."""
    found = mode.examine(forgotten().looked_at())

    assert isinstance(found, Matches)
    assert any("Flink has forgotten run aaaaaa: see that no other cluster runs it" in each for each in found.reasons)
