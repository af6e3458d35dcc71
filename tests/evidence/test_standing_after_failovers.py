"""A manifest below what its run has committed: passed over, read again, or nobody can tell which."""

from datetime import timedelta

import pytest

from bot.domain.findings import LeakStanding
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.ids import CheckpointId
from bot.domain.looked import Seen
from spark_tasks._standing import standing
from tests.cases import Tale, job_id


def stands(tale: Tale, *points: StoredCheckpoint) -> LeakStanding:
    """Where the tale's one manifest stands, with these restore points on storage."""
    world = tale.looked_at().observation
    seen = Seen[StoredCheckpoint](source="file:/state", values=points)
    return standing(tale.manifests[0], world.model_copy(update={"checkpoints": seen}))[0]


def in_flight() -> Tale:
    """Checkpoint 3 of run a was in progress when it failed and went back to 2, and 4 was committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).fails("a")
    return tale.flink_runs("a", restored=2).commits("a", 4)


def test_what_was_in_flight_at_the_last_failover_is_given_up() -> None:
    """Flink shows the restore below it."""
    assert stands(in_flight()) is LeakStanding.GIVEN_UP


def test_a_second_failover_turns_nothing_into_a_loss() -> None:
    """Flink shows only the newest restore: the one that read checkpoint 3 again is forgotten."""
    assert stands(in_flight().fails("a").flink_runs("a", restored=4)) is LeakStanding.UNTOLD


def test_a_failure_after_it_is_enough_to_doubt() -> None:
    """The run is on its way down; no restore is shown yet."""
    tale = Tale().flink_runs("a", restored=1).commits("a", 5).leaves_manifest("a", 3).fails("a")

    assert stands(tale) is LeakStanding.UNTOLD


def test_a_run_that_flink_forgot_accuses_nobody() -> None:
    """Nothing shows whether checkpoint 3 was completed."""
    assert stands(in_flight().forgets("a")) is LeakStanding.UNTOLD


@pytest.mark.parametrize("over", [False, True])
def test_what_flink_lists_as_completed_was_passed_over(over: bool) -> None:
    """Also after a failover: a restore below the head under the same job id, then a crash (F3)."""
    tale = Tale().flink_runs("a", restored=1).commits("a", 5)
    tale.now += timedelta(seconds=1)
    tale.leaves_manifest("a", 3).fails("a").flink_runs("a", restored=4).remembers("a", 3, 4)

    assert stands(tale.becomes("a", "CANCELED") if over else tale) is LeakStanding.DROPPED


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(CheckpointKind.CHECKPOINT, LeakStanding.DROPPED), (CheckpointKind.SAVEPOINT, LeakStanding.UNTOLD)],
)
def test_a_restore_point_that_lists_it_shows_that_it_was_completed(
    kind: CheckpointKind, expected: LeakStanding
) -> None:
    """Flink has forgotten, its state on storage has not. But no failover goes back to a savepoint."""
    tale = in_flight().forgets("a")
    point = StoredCheckpoint(
        path="file:/state/chk-3",
        kind=kind,
        checkpoint_id=CheckpointId(3),
        job_id=job_id("a"),
        written_at=tale.now,
        pending_manifests=(tale.manifests[0].path.rsplit("/", 1)[-1],),
        is_committer_read=True,
    )

    assert stands(tale, point) is expected


def test_a_run_that_never_went_down_passes_over_what_lies_below() -> None:
    """A start without state under the old job id: nothing was ever in flight at a failure (F4)."""
    tale = Tale().flink_runs("a").commits("a", 5).starts_again("a").leaves_manifest("a", 1)

    assert stands(tale) is LeakStanding.DROPPED


def test_a_run_cancelled_before_it_completed_the_checkpoint_does_not_tell() -> None:
    """What was in flight then is read again by whoever goes on from below."""
    tale = Tale().flink_runs("a").commits("a", 5).starts_again("a").completes("a", 1).leaves_manifest("a", 2)

    assert stands(tale.becomes("a", "CANCELED")) is LeakStanding.UNTOLD


def test_a_failover_of_a_start_without_state_releases_nothing_of_the_run_before() -> None:
    """Same job id, another count: checkpoint 2 of the new start is not below checkpoint 9 of the old one."""
    tale = Tale().flink_runs("a").commits("a", 8).leaves_manifest("a", 9).starts_again("a")
    tale.remembers("a", 1, 2).came_from("a", 2, f"file:/state/{job_id('a')}/chk-2")

    assert stands(tale) is not LeakStanding.GIVEN_UP


def ended_with_three() -> Tale:
    """Run a left checkpoint 3 behind, not committed, and ended; run b came next."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).becomes("a", "CANCELED")
    return tale.flink_runs("b")


