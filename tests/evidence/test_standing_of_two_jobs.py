"""What a second run tells of a leaked manifest: it may be the other colour, read another source, or overlap."""

from collections.abc import Callable, Mapping
from datetime import timedelta

import pytest

from bot.history.uncommitted import standing
from bot.observation.findings import LeakStanding
from bot.observation.flink import JobRun, StoredCheckpoint
from bot.observation.looked import Seen
from tests.cases import Tale, job_id
from tests.evidence.test_standing_manifests import DROPPED, GIVEN_UP, NEW, UNTOLD, chk, dropped, of_two_jobs, stand


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


def by_new(tale: Tale, run: str, *checkpoints: int) -> Tale:
    """The run commits these by a sink of its own, or under a new uid."""
    for checkpoint in checkpoints:
        tale.commits(run, checkpoint).by_sink(NEW)
    return tale


def passes_over(tale: Tale, checkpoint: int = 10, *, after: tuple[int, ...] = ()) -> Tale:
    """Run a leaves this checkpoint's manifest, commits the next one, and fails."""
    tale.completes("a", *after, checkpoint).leaves_manifest("a", checkpoint).commits("a", checkpoint + 1)
    return tale.completes("a", checkpoint + 1).becomes("a", "FAILED")


def dropped_ten(beside: str, *, from_point: str | None = None) -> Tale:
    """Another job committed 1 to 3 by its own sink as run c, while run a was at work or before; run a passed its
    checkpoint 10 over, and is down. `from_point`: from where run a began, before it failed over. Run d then goes on
    from checkpoint 3 of run c."""
    tale = Tale()
    if beside == "before":
        by_new(tale.flink_runs("c"), "c", 1, 2, 3).becomes("c", "CANCELED")
    tale.flink_runs("a")
    if from_point is not None:
        tale.came_from("a", 3, from_point)
    tale.commits("a", 4, 5, 6, 7)
    if beside == "meanwhile":
        by_new(tale.flink_runs("c"), "c", 1, 2, 3).becomes("c", "CANCELED")
    tale.commits("a", 8).completes("a", 8, 9)
    if from_point is not None:
        tale.came_from("a", 9, chk("a", 9))
    return passes_over(tale).flink_runs("d").came_from("d", 3, chk("c", 3))


def of_another_colour(tale: Tale) -> Tale:
    """Run b came from checkpoint 5 of run a."""
    return tale.flink_runs("b").came_from("b", 5, chk("a", 5))


def before_first(*, is_first: bool) -> Tale:
    """Run a was started again without state, and left 4; run c committed before its first commit, or after two."""
    tale = Tale()
    if is_first:
        by_new(tale.flink_runs("c"), "c", 3).becomes("c", "CANCELED")
    tale.flink_runs("a").commits("a", 4, 5)
    if not is_first:
        by_new(tale.flink_runs("c"), "c", 3).becomes("c", "CANCELED")
    tale.becomes("a", "CANCELED").starts_again("a").completes("a", 4).leaves_manifest("a", 4).becomes("a", "CANCELED")
    return tale.flink_runs("d").came_from("d", 3, chk("c", 3))


def gone_wrong() -> Tale:
    """Run c still committed twice after run a, which has gone on from it under a new uid, had begun."""
    tale = by_new(Tale().flink_runs("c"), "c", 1).flink_runs("a").came_from("a", 1, chk("c", 1))
    by_new(by_new(tale.commits("a", 2), "c", 2).commits("a", 3), "c", 3).forgets("c")
    return by_new(passes_over(tale.commits("a", 4, 5)), "d", 4)


