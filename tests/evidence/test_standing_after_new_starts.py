"""A manifest that an empty start under the old job id left behind, after the job was restored once more (F4)."""

from datetime import datetime, timedelta

import pytest

from bot.domain.findings import LeakStanding
from bot.domain.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.domain.ids import CheckpointId, OperatorId
from bot.domain.looked import Seen
from spark_tasks._standing import standing
from tests.cases import Tale, job_id

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
