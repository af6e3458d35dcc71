"""What a second run that went on from the job's state tells of a leaked manifest where little is seen of it: it reads
the manifest's rows, whatever uid it has."""

import pytest

from bot.domain.findings import LeakStanding
from tests.cases import Tale
from tests.evidence.test_standing_after_new_starts import chk, stand
from tests.evidence.test_standing_of_two_jobs import NEW


def forked(before: int, *, since: int = 0, is_new_uid: bool = True) -> Tale:
    """Run g went on from checkpoint 7 of run a, which committed on beside it: so many commits of run g came before
    run a wrote the manifest of 20, passed it over and died, and so many since."""
    tale = Tale().flink_runs("a").commits("a", 4, 5, 6, 7).completes("a", 7).flink_runs("g")
    tale.came_from("g", 7, chk("a", 7))
    for checkpoint in range(8, 8 + before + since):
        tale.commits("g", checkpoint)
        if is_new_uid:
            tale.by_sink(NEW)
        if checkpoint < 8 + before:
            tale.commits("a", checkpoint)
        if checkpoint == 7 + before:
            tale.completes("a", 19, 20).leaves_manifest("a", 20).commits("a", 21).completes("a", 21)
            tale.becomes("a", "FAILED")
    return tale


@pytest.mark.parametrize(("before", "is_new_uid"), [(1, True), (2, True), (1, False), (4, False)])
def test_a_fork_that_flink_forgot_leaves_it_open(before: int, is_new_uid: bool) -> None:
    """It committed before the manifest was written, and goes on."""
    tale = forked(before, since=2, is_new_uid=is_new_uid).forgets("g")

    assert stand(tale) == [LeakStanding.UNTOLD]