def guest(*, often: bool) -> Tale:
    """Another job, run c, commits by its own sink beside run a, and goes on; run a was started again without state
    under its job id, passed its checkpoint 1 over, and is down. Run d has gone on from run c, and failed over."""
    tale = Tale().flink_runs("c").flink_runs("a")
    for checkpoint in range(1, 7):
        tale.commits("a", checkpoint)
        if often or checkpoint == 3:
            by_new(tale, "c", checkpoint)
    tale.becomes("a", "CANCELED").starts_again("a").completes("a", 1).leaves_manifest("a", 1).becomes("a", "CANCELED")
    by_new(tale, "c", 9).becomes("c", "CANCELED").flink_runs("d").came_from("d", 9, chk("c", 9)).completes("d", 10)
    return by_new(tale, "d", 10).came_from("d", 10, chk("d", 10))


def changed_back() -> Tale:
    """Run c had the new uid, and nobody else was at work then; run a was started once more under its job id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED")
    by_new(tale, "c", 5, 6, 7, 8).starts_again("a").commits("a", 9)
    return by_new(passes_over(tale), "d", 12)


def handed_over() -> Tale:
    """Run g began under a new uid from checkpoint 7 of run a, which still committed once."""
    tale = Tale().flink_runs("a").commits("a", 4, 5, 6, 7).completes("a", 7)
    by_new(by_new(tale, "g", 8).commits("a", 8), "g", 9)
    return by_new(passes_over(tale, after=(9,)), "d", 10)


def two_sinks() -> Tale:
    """Run a writes the table by two, and another job has the uid of the second; Flink forgot the next run, g."""
    tale = Tale().flink_runs("a")
    for checkpoint in range(1, 6):
        by_new(tale.commits("a", checkpoint), "a", checkpoint)
    return by_new(passes_over(by_new(tale, "g", 1)), "d", 12)


def began_lower() -> Tale:
    """Run d came from checkpoint 3 of run c, which wrote before run a by the same sink's uid."""
    tale = Tale().flink_runs("c").commits("c", 1, 2, 3).becomes("c", "CANCELED")
    tale = passes_over(tale.flink_runs("a").commits("a", 4, 5, 6), after=(9,))
    return tale.flink_runs("d").came_from("d", 3, chk("c", 3))


def green_restarts(*, went_past: bool) -> Tale:
    """Green run b is related jobs of our run a, left 8 in flight, and was started again as run c from before it."""
    tale = of_another_colour(Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "CANCELED"))
    tale.commits("b", 6, 7).completes("b", 6, 7, 8).leaves_manifest("b", 8)
    if went_past:
        tale.commits("b", 9).completes("b", 9)
    tale.becomes("b", "FAILED")
    tale.now += timedelta(minutes=1)
    return tale.flink_runs("c").came_from("c", 7, chk("b", 7))


def green_again() -> Tale:
    """Run d began from green's run z, before green's run b: neither is related jobs of ours, and no point is of run
    b."""
    tale = Tale().flink_runs("z").commits("z", 3, 4).becomes("z", "CANCELED")
    tale = of_another_colour(tale.flink_runs("a").commits("a", 5).becomes("a", "CANCELED"))
    tale.commits("b", 6, 7).completes("b", 6, 7, 8).leaves_manifest("b", 8).becomes("b", "FAILED")
    return tale.flink_runs("d").came_from("d", 4, chk("z", 4))


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
            passes_over(tale, 20, after=(19,))
    return tale


def goes_on_from_fork(before: int) -> Tale:
    """Run g is over and forgotten, and run d goes on from it."""
    return forked(before).forgets("g").flink_runs("d").came_from("d", 7 + before, chk("g", 7 + before))


def other_way_round() -> Tale:
    """Run a, which wrote the manifest, went on from run g, and both committed on."""
    tale = by_new(Tale().flink_runs("g"), "g", 1).flink_runs("a").came_from("a", 1, chk("g", 1))
    for checkpoint in range(2, 8):
        by_new(tale.commits("a", checkpoint), "g", checkpoint)
    tale.completes("a", 8).came_from("a", 8, chk("a", 8))
    return by_new(passes_over(tale), "g", 8).forgets("g")


def takes_over() -> Tale:
    """Run d goes on from the fork, run g, under its uid, and failed over."""
    tale = goes_on_from_fork(4)
    tale.now += timedelta(minutes=1)
    return by_new(tale, "d", 12).completes("d", 12).came_from("d", 12, chk("d", 12))


