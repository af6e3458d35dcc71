"""A job is redeployed while another Flink job writes the table: only the job's own commits tell whether it was restored
from too far back."""

from collections.abc import Callable
from datetime import timedelta
from itertools import combinations, product

import pytest

from bot.diagnosis import commits_withheld, recovered_by_itself, restored_from_older_savepoint
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.flink import JobRun
from bot.domain.ids import OperatorId
from bot.domain.suspicion import propose_window
from tests.cases import OPERATOR, Tale, job_id
from tests.found import twice

GUEST, NEW_UID = OperatorId("ee" * 16), OperatorId("dd" * 16)
IDS = {"lower": (2,), "as far": (6,), "interleaved": (5, 7), "higher": (100, 101)}
PLACES = ("before the job", "between its commits", "after them", "once it has ended", "beside the new run")
OF_A = "s3://lake/flink/savepoint-aaaaaa-0123456789ab"


def guest(tale: Tale, ids: tuple[int, ...] = (100,), sink: OperatorId = GUEST) -> Tale:
    """Another Flink job, `z`, commits; Flink does not list it as the job's."""
    for checkpoint in ids:
        tale.commits("z", checkpoint).by_sink(sink)
    return tale


def redeployed(
    restored: int,
    *,
    ids: tuple[int, ...] = (100,),
    places: tuple[str, ...] = ("after them",),
    sink: OperatorId = GUEST,
    commits: bool = False,
    v1: bool = False,
    path: str | None = None,
    uid: OperatorId = OPERATOR,
) -> Tale:
    """Run `a` committed 1 to 6 and ended, `b` was restored from one of its checkpoints, and a guest writes beside."""

    def comes(place: str) -> None:
        if place in places:
            guest(tale, ids, sink)

    tale = Tale()
    comes("before the job")
    tale.flink_runs("a", v1=v1).commits("a", 1, 2, 3)
    comes("between its commits")
    tale.commits("a", 4, 5, 6)
    comes("after them")
    tale.now += timedelta(seconds=10)
    tale.becomes("a", "FINISHED")
    comes("once it has ended")
    tale.flink_runs("b", v1=v1).came_from("b", restored, path or "s3://lake/flink/copied-by-hand")
    comes("beside the new run")
    for checkpoint in (7, 8) if commits and v1 else (restored + 1, restored + 2) if commits else ():
        tale.commits("b", checkpoint).by_sink(uid)
    return tale


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("commits", [False, True], ids=["silent", "it has committed"])
def test_a_guest_that_committed_last_accuses_no_right_restore(commits: bool, ids: tuple[int, ...]) -> None:
    """Run b goes on from the newest commit of run a."""
    tale = redeployed(6, ids=ids, commits=commits, path=OF_A)

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Excluded)
    assert isinstance(commits_withheld.examine(tale.case()), Excluded)
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)
    assert "was restored from checkpoint 6 although" not in propose_window(tale.table, tale.jobs).because


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("places", [*combinations(PLACES, 1), *combinations(PLACES, 2)], ids=" and ".join)
def test_a_guest_hides_no_rewind(places: tuple[str, ...], ids: tuple[int, ...]) -> None:
    """Whatever its ids, and when it committed: run b was restored from 4, and run a had reached 6."""
    tale = redeployed(4, ids=ids, places=places)

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Matches)
    assert (job_id("b"), tale.head) == (found.wrong_run, found.last_good)
    assert "aaaaaa had already committed checkpoint 6" in found.headline
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Excluded)
    assert tale.at("a", 4) == propose_window(tale.table, tale.jobs).window.since


@pytest.mark.parametrize("restored", [6, 4])
def test_the_path_of_the_savepoint_tells_whose_commits_count(restored: int) -> None:
    """Flink has forgotten run a."""
    tale = redeployed(restored, path=OF_A).forgets("a").keeps_point("a", restored, OF_A)

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Excluded if restored == 6 else Matches)


