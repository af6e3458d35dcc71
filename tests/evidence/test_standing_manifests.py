"""What became of a leaked manifest, told by what its job did after it: failovers, drains and new starts."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import pytest

from bot.history.uncommitted import standing
from bot.observation.findings import LeakStanding
from bot.observation.flink import CheckpointKind, CheckpointSettings, JobRun, StoredCheckpoint
from bot.observation.ids import DRAINED, OperatorId
from bot.observation.looked import Seen
from tests.cases import Tale, job_id
from tests.evidence.restore_points import stored

NEW = OperatorId("ee" * 16)
"""The operator id of another sink, or of the job's own after it got a new uid."""
HOUR = timedelta(hours=1)
DROPPED, GIVEN_UP = LeakStanding.DROPPED, LeakStanding.GIVEN_UP
LOST, UNTOLD = LeakStanding.LOST_STATE, LeakStanding.UNTOLD


def stand(tale: Tale, *points: StoredCheckpoint) -> list[LeakStanding]:
    """Where the tale's manifests stand, with these restore points on storage."""
    world = tale.looked_at().observation
    seen = Seen[StoredCheckpoint](source="file:/state", values=points)
    world = world.model_copy(update={"checkpoints": seen})
    return [standing(leak, world)[0] for leak in tale.manifests]


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


def dropped() -> Tale:
    """Run a committed 1 to 5, was started again without state, and its 1 to 4 were dropped; then it was stopped."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "CANCELED")
    tale.now += HOUR
    tale.starts_again("a").completes("a", 1, 2, 3, 4).leaves_manifest("a", 1, 2, 3, 4)
    tale.now += HOUR
    return tale.becomes("a", "CANCELED")


def followed() -> Tale:
    """Then run b came from checkpoint 5, which is the start's before the empty one, and so lies before 1 to 4."""
    return dropped().flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6)


def went_past() -> Tale:
    """As `dropped`, but the start without state went on past the old ids; Flink lists its newest ones."""
    tale = dropped().completes("a", 5, 6).commits("a", 6)
    a = tale.runs["a"]
    tale.runs["a"] = a.model_copy(update={"checkpoints": a.checkpoints[:1], "completed_count": 6})
    return tale.becomes("a", "CANCELED")


def in_flight() -> Tale:
    """Checkpoint 3 of run a was in progress when it failed and went back to 2, and 4 was committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).fails("a")
    return tale.flink_runs("a", restored=2).commits("a", 4)


def left_three(state: str = "CANCELED") -> Tale:
    """Run a committed 1 and 2, left checkpoint 3 behind, not committed, and ended."""
    return Tale().flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3).becomes("a", state)


def from_nothing() -> Tale:
    """Run a committed 5, and was started again without state under its job id."""
    return Tale().flink_runs("a").commits("a", 5).starts_again("a")


def drained() -> Tale:
    """Run z was drained after its checkpoint 3; run a went on from there, and dropped its checkpoints 4 and 5."""
    tale = Tale().flink_runs("z", v1=True).commits("z", 3, DRAINED).becomes("z", "FINISHED")
    tale.flink_runs("a", v1=True).came_from("a", 3, chk("z", 3))
    return tale.completes("a", 4).leaves_manifest("a", 4).completes("a", 5).leaves_manifest("a", 5)


def under_a_new_uid(point: str, checkpoint: int) -> Tale:
    """Run b came next, from this point and with a sink that measures by itself (F4, F5)."""
    tale = drained().becomes("a", "CANCELED").flink_runs("b").came_from("b", checkpoint, point)
    return tale.commits("b", checkpoint + 1).by_sink(NEW).commits("b", checkpoint + 2).by_sink(NEW)


def chk(run: str, checkpoint: int) -> str:
    """Where Flink keeps that checkpoint: the same folder for each start under one job id."""
    return f"file:/state/{job_id(run)}/chk-{checkpoint}"


def savepoint_of(run: str) -> str:
    """Where a savepoint of the run lies."""
    return f"file:/state/savepoint-{job_id(run)[:6]}-0a1b2c"


def on_storage(path: str, checkpoint: int, written_at: datetime, pending: tuple[str, ...] = ()) -> StoredCheckpoint:
    """A restore point of run a as a listing shows it."""
    told = {"path": path, "written_at": written_at, "pending_manifests": pending}
    return stored(job_id("a"), checkpoint, CheckpointKind.CHECKPOINT, owes=(), **told)


def late_files(before: int = 2, after: int = 4, *, unaligned: bool = True) -> Tale:
    """Checkpoint 3 of run a failed, and left a manifest behind: these were committed before and after that."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, before).leaves_manifest("a", 3).commits("a", after)
    return tale.shows("a", settings=CheckpointSettings(is_unaligned=unaligned))


