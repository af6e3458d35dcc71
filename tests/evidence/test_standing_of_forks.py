"""What a second run that went on from the job's state tells of a leaked manifest where little is seen of it: it reads
the manifest's rows, whatever uid it has."""

from datetime import timedelta

import pytest

from bot.domain.findings import LeakStanding
from spark_tasks._standing import standing
from tests.cases import Tale
from tests.evidence.test_standing_after_new_starts import chk, stand
from tests.evidence.test_standing_of_two_jobs import NEW, apart


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
    tale = forked(before, since=2, is_new_uid=is_new_uid).forgets("g")

    assert stand(tale) == [LeakStanding.UNTOLD]


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