@pytest.mark.parametrize("ids", [(2,), (100,)], ids=["lower", "higher"])
@pytest.mark.parametrize("restored", [6, 4])
def test_the_operators_of_the_silent_run_tell_whose_commits_count(restored: int, ids: tuple[int, ...]) -> None:
    """Flink has forgotten run a, and the savepoint was copied by hand."""
    tale = redeployed(restored, ids=ids).forgets("a")

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Excluded if restored == 6 else Matches)


@pytest.mark.parametrize(("restored", "ids"), [(6, (100,)), (4, (2,))], ids=["a right one", "a rewind"])
def test_where_nothing_tells_whose_commits_count_it_cannot_be_told(restored: int, ids: tuple[int, ...]) -> None:
    """Flink lists the silent run alone, and not its operators; two sinks have committed."""
    tale = redeployed(restored, ids=ids).forgets("a")
    tale.runs["b"] = tale.runs["b"].model_copy(update={"vertices": ()})

    found = restored_from_older_savepoint.examine(tale.looked_at())
    healthy = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, CannotTell)
    assert "whether run zzzzzz, which Flink does not list, is this job's or another's" in found.missing[0]
    assert isinstance(healthy, CannotTell)
    assert "depends on whether run zzzzzz is the job's" in propose_window(tale.table, tale.jobs).because


def test_a_run_under_the_jobs_own_uid_that_flink_does_not_list_leaves_it_open() -> None:
    """It came between run a and run b: a guest under the same uid, or a run of the job that Flink has forgotten. Once
    run b has committed, rows that live twice tell."""
    silent, wrote = (redeployed(6, places=("once it has ended",), sink=OPERATOR, commits=c) for c in (False, True))
    again = wrote.case(duplicates=twice(10, pairs=[(wrote.at("z", 100), wrote.at("b", 7))]))

    told = [
        restored_from_older_savepoint.examine(case)
        for case in (silent.case(), silent.looked_at(), wrote.case(), wrote.looked_at(), again)
    ]

    assert [CannotTell, CannotTell, CannotTell, Excluded, Matches] == [type(each) for each in told]


def test_what_an_unlisted_run_had_reached_before_one_that_is_listed_is_no_matter() -> None:
    """Run a is older than anything that Flink lists, and main was set right since: run b went on from the savepoint 4,
    and run c from what b had committed."""
    tale = redeployed(4, places=(), commits=True).forgets("a").becomes("b", "FINISHED")
    tale.flink_runs("c").came_from("c", 6, f"s3://lake/checkpoints/{job_id('b')}/chk-6")

    found = restored_from_older_savepoint.examine(tale.case(since=tale.at("b", 6)))

    assert isinstance(found, Excluded)


def test_a_guest_that_commits_on_is_not_the_earlier_run() -> None:
    """It took run a's place on main for a moment; run a has ended, so no two runs of the job write the table."""
    tale = guest(redeployed(4), (102, 103))

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Matches)
    assert "aaaaaa" in found.headline


def test_a_new_uid_hides_no_rewind_of_runs_that_flink_lists() -> None:
    """Run b commits under another operator id than run a."""
    tale = redeployed(4, places=(), commits=True, uid=NEW_UID)

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Matches)
    assert (tale.at("a", 6), job_id("b")) == (found.last_good, found.wrong_run)


def test_a_backfill_of_the_same_job_by_another_sink_hides_no_rewind() -> None:
    """It is listed as the job's, and committed last with low ids; run b has committed by the sink of run a."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 7)).becomes("a", "FINISHED")
    tale.flink_runs("f").commits("f", 1).by_sink(NEW_UID).commits("f", 2).by_sink(NEW_UID).becomes("f", "FINISHED")
    tale.flink_runs("b", restored=4).commits("b", 5, 6)

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Matches)
    assert job_id("b") == found.wrong_run


def test_a_guests_lower_commit_is_not_where_the_window_begins() -> None:
    """The commit of checkpoint 4 or below is looked for among the job's."""
    tale = Tale().flink_runs("a").commits("a", 2, 5, 6).becomes("a", "FINISHED")
    guest(tale, (1,)).flink_runs("b", restored=4)

    found = propose_window(tale.table, tale.jobs)

    assert tale.at("a", 2) == found.window.since