STANDINGS: Mapping[str, tuple[Callable[[], Tale], list[LeakStanding]]] = {
    "read again from a point before the empty start": (followed, [GIVEN_UP] * 4),
    "from the empty start's own checkpoint 2: what came before it is lost, 3 and 4 are read again": (
        lambda: dropped().flink_runs("b").came_from("b", 2, chk("a", 2)).commits("b", 3),
        [DROPPED, DROPPED, GIVEN_UP, GIVEN_UP],
    ),
    "the next run failed over: Flink shows no longer from where it was restored": (
        lambda: followed().completes("b", 6, 7).came_from("b", 7, chk("b", 7)), [UNTOLD] * 4,
    ),
    "Flink forgot the next run: only its commits show it": (lambda: followed().forgets("b"), [UNTOLD] * 4),
    "of the next run only the end is known, its cluster is gone": (
        lambda: dropped().flink_runs("b", vertices=False).commits("b", 6, 7).becomes("b", "FINISHED"), [UNTOLD] * 4,
    ),
    "the next run began without state, and its offsets may be the earliest, the latest, or a time": (
        lambda: dropped().flink_runs("b"), [UNTOLD] * 4,
    ),
    "so it is once that has committed: it may come to the rows yet": (
        lambda: dropped().flink_runs("b").commits("b", 1), [UNTOLD] * 4,
    ),
    "checkpoint 2 of a later start without state came after manifest 4 of the start before": (
        lambda: Tale().flink_runs("a").commits("a", 3).leaves_manifest("a", 4).becomes("a", "CANCELED")
        .starts_again("a").remembers("a", 1, 2).becomes("a", "CANCELED")
        .flink_runs("b").came_from("b", 2, chk("a", 2)).commits("b", 3),
        [UNTOLD],
    ),
    "in flight at the last failover, as Flink shows": (in_flight, [GIVEN_UP]),
    "a second failover hides the restore that read it again": (
        lambda: in_flight().fails("a").flink_runs("a", restored=4), [UNTOLD],
    ),
    "a failure after it: the run is on its way down, and no restore is shown yet": (
        lambda: Tale().flink_runs("a", restored=1).commits("a", 5).leaves_manifest("a", 3).fails("a"), [UNTOLD],
    ),
    "Flink forgot the run: nothing shows whether checkpoint 3 was completed": (
        lambda: in_flight().forgets("a"), [UNTOLD],
    ),
    "a run that never went down passes over what lies below (F4)": (
        lambda: from_nothing().leaves_manifest("a", 1), [DROPPED],
    ),
    "cancelled before the checkpoint was completed: whoever goes on from below reads it again": (
        lambda: from_nothing().completes("a", 1).leaves_manifest("a", 2).becomes("a", "CANCELED"), [UNTOLD],
    ),
    "a failover of a start without state releases nothing of the run before: it counts anew": (
        lambda: Tale().flink_runs("a").commits("a", 8).leaves_manifest("a", 9).starts_again("a").remembers("a", 1, 2)
        .came_from("a", 2, chk("a", 2)),
        [LeakStanding.PENDING],
    ),
    "nobody goes on yet: it depends on the point from which the job is restored": (left_three, [UNTOLD]),
    "the next run began behind it, from a later point of run a that would have committed what it owed": (
        lambda: left_three().flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6), [LOST],
    ),
    "from a point of the run before last, all after it is read again": (
        lambda: Tale().flink_runs("z").commits("z", 1, 2).becomes("z", "FINISHED").flink_runs("a")
        .leaves_manifest("a", 4).becomes("a", "CANCELED").flink_runs("b").came_from("b", 2, savepoint_of("z")),
        [GIVEN_UP],
    ),
    "from a point of a run that came later and had begun with nothing: its 2 is not below 3": (
        lambda: left_three().flink_runs("b").remembers("b", 1, 2).commits("b", 1, 2).becomes("b", "FINISHED")
        .flink_runs("c").came_from("c", 2, chk("b", 2)),
        [UNTOLD],
    ),
    "another job that writes the table all along is no successor": (
        lambda: Tale().flink_runs("b").flink_runs("a").commits("a", 1, 2).leaves_manifest("a", 3)
        .becomes("a", "CANCELED").commits("b", 1, 2),
        [UNTOLD],
    ),
    "drained: lost while nobody goes on from before it": (drained, [DROPPED] * 2),
    "also once it is stopped": (lambda: drained().becomes("a", "CANCELED"), [DROPPED] * 2),
    "a failover does not unmake the loss of what Flink lists as completed": (
        lambda: drained().fails("a").came_from("a", 5, chk("a", 5)), [DROPPED] * 2,
    ),
    "after a second failover Flink has forgotten whether 4 was completed": (
        lambda: drained().remembers("a", 5, 6).fails("a").came_from("a", 6, chk("a", 6)), [UNTOLD, DROPPED],
    ),
    "the way out of F5, a start from a point before under a new uid": (
        lambda: under_a_new_uid(chk("z", 3), 3), [GIVEN_UP] * 2,
    ),
    "such a start from a point between": (lambda: under_a_new_uid(chk("a", 4), 4), [DROPPED, GIVEN_UP]),
    "such a start that failed over since": (
        lambda: under_a_new_uid(chk("z", 3), 3).completes("b", 5).came_from("b", 5, chk("b", 5)), [UNTOLD] * 2,
    ),
    "late files took its place in the state of a V1 sink under unaligned checkpoints (F27)": (late_files, [DROPPED]),
    "without unaligned checkpoints the V1 sink still has it": (
        lambda: late_files(unaligned=False), [LeakStanding.PENDING],
    ),
    "the commit of the checkpoint itself does not show that": (lambda: late_files(after=3), [LeakStanding.PENDING]),
    "nor does one above it from before, as where the run went back": (
        lambda: late_files(before=5, after=3), [LeakStanding.PENDING],
    ),
    "late files, and a failover since, from above or below: Flink no longer shows which came first": (
        lambda: late_files().fails("a").came_from("a", 4, chk("a", 4)), [UNTOLD],
    ),
    "such a start that Flink lists nowhere": (lambda: under_a_new_uid(chk("z", 3), 3).forgets("b"), [UNTOLD] * 2),
}  # fmt: skip


