"""What became of a leaked manifest, told by what its job did after it: failovers, drains and new starts."""

from datetime import datetime, timedelta

import pytest

from bot.domain.findings import LeakStanding
from bot.domain.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.domain.ids import DRAINED, CheckpointId, OperatorId
from bot.domain.looked import Seen
from bot.history.uncommitted import standing
from tests.cases import Tale, job_id

NEW = OperatorId("ee" * 16)
"""The operator id of another sink, or of the job's own after it got a new uid."""


HOUR = timedelta(hours=1)


def stand(tale: Tale, *points: StoredCheckpoint) -> list[LeakStanding]:
    """Where the tale's manifests stand, with these restore points on storage."""
    world = tale.looked_at().observation
    seen = Seen[StoredCheckpoint](source="file:/state", values=points)
    world = world.model_copy(update={"checkpoints": seen})
    return [standing(leak, world)[0] for leak in tale.manifests]


def dropped() -> Tale:
    """Run a committed 1 to 5, was started again without state, and its 1 to 4 were dropped; then it was stopped."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "CANCELED")
    tale.now += HOUR
    tale.starts_again("a").completes("a", 1, 2, 3, 4).leaves_manifest("a", 1, 2, 3, 4)
    tale.now += HOUR
    return tale.becomes("a", "CANCELED")


def went_past() -> Tale:
    """The same, but the start without state went on, and came past the old ids; Flink lists its newest ones."""
    tale = dropped().completes("a", 5, 6).commits("a", 6)
    a = tale.runs["a"]
    tale.runs["a"] = a.model_copy(update={"checkpoints": a.checkpoints[:1], "completed_count": 6})
    return tale.becomes("a", "CANCELED")


def chk(run: str, checkpoint: int) -> str:
    """Where Flink keeps that checkpoint: the same folder for each start under one job id."""
    return f"file:/state/{job_id(run)}/chk-{checkpoint}"


def on_storage(path: str, checkpoint: int, written_at: datetime, pending: tuple[str, ...] = ()) -> StoredCheckpoint:
    """A restore point of run a as a listing shows it."""
    return StoredCheckpoint(
        path=path,
        kind=CheckpointKind.CHECKPOINT,
        checkpoint_id=CheckpointId(checkpoint),
        job_id=job_id("a"),
        written_at=written_at,
        pending_manifests=pending,
        is_committer_read=True,
    )


def test_what_was_dropped_is_read_again_from_a_point_before_the_empty_start() -> None:
    """The restart under a new job id: checkpoint 5 is the old start's, and lies before 1 to 4 of the empty one."""
    tale = dropped().flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6, 7, 8, 9)

    assert stand(tale) == [LeakStanding.GIVEN_UP] * 4


def test_what_was_dropped_before_the_restore_point_is_lost() -> None:
    """Checkpoint 2 is the empty start's own: 1 and 2 lie behind it, 3 and 4 are read again."""
    tale = dropped().flink_runs("b").came_from("b", 2, chk("a", 2)).commits("b", 3)

    assert stand(tale) == [LeakStanding.DROPPED] * 2 + [LeakStanding.GIVEN_UP] * 2


def test_a_failover_of_the_next_run_leaves_it_open() -> None:
    """Flink no longer shows from where it was restored."""
    tale = dropped().flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6, 7).completes("b", 6, 7)

    assert stand(tale.came_from("b", 7, chk("b", 7))) == [LeakStanding.UNTOLD] * 4


def test_a_next_run_that_flink_forgot_leaves_it_open() -> None:
    """Only its commits show that it was there."""
    tale = dropped().flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6, 7)

    assert stand(tale.forgets("b")) == [LeakStanding.UNTOLD] * 4


def test_a_next_run_of_which_only_the_end_is_known_leaves_it_open() -> None:
    """Its cluster is gone, and the operator does not remember what it was restored from."""
    tale = dropped().flink_runs("b", vertices=False).commits("b", 6, 7).becomes("b", "FINISHED")

    assert stand(tale) == [LeakStanding.UNTOLD] * 4


def test_a_next_run_of_another_job_may_have_read_it_again() -> None:
    """The new start may be the other job of a blue/green deployment."""
    tale = dropped().flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6)
    world = tale.looked_at().observation
    blue, green = (tuple(run for run in world.jobs.values if run.job_id == job_id(name)) for name in "ab")
    jobs = world.jobs.model_copy(update={"values": blue})
    world = world.model_copy(update={"jobs": jobs, "others": jobs.model_copy(update={"values": green})})

    assert standing(tale.manifests[0], world)[0] is LeakStanding.GIVEN_UP