@pytest.mark.parametrize("is_right", [True, False], ids=["a right restore", "a rewind"])
def test_a_guest_under_the_same_uid_that_took_turns_with_forgotten_runs_is_no_earlier_run(*, is_right: bool) -> None:
    """Flink lists run c alone; z committed between the commits of run a, so it took over from none."""
    tale = guest(Tale().flink_runs("a").commits("a", 1, 2, 3), (100,) if is_right else (2,), OPERATOR)
    guest(tale.commits("a", 4, 5, 6), (101,) if is_right else (4,), OPERATOR).becomes("a", "FINISHED")
    at = 6 if is_right else 4
    tale.flink_runs("b", restored=at).commits("b", at + 1, at + 2).becomes("b", "FINISHED")
    tale.flink_runs("c", restored=at + 2).commits("c", at + 3).forgets("a").forgets("b")
    copies = twice(20, pairs=[(tale.at("a", checkpoint), tale.at("b", at + 1)) for checkpoint in (5, 6)])
    window = {"since": tale.at("a", 6)}

    found = restored_from_older_savepoint.examine(tale.case(**window))
    counted = restored_from_older_savepoint.examine(tale.case(duplicates=twice(0) if is_right else copies, **window))

    assert isinstance(found, CannotTell)
    assert isinstance(counted, Excluded if is_right else Matches)


def every(run: JobRun) -> JobRun:
    """As it is."""
    return run


def without_operators(run: JobRun) -> JobRun:
    """While Flink lists none."""
    return run.model_copy(update={"vertices": ()})


@pytest.mark.full
@pytest.mark.parametrize("sees", [every, without_operators], ids=["with operators", "without"])
@pytest.mark.parametrize("forgets", ["", "a"], ids=["all are listed", "the last alone"])
@pytest.mark.parametrize("sink", [GUEST, OPERATOR], ids=["its own uid", "the same uid"])
def test_no_guest_hides_or_makes_a_rewind(sink: OperatorId, forgets: str, sees: Callable[[JobRun], JobRun]) -> None:
    """Over all ids, places, sinks and restores: no rewind of run b is denied, nor the table called right; no right
    restore is accused. A guest under the very same uid while Flink has forgotten run a is taken for the job's."""
    everywhere = [*combinations(PLACES, 1), *combinations(PLACES, 2)]
    for places, ids, v1, commits, path in product(everywhere, IDS.values(), (0, 1), (0, 1), (None, OF_A)):
        for restored in (6, 4):
            tale = redeployed(
                restored, ids=ids, places=places, sink=sink, commits=bool(commits), v1=bool(v1), path=path
            )
            for run in forgets:
                tale.forgets(run)
            tale.runs["b"] = sees(tale.runs["b"])
            found = restored_from_older_savepoint.examine(tale.case())

            if restored == 4:
                assert not isinstance(found, Excluded), (places, ids, v1, commits, path)
                assert not isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)
            elif path is not None or sink == GUEST or not forgets:
                assert not isinstance(found, Matches) or found.wrong_run != job_id("b"), (
                    places,
                    ids,
                    v1,
                    commits,
                    path,
                )


@pytest.mark.parametrize("sees_own", [False, True], ids=["all its own have expired", "its own are listed"])
def test_what_a_guest_committed_accuses_no_run_whose_own_commits_have_expired(*, sees_own: bool) -> None:
    """Run a was redeployed from its 2; no run that wrote its state is on main any more, and Flink lists no other: a
    guest's 4 may be the job's or not."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits("z", 4).by_sink(GUEST).forgets("a")
    tale.flink_runs("a", vertices=False).came_from("a", 2, f"s3://state/{job_id('a')}/chk-2")
    tale = tale if sees_own else tale.expires("a", 1, 2)

    older = restored_from_older_savepoint.examine(tale.looked_at())
    withheld = commits_withheld.examine(tale.looked_at())

    expected = Excluded if sees_own else CannotTell
    assert isinstance(older, expected)
    assert isinstance(withheld, expected)