COMMITS = (10, 11)


def overlap(began: str, *, commits: tuple[int, ...] = COMMITS, is_new_uid: bool = False) -> Tale:
    """Run g begins shortly before run a writes the manifest of 10, passes it over, and dies: from checkpoint 9 of run
    a, where Flink shows that or the run has failed over since, or with nothing at the group's offsets."""
    tale = Tale().flink_runs("a").commits("a", 4, 5, 6, 7).completes("a", 8, 9).flink_runs("g")
    if began != "with nothing":
        tale.came_from("g", 9, chk("a", 9))
    passes_over(tale)
    for checkpoint in commits:
        tale.commits("g", checkpoint)
        if is_new_uid:
            tale.by_sink(NEW)
    tale.completes("g", 10, 11)
    return tale if began == "shown" else tale.came_from("g", 11, chk("g", 11))


def comes_back() -> Tale:
    """Run g began from checkpoint 5 of run a, and was at work when that was started again under its job id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "CANCELED")
    tale.flink_runs("g").came_from("g", 5, chk("a", 5)).commits("g", 6, 7).completes("g", 6, 7)
    tale.starts_again("a").completes("a", 1, 2).leaves_manifest("a", 1, 2).becomes("a", "CANCELED")
    return tale.commits("g", 8).completes("g", 8).came_from("g", 8, chk("g", 8))


def all_along() -> Tale:
    """Run c is older than the manifest, commits on by its own sink, and has failed over."""
    tale = Tale().flink_runs("c").flink_runs("a")
    for checkpoint in range(1, 7):
        by_new(tale.commits("a", checkpoint), "c", checkpoint)
    passes_over(tale, after=(9,))
    return by_new(tale, "c", 7).completes("c", 7).came_from("c", 7, chk("c", 7))


def before_it() -> Tale:
    """Run z was over before run a began from its checkpoint 3."""
    tale = Tale().flink_runs("z").commits("z", 1, 2, 3).becomes("z", "CANCELED")
    return passes_over(tale.flink_runs("a").came_from("a", 3, chk("z", 3)).commits("a", 4, 5, 6), after=(9,))


def clock_ahead() -> Tale:
    """The restart from behind the rows seems to have begun before the manifest was written, by storage's clock."""
    tale = dropped().flink_runs("b").came_from("b", 4, chk("a", 4)).commits("b", 5)
    ahead = tale.runs["b"].started_at.replace(second=59)
    tale.manifests = [leak.model_copy(update={"written_at": ahead}) for leak in tale.manifests]
    return tale


