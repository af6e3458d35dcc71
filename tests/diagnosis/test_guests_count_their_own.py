"""The checkpoints of a run are compared with the job's own commits, not with those of a guest that came last."""

import pytest

from bot.diagnosis import commit_not_made_yet, no_snapshot_advanced, recovered_by_itself
from bot.domain.diagnosis import Excluded, Matches, Remedy
from bot.domain.ids import DRAINED, OperatorId
from tests.cases import Tale, job_id
from tests.found import point, points

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


@pytest.mark.parametrize("checkpoint", [3, 900, DRAINED])
def test_a_restore_point_of_the_job_pairs_beneath_a_guest(checkpoint: int) -> None:
    """The sink's walk passes over the guest: table and job were to be rewound together, which drops its rows."""
    tale = visited(checkpoint).becomes("a", "FAILED")
    pairing = points(point(job_id("a"), 500, tale.at("a", 500)))

    found = no_snapshot_advanced.examine(tale.looked_at(pairing=pairing))

    assert isinstance(found, Matches)
    assert (Remedy.RESTORE_JOB_ONLY, None) == (found.remedy, found.wrong_run)
    assert any("savepoint-aaaaaa-500 (checkpoint 500) pairs with it" in each for each in found.reasons)


def test_a_drained_guest_does_not_explain_why_the_jobs_commits_wait() -> None:
    """Five manifests waited, and no mode said so: the guest's Long.MAX_VALUE was taken for the job's own."""
    tale = visited(DRAINED).completes("a", *range(501, 506)).leaves_manifest("a", *range(501, 506))

    found = commit_not_made_yet.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert "the table has 500" in found.reasons[0]