@pytest.mark.parametrize("job", ["orders", "green"])
@pytest.mark.parametrize("commits", [(), (1,)])
def test_a_next_run_without_state_may_have_begun_at_the_earliest(commits: tuple[int, ...], job: str) -> None:
    """Its offsets may be the earliest, the latest, or a time: whether it reads the rows again nobody can tell, nor
    whether it has come to them yet."""
    tale = dropped().flink_runs("b")
    for checkpoint in commits:
        tale.commits("b", checkpoint)

    assert (stand(tale) if job == "orders" else of_two_jobs(tale, "a")) == [LeakStanding.UNTOLD] * 4


def test_it_is_said_that_a_run_began_with_nothing() -> None:
    """And what is not known of it."""
    tale = dropped().flink_runs("b").commits("b", 1)
    seen = Seen[StoredCheckpoint](source="file:/state", values=())
    world = tale.looked_at().observation.model_copy(update={"checkpoints": seen})

    assert standing(tale.manifests[0], world)[1].endswith(
        "run bbbbbb was at work after that, and began with nothing: where its source began, and whether it has read "
        "these rows, or will, is not known."
    )


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (3 * HOUR, LeakStanding.GIVEN_UP),
        (HOUR + timedelta(minutes=2), LeakStanding.UNTOLD),
        (HOUR - timedelta(minutes=2), LeakStanding.UNTOLD),
        (timedelta(), LeakStanding.DROPPED),
        (None, LeakStanding.UNTOLD),
    ],
)
def test_where_both_starts_had_the_id_storage_tells_which_start_wrote_it(
    age: timedelta | None, expected: LeakStanding
) -> None:
    """Flink has forgotten whether checkpoint 5 of the empty start, an hour ago, is the one that lies there. Clocks of
    storage and Flink may differ by minutes."""
    tale = went_past()
    points = () if age is None else (on_storage(chk("a", 5), 5, tale.now - age),)
    tale.flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 7)

    assert stand(tale, *points) == [expected] * 4


def test_what_was_written_in_its_place_since_does_not_tell() -> None:
    """The folder of checkpoint 5 is of a third start, which came after the restore."""
    tale = went_past().flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 7)

    assert stand(tale, on_storage(chk("a", 5), 5, tale.now + HOUR)) == [LeakStanding.UNTOLD] * 4


@pytest.mark.parametrize(("checkpoint", "expected"), [(5, LeakStanding.UNTOLD), (4, LeakStanding.DROPPED)])
def test_a_start_that_flink_forgot_does_not_tell_whose_point_it_was(checkpoint: int, expected: LeakStanding) -> None:
    """Storage shows that checkpoint 4 was completed; only a restore from that very point is known to lie behind it."""
    tale = dropped().forgets("a")
    leak = tale.manifests[3]
    owing = on_storage(chk("a", 4), 4, tale.now - HOUR, (leak.path,))
    tale.flink_runs("b").came_from("b", checkpoint, chk("a", checkpoint)).commits("b", 6)

    assert stand(tale, owing)[3] is expected


@pytest.mark.parametrize(
    ("state", "expected"),
    [("CANCELED", LeakStanding.GIVEN_UP), ("RUNNING", LeakStanding.UNTOLD), (None, LeakStanding.UNTOLD)],
)
def test_a_point_of_a_run_that_had_ended_lies_before_it(state: str | None, expected: LeakStanding) -> None:
    """Run z had reached 9, and was over before the empty start began: its ids are not to be compared."""
    tale = Tale().flink_runs("z").commits("z", 8, 9)
    tale = tale.becomes("z", state) if state is not None else tale.forgets("z")
    tale.flink_runs("a").commits("a", 5).starts_again("a").completes("a", 1).leaves_manifest("a", 1)
    tale.becomes("a", "CANCELED").flink_runs("b")

    assert stand(tale.came_from("b", 9, f"file:/state/savepoint-{job_id('z')[:6]}-0a1b2c")) == [expected]


def test_a_low_id_of_a_later_start_releases_nothing() -> None:
    """Checkpoint 2 is that of the start without state, which came after manifest 4 of the start before it."""
    tale = Tale().flink_runs("a").commits("a", 3).leaves_manifest("a", 4).becomes("a", "CANCELED")
    tale.starts_again("a").remembers("a", 1, 2).becomes("a", "CANCELED")
    tale.flink_runs("b").came_from("b", 2, chk("a", 2)).commits("b", 3)

    assert stand(tale) != [LeakStanding.GIVEN_UP]