RETURNS = {"c": "returns", "d": "returns"}
STANDINGS: Mapping[str, tuple[Callable[[], Tale], dict[str, str], LeakStanding]] = {
    "the next run under a new uid is forgotten: its commits by another sink are all that shows it": (
        lambda: by_new(of_another_colour(dropped()), "b", 6, 7).forgets("b"), {}, UNTOLD,
    ),
    "two jobs may give their sinks one uid, and two colours do": (began_lower, RETURNS, UNTOLD),
    "a restart from a sink's point that was at work beside the job, and has not committed yet": (
        lambda: dropped_ten("meanwhile", from_point=chk("z", 3)), RETURNS, DROPPED,
    ),
    "a sink that wrote before the run may be of its past: where it failed over, Flink does not tell": (
        lambda: dropped_ten("before", from_point=chk("c", 3)), RETURNS, UNTOLD,
    ),
    "not where the run began with nothing": (lambda: dropped_ten("before"), RETURNS, DROPPED),
    "so it may be before the job's first commit: an empty start tells nothing of the start before it": (
        lambda: before_first(is_first=True), RETURNS, UNTOLD,
    ),
    "not after it": (lambda: before_first(is_first=False), RETURNS, DROPPED),
    "the last commits of a hand-over that went wrong do not make another job": (gone_wrong, {}, UNTOLD),
    "the guest was deployed anew since, and failed over": (lambda: guest(often=True), RETURNS, DROPPED),
    "and seldom commits": (lambda: guest(often=False), RETURNS, DROPPED),
    "Flink lists the guest nowhere: nothing tells what it reads": (
        lambda: guest(often=True).forgets("c").forgets("d"), {}, UNTOLD,
    ),
    "a uid that was changed and changed back does not make another job": (changed_back, {}, UNTOLD),
    "the next run may commit before the last one writes its manifest": (handed_over, {}, UNTOLD),
    "the second sink of the job is not another job's: the next run may have begun before the rows": (
        two_sinks, {}, UNTOLD,
    ),
    "a restart of the other colour from a run before its own reads it again": (
        green_again, {"z": "green", "b": "green", "d": "green"}, GIVEN_UP,
    ),
    "a fork of the other way round": (other_way_round, {}, UNTOLD),
    "a run took over the uid of a fork": (takes_over, {"d": "green"}, UNTOLD),
    "the other colour is over by now: what it has committed since is on main": (
        lambda: overlap("hidden").becomes("g", "CANCELED"), {"g": "green"}, UNTOLD,
    ),
    "it was over without a commit since, and nobody has gone on from it: it has left the rows out": (
        lambda: overlap("hidden", commits=()).becomes("g", "CANCELED"), {"g": "green"}, DROPPED,
    ),
    "a run of the job that was over before this one began": (before_it, {}, DROPPED),
    "also under another name": (before_it, {"z": "blue"}, DROPPED),
    "the old colour comes back without state, and the other one has gone on": (comes_back, {"g": "green"}, UNTOLD),
    "storage's clock may be ahead of Flink's": (clock_ahead, {}, DROPPED),
    "a job that was at work beside it all along reads another source": (all_along, {"c": "returns"}, DROPPED),
    "where Flink shows no graph of it, it may read the same one": (lambda: all_along().forgets("c"), {}, UNTOLD),
    "run a still drops what is at or below 5; of run g only its commits are known": (
        lambda: dropped().becomes("a", "RUNNING").commits("g", 1), {}, UNTOLD,
    ),
    "also of higher ones": (lambda: dropped().becomes("a", "RUNNING").commits("g", 7), {}, UNTOLD),
}  # fmt: skip


@pytest.mark.parametrize(("tale", "named", "expected"), STANDINGS.values(), ids=STANDINGS)
def test_what_a_second_run_tells(tale: Callable[[], Tale], named: dict[str, str], expected: LeakStanding) -> None:
    """Its rows were read by that one, or left out, or nobody knows."""
    told = tale()

    found = apart(told, **{run: name for run, name in named.items() if run in told.runs}) if named else stand(told)

    assert set(found) == {expected}


def test_the_other_colour_may_have_read_it_again() -> None:
    """It failed over: Flink tells of no relation any more, and no commit names its sink; or its commits are by another
    one, under a new uid, which is the remedy of F4 itself."""
    silent = of_another_colour(dropped()).completes("b", 6).came_from("b", 6, chk("b", 6))
    new_uid = by_new(of_another_colour(dropped()).completes("b", 6, 7), "b", 6, 7).came_from("b", 7, chk("b", 7))

    assert of_two_jobs(silent, "a") == of_two_jobs(new_uid, "a") == [UNTOLD] * 4


@pytest.mark.parametrize(("name", "expected"), [("returns", DROPPED), ("green", UNTOLD), (None, UNTOLD)])
@pytest.mark.parametrize("lists_first", [True, False])
def test_a_sink_that_was_at_work_beside_the_job_is_another_jobs(
    lists_first: bool, name: str | None, expected: LeakStanding
) -> None:
    """Its restart reads nothing of the job again, if Flink shows that it reads another source."""
    tale = by_new(dropped_ten("meanwhile"), "d", 4).completes("d", 4).came_from("d", 4, chk("d", 4))
    if not lists_first:
        tale.forgets("c")
    listed = ("c", "d") if lists_first else ("d",)

    assert (apart(tale, **dict.fromkeys(listed, name)) if name else stand(tale.forgets("d"))) == [expected]


