"""What a second run tells of a leaked manifest: it may be the other colour, read another source, or overlap."""

from datetime import timedelta

import pytest

from bot.domain.findings import LeakStanding
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.looked import Seen
from bot.history.uncommitted import standing
from tests.cases import Tale, job_id
from tests.evidence.test_standing_manifests import NEW, chk, dropped, of_two_jobs, stand


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


@pytest.mark.parametrize("before", [1, 2, 4])
def test_a_restart_from_a_fork_that_flink_forgot_leaves_it_open(before: int) -> None:
    """Run g had gone on from run a under a new uid, and was over; run d goes on from run g."""
    last = 7 + before
    tale = forked(before).forgets("g").flink_runs("d").came_from("d", last, chk("g", last))

    assert apart(tale, d="green") == [LeakStanding.UNTOLD]


@pytest.mark.parametrize("is_new_uid", [True, False])
@pytest.mark.parametrize("before", [1, 2, 4])
def test_a_fork_that_flink_forgot_leaves_it_open(before: int, is_new_uid: bool) -> None:
    """It committed before the manifest was written, and goes on."""
    assert stand(forked(before, since=2, is_new_uid=is_new_uid).forgets("g")) == [LeakStanding.UNTOLD]


@pytest.mark.parametrize("before", [1, 2, 4])
def test_a_fork_that_failed_over_leaves_it_open(before: int) -> None:
    """Flink shows only that it went back to a checkpoint of its own."""
    last = 9 + before
    tale = forked(before, since=2).completes("g", last).came_from("g", last, chk("g", last))

    assert apart(tale, g="green") == [LeakStanding.UNTOLD]


def test_a_fork_of_the_other_way_round_leaves_it_open() -> None:
    """Run a, which wrote the manifest, went on from run g, and both committed on."""
    tale = Tale().flink_runs("g")
    tale.commits("g", 1).by_sink(NEW).flink_runs("a").came_from("a", 1, chk("g", 1))
    for checkpoint in range(2, 8):
        tale.commits("a", checkpoint).commits("g", checkpoint).by_sink(NEW)
    tale.completes("a", 8).came_from("a", 8, chk("a", 8)).completes("a", 10).leaves_manifest("a", 10).commits("a", 11)
    tale.completes("a", 11).becomes("a", "FAILED").commits("g", 8).by_sink(NEW)

    assert stand(tale.forgets("g")) == [LeakStanding.UNTOLD]


def beside(*, first: str) -> Tale:
    """Runs a and c began with nothing, `first` before the other, and commit beside each other by sinks of their own;
    run a dropped its checkpoint 10, and is down."""
    tale = Tale()
    for run in ("a", "c") if first == "a" else ("c", "a"):
        tale.flink_runs(run)
    for checkpoint in range(1, 9):
        tale.commits("a", checkpoint).commits("c", checkpoint).by_sink(NEW)
    tale.completes("a", 9, 10).leaves_manifest("a", 10).commits("a", 11).completes("a", 11).becomes("a", "FAILED")
    return tale.commits("c", 9).by_sink(NEW)


@pytest.mark.parametrize(
    ("first", "is_listed", "expected"),
    [("a", True, LeakStanding.DROPPED), ("c", True, LeakStanding.UNTOLD), ("a", False, LeakStanding.UNTOLD)],
)
def test_where_commits_have_expired_the_later_one_must_be_known_to_have_begun_with_nothing(
    first: str, is_listed: bool, expected: LeakStanding
) -> None:
    """A first commit that is left may not be the sink's first: only of run c does Flink tell that it took nothing over
    from a sink that was there before; run a's may have been there before run c."""
    tale = beside(first=first)
    assert apart(tale, c="returns") == [LeakStanding.DROPPED]
    tale.expires("a", 1).expires("c", 1)

    assert apart(tale if is_listed else tale.forgets("c"), **({"c": "returns"} if is_listed else {})) == [expected]


def test_a_run_that_took_over_the_uid_of_a_fork_leaves_it_open() -> None:
    """Run g, a fork, is over and forgotten; run d goes on from it under its uid, and failed over."""
    tale = forked(4).forgets("g").flink_runs("d").came_from("d", 11, chk("g", 11))
    tale.now += timedelta(minutes=1)
    tale.commits("d", 12).by_sink(NEW).completes("d", 12).came_from("d", 12, chk("d", 12))

    assert apart(tale, d="green") == [LeakStanding.UNTOLD]


@pytest.mark.parametrize(
    ("is_listed", "missing"),
    [
        (True, "what Flink shows of it does not tell."),
        (
            False,
            "Flink does not list it. If it is of another job, name that in the table's `other_jobs`: Flink shows then "
            "whether it reads another source.",
        ),
    ],
)
def test_it_is_said_what_is_missing(is_listed: bool, missing: str) -> None:
    """Which run may have read the rows, and whether Flink lists it."""
    tale = forked(4, since=2).completes("g", 13).came_from("g", 13, chk("g", 13))
    world = (tale if is_listed else tale.forgets("g")).looked_at().observation

    _, why = standing(tale.manifests[0], world)

    assert why.endswith(
        f"; run gggggg was at work after that, and whether it began before the rows, and read them too, is not known: "
        f"{missing}"
    )


COMMITS = (10, 11)