def test_another_jobs_restart_reads_none_of_the_rows_again() -> None:
    """It goes back to a savepoint of its own job, whose checkpoint id is lower; it reads another source."""
    other = OperatorId("ee" * 16)
    tale = Tale().flink_runs("c")
    for checkpoint in (1, 2, 3):
        tale.commits("c", checkpoint).by_sink(other)
    tale.becomes("c", "CANCELED")
    tale.flink_runs("a").commits("a", *range(1, 9)).completes("a", 9, 10).leaves_manifest("a", 10)
    tale.commits("a", 11).completes("a", 11).becomes("a", "FAILED")
    tale.flink_runs("d").came_from("d", 3, f"s3://sp/savepoint-{job_id('c')[:6]}-000000000001")
    tale.commits("d", 4).by_sink(other)
    tale.reads("c", "returns").reads("d", "returns")
    runs = tuple(tale.runs.pop(name).model_copy(update={"name": "returns"}) for name in ("c", "d"))
    world = tale.looked_at().observation.model_copy(
        update={
            "others": Seen[JobRun](source="Flink", values=runs),
            "checkpoints": Seen[StoredCheckpoint](source="file:/state", values=()),
        }
    )

    assert [standing(leak, world)[0] for leak in tale.manifests] == [LeakStanding.DROPPED]


def of_two_jobs(tale: Tale, own: str, *points: StoredCheckpoint) -> list[LeakStanding]:
    """Where the manifests stand if run a was one job's, and run b another's; `own` is the table's job's."""
    world = tale.looked_at().observation
    mine, others = (
        tuple(run for run in world.jobs.values if (run.job_id == job_id(own)) is is_own) for is_own in (True, False)
    )
    named = tuple(run.model_copy(update={"name": "the other colour"}) for run in others)
    told = {
        "jobs": world.jobs.model_copy(update={"values": mine}),
        "others": Seen[JobRun](source="Flink", values=named),
        "checkpoints": Seen[StoredCheckpoint](source="file:/state", values=points),
    }
    return [standing(leak, world.model_copy(update=told))[0] for leak in tale.manifests]


def test_the_other_colour_reads_again_what_its_kin_had_dropped() -> None:
    """Blue wrote the manifests, green is the table's job now and began from before them."""
    tale = dropped().flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6)

    assert of_two_jobs(tale, "b") == [LeakStanding.GIVEN_UP] * 4


def test_a_failover_of_the_other_colour_leaves_it_open() -> None:
    """Flink tells of no kin any more; its commits are by the same sink."""
    tale = dropped().flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6, 7).completes("b", 6, 7)

    assert of_two_jobs(tale.came_from("b", 7, chk("b", 7)), "a") == [LeakStanding.UNTOLD] * 4


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


def drained() -> Tale:
    """Run z was drained after its checkpoint 3; run a went on from there, and dropped its checkpoints 4 and 5."""
    tale = Tale().flink_runs("z", v1=True).commits("z", 3, DRAINED).becomes("z", "FINISHED")
    tale.flink_runs("a", v1=True).came_from("a", 3, chk("z", 3))
    return tale.completes("a", 4).leaves_manifest("a", 4).completes("a", 5).leaves_manifest("a", 5)


def under_a_new_uid(point: str, checkpoint: int) -> Tale:
    """Run b came next, from this point and with a sink that measures by itself (F4, F5)."""
    tale = drained().becomes("a", "CANCELED").flink_runs("b").came_from("b", checkpoint, point)
    return tale.commits("b", checkpoint + 1).by_sink(NEW).commits("b", checkpoint + 2).by_sink(NEW)


def test_what_it_dropped_is_lost_while_nobody_goes_on_from_before_it() -> None:
    """Also once it is stopped."""
    assert stand(drained()) == [LeakStanding.DROPPED] * 2
    assert stand(drained().becomes("a", "CANCELED")) == [LeakStanding.DROPPED] * 2


def test_a_failover_does_not_unmake_the_loss_of_what_was_completed() -> None:
    """Flink lists both checkpoints still."""
    assert stand(drained().fails("a").came_from("a", 5, chk("a", 5))) == [LeakStanding.DROPPED] * 2


def test_a_second_failover_makes_no_loss_of_what_may_have_been_in_flight() -> None:
    """Flink has forgotten whether checkpoint 4 was completed, and shows only the newest restore."""
    tale = drained().remembers("a", 5, 6).fails("a").came_from("a", 6, chk("a", 6))

    assert stand(tale) == [LeakStanding.UNTOLD, LeakStanding.DROPPED]


def test_the_next_run_reads_again_what_lies_after_its_start() -> None:
    """The way out of F5 is a start from a point before, under a new uid."""
    assert stand(under_a_new_uid(chk("z", 3), 3)) == [LeakStanding.GIVEN_UP] * 2
    assert stand(under_a_new_uid(chk("a", 4), 4)) == [LeakStanding.DROPPED, LeakStanding.GIVEN_UP]


def test_a_next_run_of_which_too_little_is_seen_leaves_it_open() -> None:
    """It failed over since, or Flink lists it nowhere."""
    tale = under_a_new_uid(chk("z", 3), 3).completes("b", 5).came_from("b", 5, chk("b", 5))

    assert stand(tale) == [LeakStanding.UNTOLD] * 2
    assert stand(tale.forgets("b")) == [LeakStanding.UNTOLD] * 2
