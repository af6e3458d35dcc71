"""What a run of another job tells of a leaked manifest: it may be the other colour, or read another source."""

from datetime import timedelta

import pytest

from bot.domain.findings import LeakStanding
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.ids import OperatorId
from bot.domain.looked import Seen
from spark_tasks._standing import standing
from tests.cases import Tale, job_id
from tests.evidence.test_standing_after_new_starts import chk, dropped, of_two_jobs, stand

NEW = OperatorId("ee" * 16)
"""The operator id of another sink, or of the job's own after it got a new uid."""


def apart(tale: Tale, **named: str) -> list[LeakStanding]:
    """Where the manifests stand if Flink lists the `named` runs under those names, as the table's other jobs'. What is
    called `returns` reads another source than the job."""
    for run, name in named.items():
        if name == "returns":
            tale.reads(run, "returns")
    world = tale.looked_at().observation
    ids = {job_id(run): name for run, name in named.items()}
    others = (run.model_copy(update={"name": ids[run.job_id]}) for run in world.jobs.values if run.job_id in ids)
    told = {
        "jobs": world.jobs.model_copy(update={"values": tuple(r for r in world.jobs.values if r.job_id not in ids)}),
        "others": Seen[JobRun](source="Flink", values=tuple(others)),
        "checkpoints": Seen[StoredCheckpoint](source="file:/state", values=()),
    }
    return [standing(leak, world.model_copy(update=told))[0] for leak in tale.manifests]


def dropped_ten(beside: str, *, from_point: str | None = None) -> Tale:
    """Another job committed 1 to 3 by its own sink as run c, while run a was at work or before; run a passed its
    checkpoint 10 over, and is down. `from_point`: from where run a began, before it failed over."""
    tale = Tale()
    if beside == "before":
        tale.flink_runs("c").commits("c", 1).by_sink(NEW).commits("c", 2).by_sink(NEW).commits("c", 3).by_sink(NEW)
        tale.becomes("c", "CANCELED")
    tale.flink_runs("a")
    if from_point is not None:
        tale.came_from("a", 3, from_point)
    tale.commits("a", 4, 5, 6, 7)
    if beside == "meanwhile":
        tale.flink_runs("c").commits("c", 1).by_sink(NEW).commits("c", 2).by_sink(NEW).commits("c", 3).by_sink(NEW)
        tale.becomes("c", "CANCELED")
    tale.commits("a", 8).completes("a", 8, 9)
    if from_point is not None:
        tale.came_from("a", 9, chk("a", 9))
    return tale.completes("a", 10).leaves_manifest("a", 10).commits("a", 11).completes("a", 11).becomes("a", "FAILED")


