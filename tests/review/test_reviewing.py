"""The review beside its incident, its terms, and what it proposes."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from bot.incident.contract_terms import observed_terms
from bot.incident.diagnosis import Diagnosis, Matches, ModeResult, Remedy
from bot.incident.entries import Diagnosed
from bot.incident.review import first_wrong_at, metrics
from bot.observation.contract import TableContract
from bot.observation.evidence import Observation
from bot.observation.flink import CheckpointKind, StoredCheckpoint
from bot.observation.ids import CheckpointId, JobId, SnapshotId
from bot.observation.looked import Seen
from bot.observation.sentences import span
from tests import orders_table as orders
from tests.cases import NOON, Tale, job_id
from tests.decisions import F2
from tests.incidents import Story

MINUTE = timedelta(minutes=1)


def test_every_span_is_between_two_entries(stories: list[Story]) -> None:
    """Detected after the commit that shows it, diagnosed, approved, proven, told: a minute an entry here."""
    story = stories[0].opens().draws_the_ledger().diagnoses()
    first_half = {each.name: each.words for each in metrics(story.incident)}
    story.proposes().approves().rewinds().verifies().notifies()

    took = {each.name: each.took for each in metrics(story.incident)}

    wrong = next(row for row in orders.ledger().rows if row.snapshot_id == orders.HEAD)
    assert took["detect"] == story.incident.opened_at - wrong.committed_at
    assert (took["diagnose"], took["approve"]) == (5 * MINUTE, MINUTE)
    assert first_half["recover"] == "not known"
    assert MINUTE < (took["recover"] or MINUTE) < (took["notify"] or MINUTE)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.5, "0.5 s"), (59.6, "1 min"), (250, "4 min 10 s"), (90_000, "1 d 1 h"), (3600, "1 h")],
)
def test_a_span_is_told_in_its_two_largest_units(seconds: float, words: str) -> None:
    """Short enough to be read aloud."""
    assert span(timedelta(seconds=seconds)) == words


ARRIVAL = "What a checkpoint completes reaches the table."


@pytest.mark.parametrize(("allowed", "holds"), [(None, False), ("50", None), ("5", False)])
def test_how_long_a_commit_may_be_missing_is_the_tables_own_to_say(allowed: str | None, holds: bool | None) -> None:
    """Seventeen checkpoints without a commit: too many for ten, and nothing is known where fifty may be empty."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", *range(3, 20))
    if allowed is not None:
        tale.properties["flink.max-continuous-empty-commits"] = allowed

    told = {each.term: each for each in observed_terms(tale.case().observation, TableContract(), None)}

    assert told[ARRIVAL].holds is holds


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


def looked(*, by_pyiceberg: bool) -> Observation:
    """Two commits are listed, two more have expired; storage keeps the restore point of the first."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).counts(total_records=30).commits("a", 4).expires("a", 1, 2)
    if by_pyiceberg:
        tale.snapshots[0] = tale.snapshots[0].model_copy(update={"parent_id": None})
    kept = StoredCheckpoint(
        path=f"s3://state/{job_id('a')}/chk-1",
        kind=CheckpointKind.CHECKPOINT,
        checkpoint_id=CheckpointId(1),
        job_id=job_id("a"),
        written_at=NOON,
    )
    points = Seen[StoredCheckpoint](source="s3://state", values=(kept,))
    return tale.case().observation.model_copy(update={"checkpoints": points})


@pytest.mark.parametrize("by_pyiceberg", [False, True])
def test_what_has_expired_is_missed_by_restore_points_and_readers(by_pyiceberg: bool) -> None:
    """The young commit that is left shows how short the time was, whoever took the others out."""
    contract = TableContract(keep_snapshots=timedelta(days=5))

    found = observed_terms(looked(by_pyiceberg=by_pyiceberg), contract, None)
    [beside, promised] = [each for each in found if each.term.startswith("Snapshots")]

    assert (False, False) == (beside.holds, promised.holds)
    assert "1 of 1 restore points is older than the oldest listed commit" in beside.observed
    assert "and those before it were expired" in promised.observed