@pytest.mark.parametrize(("tale", "expected"), STANDINGS.values(), ids=STANDINGS)
def test_where_manifests_stand(tale: Callable[[], Tale], expected: list[LeakStanding]) -> None:
    """By what Flink and the table's commits still show."""
    assert stand(tale()) == expected


OF_TWO: Mapping[str, tuple[Callable[[], Tale], str, LeakStanding]] = {
    "the new start may be the other job of a blue/green deployment": (followed, "a", GIVEN_UP),
    "blue wrote the manifests, and green is the table's job now": (followed, "b", GIVEN_UP),
    "a failover of the other colour: Flink tells of no kin any more, its commits are by the same sink": (
        lambda: followed().completes("b", 6, 7).came_from("b", 7, chk("b", 7)), "a", UNTOLD,
    ),
    "the other colour began without state": (lambda: dropped().flink_runs("b"), "a", UNTOLD),
    "and has committed": (lambda: dropped().flink_runs("b").commits("b", 1), "a", UNTOLD),
}  # fmt: skip


@pytest.mark.parametrize(("tale", "own", "expected"), OF_TWO.values(), ids=OF_TWO)
def test_where_manifests_stand_beside_another_job(tale: Callable[[], Tale], own: str, expected: LeakStanding) -> None:
    """The other job may have read the rows."""
    assert of_two_jobs(tale(), own) == [expected] * 4


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
        (3 * HOUR, GIVEN_UP),
        (HOUR + timedelta(minutes=2), UNTOLD),
        (HOUR - timedelta(minutes=2), UNTOLD),
        (timedelta(), DROPPED),
        (-HOUR, UNTOLD),
        (None, UNTOLD),
    ],
)
def test_where_both_starts_had_the_id_storage_tells_which_start_wrote_it(
    age: timedelta | None, expected: LeakStanding
) -> None:
    """Flink has forgotten whether checkpoint 5 of the empty start, an hour ago, is the one that lies there. Clocks of
    storage and Flink may differ by minutes. What a third start wrote in its place after the restore does not tell."""
    tale = went_past()
    points = () if age is None else (on_storage(chk("a", 5), 5, tale.now - age),)
    tale.flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 7)

    assert stand(tale, *points) == [expected] * 4