def green_restarts(*, went_past: bool) -> Tale:
    """Green run b is kin of our run a, left 8 in flight, and was started again as run c from before it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "CANCELED")
    tale.flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6, 7).completes("b", 6, 7, 8)
    tale.leaves_manifest("b", 8)
    if went_past:
        tale.commits("b", 9).completes("b", 9)
    tale.becomes("b", "FAILED")
    tale.now += timedelta(minutes=1)
    return tale.flink_runs("c").came_from("c", 7, chk("b", 7))


def test_the_other_colour_may_have_read_it_again_before_its_first_commit() -> None:
    """It failed over: Flink tells of no kin any more, and no commit names its sink."""
    tale = dropped().flink_runs("b").came_from("b", 5, chk("a", 5)).completes("b", 6)

    assert of_two_jobs(tale.came_from("b", 6, chk("b", 6)), "a") == [LeakStanding.UNTOLD] * 4


def test_the_other_colour_may_have_read_it_again_under_a_new_uid() -> None:
    """The remedy of F4 itself: its commits are by another sink."""
    tale = dropped().flink_runs("b").came_from("b", 5, chk("a", 5)).completes("b", 6, 7)
    tale.commits("b", 6).by_sink(NEW).commits("b", 7).by_sink(NEW)

    assert of_two_jobs(tale.came_from("b", 7, chk("b", 7)), "a") == [LeakStanding.UNTOLD] * 4


def test_a_next_run_under_a_new_uid_that_flink_forgot_leaves_it_open() -> None:
    """Its commits by another sink are all that shows that it was there."""
    tale = dropped().flink_runs("b").came_from("b", 5, chk("a", 5))
    tale.commits("b", 6).by_sink(NEW).commits("b", 7).by_sink(NEW)

    assert stand(tale.forgets("b")) == [LeakStanding.UNTOLD] * 4


def test_a_start_of_another_name_from_a_lower_point_of_the_same_sink_leaves_it_open() -> None:
    """Two jobs may give their sinks one uid, and two colours do."""
    tale = Tale().flink_runs("c").commits("c", 1, 2, 3).becomes("c", "CANCELED")
    tale.flink_runs("a").commits("a", 4, 5, 6).completes("a", 9, 10).leaves_manifest("a", 10)
    tale.commits("a", 11).completes("a", 11).becomes("a", "FAILED")
    tale.flink_runs("d").came_from("d", 3, chk("c", 3))

    assert apart(tale, c="returns", d="returns") == [LeakStanding.UNTOLD]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("returns", LeakStanding.DROPPED), ("green", LeakStanding.UNTOLD), (None, LeakStanding.UNTOLD)],
)
@pytest.mark.parametrize("lists_first", [True, False])
def test_a_sink_that_was_at_work_beside_the_job_is_another_jobs(
    lists_first: bool, name: str | None, expected: LeakStanding
) -> None:
    """Its restart reads nothing of the job again, if Flink shows that it reads another source."""
    tale = dropped_ten("meanwhile").flink_runs("d").came_from("d", 3, chk("c", 3))
    tale.commits("d", 4).by_sink(NEW).completes("d", 4).came_from("d", 4, chk("d", 4))
    if not lists_first:
        tale.forgets("c")
    listed = ("c", "d") if lists_first else ("d",)

    assert (apart(tale, **dict.fromkeys(listed, name)) if name else stand(tale.forgets("d"))) == [expected]


def test_a_restart_from_a_point_of_a_sink_that_was_at_work_beside_the_job_is_another_jobs() -> None:
    """It has not committed yet."""
    tale = dropped_ten("meanwhile", from_point=chk("z", 3)).flink_runs("d").came_from("d", 3, chk("c", 3))

    assert apart(tale, c="returns", d="returns") == [LeakStanding.DROPPED]


@pytest.mark.parametrize(
    ("point", "expected"), [(chk("c", 3), LeakStanding.UNTOLD), (None, LeakStanding.DROPPED)], ids=["hidden", "empty"]
)
def test_a_sink_that_wrote_before_the_run_may_be_of_its_past(point: str | None, expected: LeakStanding) -> None:
    """The job may have gone on from run c under a new uid; where it failed over since, Flink does not tell."""
    tale = dropped_ten("before", from_point=point).flink_runs("d").came_from("d", 3, chk("c", 3))

    assert apart(tale, c="returns", d="returns") == [expected]


@pytest.mark.parametrize(("is_first", "expected"), [(True, LeakStanding.UNTOLD), (False, LeakStanding.DROPPED)])
def test_a_sink_that_wrote_before_the_jobs_first_commit_may_be_of_its_past(
    is_first: bool, expected: LeakStanding
) -> None:
    """An empty start tells nothing of where the start before it, under the same job id, had begun."""
    tale = Tale()
    if is_first:
        tale.flink_runs("c").commits("c", 3).by_sink(NEW).becomes("c", "CANCELED")
    tale.flink_runs("a").commits("a", 4, 5)
    if not is_first:
        tale.flink_runs("c").commits("c", 3).by_sink(NEW).becomes("c", "CANCELED")
    tale.becomes("a", "CANCELED").starts_again("a").completes("a", 4).leaves_manifest("a", 4).becomes("a", "CANCELED")
    tale.flink_runs("d").came_from("d", 3, chk("c", 3))

    assert apart(tale, c="returns", d="returns") == [expected]


def test_the_last_commits_of_a_hand_over_that_went_wrong_do_not_make_another_job() -> None:
    """Run c still committed twice after run a, which has gone on from it under a new uid, had begun."""
    tale = Tale().flink_runs("c").commits("c", 1).by_sink(NEW).flink_runs("a").came_from("a", 1, chk("c", 1))
    tale.commits("a", 2).commits("c", 2).by_sink(NEW).commits("a", 3).commits("c", 3).by_sink(NEW).forgets("c")
    tale.commits("a", 4, 5).completes("a", 10).leaves_manifest("a", 10).commits("a", 11).completes("a", 11)
    tale.becomes("a", "FAILED").commits("d", 4).by_sink(NEW)

    assert stand(tale) == [LeakStanding.UNTOLD]


def dropped_beside_a_guest(*, guest: tuple[int, ...] = (1, 2, 3, 4, 5, 6)) -> Tale:
    """Another job, run c, commits by its own sink after these commits of run a, and goes on; run a was started again
    without state under its job id, passed its checkpoint 1 over, and is down."""
    tale = Tale().flink_runs("c").flink_runs("a")
    for checkpoint in range(1, 7):
        tale.commits("a", checkpoint)
        if checkpoint in guest:
            tale.commits("c", checkpoint).by_sink(NEW)
    tale.becomes("a", "CANCELED").starts_again("a").completes("a", 1).leaves_manifest("a", 1).becomes("a", "CANCELED")
    return tale.commits("c", 9).by_sink(NEW)


@pytest.mark.parametrize("guest", [(1, 2, 3, 4, 5, 6), (3,)], ids=["often", "seldom"])
def test_a_sink_that_was_at_work_beside_a_run_before_is_another_jobs(guest: tuple[int, ...]) -> None:
    """The start without state has committed nothing. The guest was deployed anew since, and failed over; or Flink
    lists it nowhere: then nothing tells what it reads."""
    tale = dropped_beside_a_guest(guest=guest).becomes("c", "CANCELED").flink_runs("d").came_from("d", 9, chk("c", 9))
    tale.completes("d", 10).commits("d", 10).by_sink(NEW).came_from("d", 10, chk("d", 10))

    assert apart(tale, c="returns", d="returns") == [LeakStanding.DROPPED]
    assert stand(tale.forgets("c").forgets("d")) == [LeakStanding.UNTOLD]


def test_a_uid_that_was_changed_and_changed_back_does_not_make_another_job() -> None:
    """Run c had the new uid, and nobody else was at work then; run a was started once more under its job id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED")
    for checkpoint in (5, 6, 7, 8):
        tale.commits("c", checkpoint).by_sink(NEW)
    tale.starts_again("a").commits("a", 9).completes("a", 10).leaves_manifest("a", 10).commits("a", 11)
    tale.completes("a", 11).becomes("a", "FAILED").commits("d", 12).by_sink(NEW)

    assert stand(tale) == [LeakStanding.UNTOLD]


