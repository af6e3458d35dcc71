"""The checkpoints of a run are compared with the job's own commits, not with those of a guest that came last."""

import pytest

from bot.diagnosis import no_snapshot_advanced, recovered_by_itself
from bot.domain.diagnosis import Excluded, Matches
from bot.domain.ids import DRAINED, OperatorId
from tests.cases import Tale

GUEST = OperatorId("ee" * 16)


def visited(checkpoint: int) -> Tale:
    """The job is at its checkpoint 500 when a backfill commits last."""
    tale = Tale().flink_runs("a")
    for own in range(497, 501):
        tale.completes("a", own).commits("a", own)
    return tale.commits("z", checkpoint).by_sink(GUEST)


@pytest.mark.parametrize("checkpoint", [3, 900, DRAINED])
def test_a_guest_that_commits_last_is_no_silence(checkpoint: int) -> None:
    """Healthy was excluded: "Flink completed 497 checkpoints since 3, and none of them was committed"."""
    tale = visited(checkpoint)

    found = recovered_by_itself.examine(tale.looked_at())
    dead = no_snapshot_advanced.examine(tale.becomes("a", "FAILED").looked_at())

    assert isinstance(found, Matches)
    assert any("rise from 497" in each and "to 500" in each for each in found.reasons)
    assert isinstance(dead, Matches)
    assert any("checkpoint 500 of run aaaaaa" in each for each in dead.reasons)


def test_a_guest_does_not_hide_the_jobs_silence() -> None:
    """Its commits do not count as the job's."""
    tale = visited(900).completes("a", *range(501, 520))

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, Excluded)
    assert "19 checkpoints of run aaaaaa since 500" in found.reason