@pytest.mark.parametrize(("checkpoint", "expected"), [(5, UNTOLD), (4, DROPPED)])
def test_a_start_that_flink_forgot_does_not_tell_whose_point_it_was(checkpoint: int, expected: LeakStanding) -> None:
    """Storage shows that checkpoint 4 was completed; only a restore from that very point is known to lie behind it."""
    tale = dropped().forgets("a")
    leak = tale.manifests[3]
    owing = on_storage(chk("a", 4), 4, tale.now - HOUR, (leak.path,))
    tale.flink_runs("b").came_from("b", checkpoint, chk("a", checkpoint)).commits("b", 6)

    assert stand(tale, owing)[3] is expected


@pytest.mark.parametrize(("state", "expected"), [("CANCELED", GIVEN_UP), ("RUNNING", UNTOLD), (None, UNTOLD)])
def test_a_point_of_a_run_that_had_ended_lies_before_it(state: str | None, expected: LeakStanding) -> None:
    """Run z had reached 9, and was over before the empty start began: its ids are not to be compared."""
    tale = Tale().flink_runs("z").commits("z", 8, 9)
    tale = tale.becomes("z", state) if state is not None else tale.forgets("z")
    tale.flink_runs("a").commits("a", 5).starts_again("a").completes("a", 1).leaves_manifest("a", 1)
    tale.becomes("a", "CANCELED").flink_runs("b").came_from("b", 9, savepoint_of("z"))

    assert stand(tale) == [expected]


def test_another_jobs_restart_reads_none_of_the_rows_again() -> None:
    """It goes back to a savepoint of its own job, whose checkpoint id is lower; it reads another source."""
    tale = Tale().flink_runs("c")
    for checkpoint in (1, 2, 3):
        tale.commits("c", checkpoint).by_sink(NEW)
    tale.becomes("c", "CANCELED")
    tale.flink_runs("a").commits("a", *range(1, 9)).completes("a", 9, 10).leaves_manifest("a", 10)
    tale.commits("a", 11).completes("a", 11).becomes("a", "FAILED")
    tale.flink_runs("d").came_from("d", 3, savepoint_of("c")).commits("d", 4).by_sink(NEW)
    tale.reads("c", "returns").reads("d", "returns")

    assert of_two_jobs(tale, "a") == [DROPPED]


@pytest.mark.parametrize("over", [False, True])
def test_what_flink_lists_as_completed_was_passed_over(over: bool) -> None:
    """Also after a failover: a restore below the head under the same job id, then a crash (F3)."""
    tale = Tale().flink_runs("a", restored=1).commits("a", 5)
    tale.now += timedelta(seconds=1)
    tale.leaves_manifest("a", 3).fails("a").flink_runs("a", restored=4).remembers("a", 3, 4)

    assert stand(tale.becomes("a", "CANCELED") if over else tale) == [DROPPED]


@pytest.mark.parametrize(
    ("kind", "expected"), [(CheckpointKind.CHECKPOINT, DROPPED), (CheckpointKind.SAVEPOINT, UNTOLD)]
)
def test_a_restore_point_that_lists_it_shows_that_it_was_completed(
    kind: CheckpointKind, expected: LeakStanding
) -> None:
    """Flink has forgotten, its state on storage has not. But no failover goes back to a savepoint."""
    tale = in_flight().forgets("a")
    pending = (tale.manifests[0].path.rsplit("/", 1)[-1],)
    point = on_storage("file:/state/chk-3", 3, tale.now, pending).model_copy(update={"kind": kind})

    assert stand(tale, point) == [expected]


@pytest.mark.parametrize(
    ("history", "expected"), [((3, 4, 5), GIVEN_UP), ((1, 2, 3), UNTOLD), ((3, 5), UNTOLD), ((7, 8), UNTOLD)]
)
def test_a_whole_history_tells_where_the_next_run_began(history: tuple[int, ...], expected: LeakStanding) -> None:
    """Its newest restore is a failover's; ids rise by one from the restored one, or from nothing. What began with
    nothing may have begun at the earliest."""
    tale = left_three().flink_runs("b").remembers("b", *history).commits("b", *history)

    assert stand(tale.came_from("b", history[-1], chk("b", history[-1]))) == [expected]


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize(("first", "expected"), [(1, UNTOLD), (9, LOST)])
def test_what_a_next_run_has_lost_a_later_one_that_began_with_nothing_may_bring(
    first: int, expected: LeakStanding, *, is_listed: bool
) -> None:
    """Run c began at the earliest, or where its offsets say; or it went on from run b."""
    tale = left_three().flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6, 7, 8)
    tale.completes("b", 8).becomes("b", "CANCELED").flink_runs("c")
    if first > 1:
        tale.came_from("c", 8, chk("b", 8))
    tale.commits("c", first)

    assert stand(tale if is_listed else tale.forgets("c")) == [expected]