def overlap(began: str, *, commits: tuple[int, ...] = COMMITS, is_new_uid: bool = False) -> Tale:
    """Run g begins shortly before run a writes the manifest of 10, passes it over, and dies: from checkpoint 9 of run
    a, where Flink shows that or the run has failed over since, or with nothing at the group's offsets."""
    tale = Tale().flink_runs("a").commits("a", 4, 5, 6, 7).completes("a", 8, 9).flink_runs("g")
    if began != "with nothing":
        tale.came_from("g", 9, chk("a", 9))
    tale.completes("a", 10).leaves_manifest("a", 10).commits("a", 11).completes("a", 11).becomes("a", "FAILED")
    for checkpoint in commits:
        tale.commits("g", checkpoint)
        if is_new_uid:
            tale.by_sink(NEW)
    tale.completes("g", 10, 11)
    return tale if began == "shown" else tale.came_from("g", 11, chk("g", 11))


@pytest.mark.parametrize("name", ["green", "orders"])
@pytest.mark.parametrize("is_new_uid", [False, True])
@pytest.mark.parametrize("began", ["shown", "hidden", "with nothing"])
def test_the_other_colour_that_began_before_the_manifest_has_read_its_rows(
    began: str, is_new_uid: bool, name: str
) -> None:
    """To append them once more would double them. So it is of a run of the job itself."""
    tale = overlap(began, is_new_uid=is_new_uid)

    assert (apart(tale, g=name) if name == "green" else stand(tale)) == [LeakStanding.UNTOLD]


@pytest.mark.parametrize("began", ["shown", "hidden", "with nothing"])
def test_the_other_colour_may_not_have_committed_yet(began: str) -> None:
    """It is at work, so the rows come."""
    assert apart(overlap(began, commits=()), g="green") == [LeakStanding.UNTOLD]


def test_the_other_colour_may_be_over_by_now() -> None:
    """What it has committed since is on main."""
    assert apart(overlap("hidden").becomes("g", "CANCELED"), g="green") == [LeakStanding.UNTOLD]


def test_what_was_over_without_a_commit_since_has_left_the_rows_out() -> None:
    """Nobody has gone on from it."""
    assert apart(overlap("hidden", commits=()).becomes("g", "CANCELED"), g="green") == [LeakStanding.DROPPED]


def test_the_runs_of_the_job_before_it_read_nothing_of_it() -> None:
    """Each was over before the next one began."""
    tale = Tale().flink_runs("z").commits("z", 1, 2, 3).becomes("z", "CANCELED")
    tale.flink_runs("a").came_from("a", 3, chk("z", 3)).commits("a", 4, 5, 6).completes("a", 9, 10)
    tale.leaves_manifest("a", 10).commits("a", 11).completes("a", 11).becomes("a", "FAILED")

    assert stand(tale) == [LeakStanding.DROPPED]
    assert apart(tale, z="blue") == [LeakStanding.DROPPED]


def test_the_other_colour_has_gone_on_when_the_old_one_comes_back_without_state() -> None:
    """Run g began from checkpoint 5 of run a, and was at work when that was started again under its job id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "CANCELED")
    tale.flink_runs("g").came_from("g", 5, chk("a", 5)).commits("g", 6, 7).completes("g", 6, 7)
    tale.starts_again("a").completes("a", 1, 2).leaves_manifest("a", 1, 2).becomes("a", "CANCELED")
    tale.commits("g", 8).completes("g", 8).came_from("g", 8, chk("g", 8))

    assert apart(tale, g="green") == [LeakStanding.UNTOLD] * 2


def test_storages_clock_may_be_ahead_of_flinks() -> None:
    """The restart from behind the rows seems to have begun before the manifest was written."""
    tale = dropped().flink_runs("b").came_from("b", 4, chk("a", 4)).commits("b", 5)
    ahead = tale.runs["b"].started_at.replace(second=59)
    tale.manifests = [leak.model_copy(update={"written_at": ahead}) for leak in tale.manifests]

    assert stand(tale) == [LeakStanding.DROPPED] * 4


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_job_that_was_at_work_beside_it_all_along_reads_another_source(is_declared: bool) -> None:
    """Its run is older than the manifest, commits on by its own sink, and has failed over. Where Flink shows no
    graph of it, it may read the same one."""
    tale = Tale().flink_runs("c").flink_runs("a")
    for checkpoint in range(1, 7):
        tale.commits("a", checkpoint).commits("c", checkpoint).by_sink(NEW)
    tale.completes("a", 9, 10).leaves_manifest("a", 10).commits("a", 11).completes("a", 11).becomes("a", "FAILED")
    tale.commits("c", 7).by_sink(NEW).completes("c", 7).came_from("c", 7, chk("c", 7))
    told = {"c": "returns"} if is_declared else {}
    if not is_declared:
        tale.forgets("c")

    assert apart(tale, **told) == [LeakStanding.DROPPED if is_declared else LeakStanding.UNTOLD]


@pytest.mark.parametrize("first", [1, 7])
def test_a_run_beside_one_that_is_at_work_may_read_its_rows_too(first: int) -> None:
    """Run a still drops what is at or below 5. Of run g nothing is known but what it has committed."""
    assert stand(dropped().becomes("a", "RUNNING").commits("g", first)) == [LeakStanding.UNTOLD] * 4


@pytest.mark.parametrize(("source", "expected"), [("orders", LeakStanding.UNTOLD), ("returns", LeakStanding.DROPPED)])
def test_a_second_job_beside_one_that_is_at_work_is_told_by_its_source(source: str, expected: LeakStanding) -> None:
    """It began with nothing after the start without state, and may be at the rows by now."""
    tale = dropped().becomes("a", "RUNNING").reads("a", "orders").flink_runs("b").reads("b", source).commits("b", 1)

    assert of_two_jobs(tale, "a") == [expected] * 4