def test_the_next_run_under_a_new_uid_may_commit_before_the_last_one_writes_its_manifest() -> None:
    """Run g began from checkpoint 7 of run a, which still committed once: a hand-over that went wrong."""
    tale = Tale().flink_runs("a").commits("a", 4, 5, 6, 7).completes("a", 7)
    tale.commits("g", 8).by_sink(NEW).commits("a", 8).commits("g", 9).by_sink(NEW)
    tale.completes("a", 9, 10).leaves_manifest("a", 10).commits("a", 11).completes("a", 11).becomes("a", "FAILED")

    assert stand(tale.commits("d", 10).by_sink(NEW)) == [LeakStanding.UNTOLD]


def test_the_second_sink_of_the_job_is_not_another_jobs() -> None:
    """One run writes the table by two, and another job has the uid of the second: the next run, which Flink forgot, may
    have begun before the rows."""
    tale = Tale().flink_runs("a")
    for checkpoint in range(1, 6):
        tale.commits("a", checkpoint).commits("a", checkpoint).by_sink(NEW)
    tale.commits("g", 1).by_sink(NEW).completes("a", 10).leaves_manifest("a", 10)
    tale.commits("a", 11).completes("a", 11).becomes("a", "FAILED").commits("d", 12).by_sink(NEW)

    assert stand(tale) == [LeakStanding.UNTOLD]


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("went_past", [True, False])
@pytest.mark.parametrize("is_forgotten", [True, False])
def test_a_plain_restart_of_the_other_colour_reads_its_own_again(
    commits: bool, went_past: bool, is_forgotten: bool
) -> None:
    """Run c is kin of run b, and not of ours."""
    tale = green_restarts(went_past=went_past)
    if commits:
        tale.commits("c", 8, 9)
    if is_forgotten:
        tale.forgets("b")

    assert apart(tale, **{each: "green" for each in "bc" if each in tale.runs}) == [LeakStanding.GIVEN_UP]


def test_a_restart_of_the_other_colour_from_a_run_before_its_own_reads_it_again() -> None:
    """Run d is green again, and began from green's run z: neither is kin of ours, and no point is of run b."""
    tale = Tale().flink_runs("z").commits("z", 3, 4).becomes("z", "CANCELED")
    tale.flink_runs("a").commits("a", 5).becomes("a", "CANCELED")
    tale.flink_runs("b").came_from("b", 5, chk("a", 5)).commits("b", 6, 7).completes("b", 6, 7, 8)
    tale.leaves_manifest("b", 8).becomes("b", "FAILED").flink_runs("d").came_from("d", 4, chk("z", 4))

    assert apart(tale, z="green", b="green", d="green") == [LeakStanding.GIVEN_UP]