def test_a_next_run_that_began_behind_it_without_its_state_lost_it() -> None:
    """Flink shows a restore from a later point of run a, which would have committed what it owed."""
    tale = ended_with_three().came_from("b", 5, f"file:/state/{job_id('a')}/chk-5").commits("b", 6)

    assert stands(tale) is LeakStanding.LOST_STATE


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ((3, 4, 5), LeakStanding.GIVEN_UP),
        ((1, 2, 3), LeakStanding.UNTOLD),
        ((3, 5), LeakStanding.UNTOLD),
        ((7, 8), LeakStanding.UNTOLD),
    ],
)
def test_a_whole_history_tells_where_the_next_run_began(history: tuple[int, ...], expected: LeakStanding) -> None:
    """Its newest restore is a failover's; ids rise by one from the restored one, or from nothing. What began with
    nothing may have begun at the earliest."""
    tale = ended_with_three().remembers("b", *history).commits("b", *history)
    tale.came_from("b", history[-1], f"file:/state/{job_id('b')}/chk-{history[-1]}")

    assert stands(tale) is expected


def test_a_point_of_an_older_run_is_below_it() -> None:
    """A rewind to a savepoint of the run before last reads everything after it again."""
    tale = Tale().flink_runs("z").commits("z", 1, 2).becomes("z", "FINISHED").flink_runs("a")
    tale.leaves_manifest("a", 4).becomes("a", "CANCELED").flink_runs("b")

    assert stands(tale.came_from("b", 2, f"file:/state/savepoint-{job_id('z')[:6]}-0a1b2c")) is LeakStanding.GIVEN_UP


def test_a_point_of_a_run_that_came_later_releases_nothing() -> None:
    """Run b began with nothing, run c came from b: checkpoint 2 of b is not below checkpoint 3 of a."""
    tale = ended_with_three().remembers("b", 1, 2).commits("b", 1, 2).becomes("b", "FINISHED").flink_runs("c")

    assert stands(tale.came_from("c", 2, f"file:/state/{job_id('b')}/chk-2")) is LeakStanding.UNTOLD


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize(("first", "expected"), [(1, LeakStanding.UNTOLD), (9, LeakStanding.LOST_STATE)])
def test_what_a_next_run_has_lost_a_later_one_that_began_with_nothing_may_bring(
    first: int, expected: LeakStanding, *, is_listed: bool
) -> None:
    """Run c began at the earliest, or where its offsets say; or it went on from run b."""
    tale = ended_with_three().came_from("b", 5, f"file:/state/{job_id('a')}/chk-5").commits("b", 6, 7, 8)
    tale.completes("b", 8).becomes("b", "CANCELED").flink_runs("c")
    if first > 1:
        tale.came_from("c", 8, f"file:/state/{job_id('b')}/chk-8")
    tale.commits("c", first)

    assert stands(tale if is_listed else tale.forgets("c")) is expected


def test_before_anybody_goes_on_it_is_open() -> None:
    """Whether its rows are read again depends on the point from which the job is restored."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).becomes("a", "CANCELED")

    assert stands(tale) is LeakStanding.UNTOLD


def test_a_run_beside_it_is_no_successor() -> None:
    """Another job that writes the table all along says nothing of the rows of run a."""
    tale = Tale().flink_runs("b").flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3)

    assert stands(tale.becomes("a", "CANCELED").commits("b", 1, 2)) is LeakStanding.UNTOLD
