"""Since when the table was wrong: by the commits that the diagnosis shows, not by all of a run that is not kept."""

from collections.abc import Sequence

import pytest

from bot.domain.diagnosis import Diagnosis, Matches, ModeResult, Remedy
from bot.domain.entries import Diagnosed
from bot.domain.ids import JobId, SnapshotId
from bot.domain.review import first_wrong_at
from tests import orders_table as orders
from tests.decisions import F2
from tests.incidents import Story

ROWS = orders.ledger().rows
A, B = (tuple(row.snapshot_id for row in ROWS if row.job_id == run) for run in (orders.RUN_A, orders.RUN_B))


def first_wrong(story: Story, shown: Sequence[SnapshotId], last_good: SnapshotId, run: JobId | None) -> int | None:
    """Which commit it is, in the order in which they came; None: not known."""
    match = Matches(
        headline="x", reasons=(), rows=tuple(shown), last_good=last_good, wrong_run=run, remedy=Remedy.RESOLVE_FORK
    )
    diagnosis = Diagnosis(results=(ModeResult(mode=F2, examined=match),))
    story.opens().draws_the_ledger().says(Diagnosed(diagnosis=diagnosis))
    at = first_wrong_at(story.incident)
    return next((index for index, row in enumerate(ROWS) if row.committed_at == at), None)


def test_an_older_run_that_is_not_kept_was_right_at_first(stories: list[Story]) -> None:
    """Of two runs that wrote it, people chose the newer one: wrong is what the other wrote beside it."""
    assert first_wrong(stories[0], A[3:], A[2], orders.RUN_A) == 3


def test_a_commit_that_a_fork_brought_for_another_run_is_wrong_too(stories: list[Story]) -> None:
    """It comes before the fork's own, under the id of the run that wrote it."""
    assert first_wrong(stories[0], (A[-1], *B), A[-2], orders.RUN_B) == len(A) - 1


def test_what_is_shown_only_for_comparison_is_not_wrong(stories: list[Story]) -> None:
    """A run that repeats another's checkpoints: both are shown."""
    assert first_wrong(stories[0], (*A[2:], *B), A[-1], orders.RUN_B) == len(A)


@pytest.mark.parametrize(("shown", "last_good"), [((), orders.HEAD), ((A[-1],), A[-1])])
def test_where_nothing_wrong_is_shown_the_run_tells_it(
    stories: list[Story], shown: tuple[SnapshotId, ...], last_good: SnapshotId
) -> None:
    """A match that shows none of its commits."""
    assert first_wrong(stories[0], shown, last_good, orders.RUN_B) == len(A)


def test_without_a_wrong_run_what_is_shown_counts(stories: list[Story]) -> None:
    """As with files that are gone."""
    assert first_wrong(stories[0], A[1:3], A[0], None) == 1