@pytest.mark.parametrize("commits", [True, False])
@pytest.mark.parametrize("went_past", [True, False])
@pytest.mark.parametrize("is_forgotten", [True, False])
def test_a_plain_restart_of_the_other_colour_reads_its_own_again(
    commits: bool, went_past: bool, is_forgotten: bool
) -> None:
    """Run c is related jobs of run b, and not of ours."""
    tale = green_restarts(went_past=went_past)
    if commits:
        tale.commits("c", 8, 9)
    if is_forgotten:
        tale.forgets("b")

    assert apart(tale, **{each: "green" for each in "bc" if each in tale.runs}) == [GIVEN_UP]


@pytest.mark.parametrize("before", [1, 2, 4])
def test_a_fork_leaves_it_open(before: int) -> None:
    """It committed before the manifest was written. Flink forgot it, or shows only that it went back to a checkpoint of
    its own, or another run goes on from it."""
    last = 9 + before
    failed_over = forked(before, since=2).completes("g", last).came_from("g", last, chk("g", last))

    assert stand(forked(before, since=2).forgets("g")) == [UNTOLD]
    assert stand(forked(before, since=2, is_new_uid=False).forgets("g")) == [UNTOLD]
    assert apart(failed_over, g="green") == [UNTOLD]
    assert apart(goes_on_from_fork(before), d="green") == [UNTOLD]


@pytest.mark.parametrize(
    ("first", "is_listed", "expected"), [("a", True, DROPPED), ("c", True, UNTOLD), ("a", False, UNTOLD)]
)
def test_where_commits_have_expired_the_later_one_must_be_known_to_have_begun_with_nothing(
    first: str, is_listed: bool, expected: LeakStanding
) -> None:
    """Runs a and c began with nothing, and commit beside each other by sinks of their own. A first commit that is left
    may not be the sink's first: only of run c does Flink tell that it took nothing over from a sink that was there
    before; run a's may have been there before run c."""
    tale = Tale()
    for run in ("a", "c") if first == "a" else ("c", "a"):
        tale.flink_runs(run)
    for checkpoint in range(1, 9):
        by_new(tale.commits("a", checkpoint), "c", checkpoint)
    by_new(passes_over(tale, after=(9,)), "c", 9)
    assert apart(tale, c="returns") == [DROPPED]
    tale.expires("a", 1).expires("c", 1)

    assert apart(tale if is_listed else tale.forgets("c"), **({"c": "returns"} if is_listed else {})) == [expected]


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


@pytest.mark.parametrize("name", ["green", "orders"])
@pytest.mark.parametrize("is_new_uid", [False, True])
@pytest.mark.parametrize("commits", [COMMITS, ()], ids=["committed", "not yet"])
@pytest.mark.parametrize("began", ["shown", "hidden", "with nothing"])
def test_the_other_colour_that_began_before_the_manifest_has_read_its_rows(
    began: str, commits: tuple[int, ...], is_new_uid: bool, name: str
) -> None:
    """To append them once more would double them, or they come yet. So it is of a run of the job itself."""
    tale = overlap(began, commits=commits, is_new_uid=is_new_uid)

    assert (apart(tale, g=name) if name == "green" else stand(tale)) == [UNTOLD]


@pytest.mark.parametrize(("source", "expected"), [("orders", UNTOLD), ("returns", DROPPED)])
def test_a_second_job_beside_one_that_is_at_work_is_told_by_its_source(source: str, expected: LeakStanding) -> None:
    """It began with nothing after the start without state, and may be at the rows by now."""
    tale = dropped().becomes("a", "RUNNING").reads("a", "orders").flink_runs("b").reads("b", source).commits("b", 1)

    assert of_two_jobs(tale, "a") == [expected] * 4
