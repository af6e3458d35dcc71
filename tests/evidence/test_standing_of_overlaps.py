"""What a run tells of a leaked manifest that was at work already when another one wrote it: the other colour of a
blue/green deployment has read its rows too, a job that reads another source has not."""

import pytest

from bot.domain.findings import LeakStanding
from tests.cases import Tale
from tests.evidence.test_standing_after_new_starts import chk, dropped, of_two_jobs, stand
from tests.evidence.test_standing_of_two_jobs import NEW, apart

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
    tale = dropped().becomes("a", "RUNNING").commits("g", first)

    assert stand(tale) == [LeakStanding.UNTOLD] * 4


@pytest.mark.parametrize(("source", "expected"), [("orders", LeakStanding.UNTOLD), ("returns", LeakStanding.DROPPED)])
def test_a_second_job_beside_one_that_is_at_work_is_told_by_its_source(source: str, expected: LeakStanding) -> None:
    """It began with nothing after the start without state, and may be at the rows by now."""
    tale = dropped().becomes("a", "RUNNING").reads("a", "orders").flink_runs("b").reads("b", source).commits("b", 1)

    assert of_two_jobs(tale, "a") == [expected] * 4
