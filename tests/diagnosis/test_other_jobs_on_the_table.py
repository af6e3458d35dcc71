"""Another Flink job writes the table: only the job's own commits tell where it stands."""

from collections.abc import Callable
from datetime import timedelta
from itertools import combinations, product

import pytest

from bot.diagnosis import (
    another_writer_changed_rows,
    healthy,
    no_snapshot_advanced,
    restarted_from_empty,
    restored_from_older_savepoint,
    source_positions_skipped,
    two_jobs_write_the_table,
)
from bot.history.suspicion import propose_window
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.flink import JobRun
from bot.observation.ids import DRAINED, OperatorId
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
    """Run `a` committed 1 to 6 and ended, `b` was restored from one of its checkpoints, and another job writes
    beside."""

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


@pytest.mark.parametrize("ids", [(2,), (100,)], ids=["lower", "higher"])
@pytest.mark.parametrize("restored", [6, 4])
def test_the_operators_of_the_silent_run_tell_whose_commits_count(restored: int, ids: tuple[int, ...]) -> None:
    """Flink has forgotten run a, and the savepoint was copied by hand."""
    found = restored_from_older_savepoint.examine(redeployed(restored, ids=ids).forgets("a").case())

    assert isinstance(found, Matches) is (restored == 4)


@pytest.mark.parametrize(("restored", "ids"), [(6, (100,)), (4, (2,))], ids=["a right one", "a rewind"])
def test_where_nothing_tells_whose_commits_count_it_cannot_be_told(restored: int, ids: tuple[int, ...]) -> None:
    """Flink lists the silent run alone, and not its operators; two sinks have committed."""
    tale = redeployed(restored, ids=ids).forgets("a")
    tale.runs["b"] = tale.runs["b"].model_copy(update={"vertices": ()})

    found = restored_from_older_savepoint.examine(tale.looked_at())
    acquitted = healthy.examine(tale.looked_at())

    assert "whether run zzzzzz, which Flink does not list, is this job's or another's" in found.missing[0]
    assert isinstance(acquitted, CannotTell)
    assert "depends on whether run zzzzzz is the job's" in propose_window(tale.table, tale.jobs).because


def test_a_run_under_the_jobs_own_uid_that_flink_does_not_list_leaves_it_open() -> None:
    """It came between run a and run b: another job under the same uid, or a run of the job that Flink has forgotten.
    Once run b has committed, rows that live twice tell."""
    silent, wrote = (redeployed(6, places=("once it has ended",), sink=OPERATOR, commits=c) for c in (False, True))
    again = wrote.case(duplicates=twice(10, pairs=[(wrote.at("z", 100), wrote.at("b", 7))]))

    told = [
        restored_from_older_savepoint.examine(case)
        for case in (silent.case(), silent.looked_at(), wrote.case(), wrote.looked_at(), again)
    ]

    assert [CannotTell, CannotTell, CannotTell, CannotTell, Matches] == [type(each) for each in told]


def test_what_an_unlisted_run_had_reached_before_one_that_is_listed_is_no_matter() -> None:
    """Run a is older than anything that Flink lists, and main was set right since: run b went on from the savepoint 4,
    and run c from what b had committed."""
    tale = redeployed(4, places=(), commits=True).forgets("a").becomes("b", "FINISHED")
    tale.flink_runs("c").came_from("c", 6, f"s3://lake/checkpoints/{job_id('b')}/chk-6")

    assert isinstance(restored_from_older_savepoint.examine(tale.case(since=tale.at("b", 6))), Excluded)


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
    assert isinstance(counted, Matches) is not is_right


def every(run: JobRun) -> JobRun:
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
    restore is accused. Another job under the very same uid while Flink has forgotten run a is taken for the job's."""
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
                assert not isinstance(healthy.examine(tale.looked_at()), Matches)
            elif path is not None or sink == GUEST or not forgets:
                assert not isinstance(found, Matches) or found.wrong_run != job_id("b"), (
                    places,
                    ids,
                    v1,
                    commits,
                    path,
                )


SECOND_GUEST = OperatorId("ee" * 16)


def visited(checkpoint: int) -> Tale:
    """The job is at its checkpoint 500 when a backfill commits last."""
    tale = Tale().flink_runs("a")
    for own in range(497, 501):
        tale.completes("a", own).commits("a", own)
    return tale.commits("z", checkpoint).by_sink(SECOND_GUEST)


@pytest.mark.parametrize("checkpoint", [3, 900, DRAINED])
def test_a_guest_that_commits_last_is_no_silence(checkpoint: int) -> None:
    """Healthy was excluded: "Flink completed 497 checkpoints since 3, and none of them was committed"."""
    tale = visited(checkpoint)

    found = healthy.examine(tale.looked_at())
    dead = no_snapshot_advanced.examine(tale.becomes("a", "FAILED").looked_at())

    assert isinstance(found, Matches)
    assert any("checkpoint 500 of run aaaaaa" in each for each in dead.reasons)


TAKER = OperatorId("ee" * 16)


def own_sink(tale: Tale) -> Tale:
    """The other job commits under an operator id of its own."""
    return tale.by_sink(TAKER)


def same_sink(tale: Tale) -> Tale:
    """By default the V2 sink's id is of the table's name, so every job on the table has the same."""
    return tale


def taken_from(operation: str, checkpoint: int = 7, sink: Callable[[Tale], Tale] = own_sink, **counts: object) -> Tale:
    """Four commits of the job, one by run `z`, and two more of the job."""
    tale = (
        Tale()
        .flink_runs("a")
        .completes("a", 1, 2, 3, 4)
        .commits("a", 1, 2, 3, 4)
        .commits("z", checkpoint, operation=operation)
    )
    return sink(tale.counts(**counts)).completes("a", 5, 6).commits("a", 5, 6)


TOOK = {"deleted_records": 30, "deleted_data_files": 3}


@pytest.mark.parametrize("sink", [own_sink, same_sink])
@pytest.mark.parametrize("checkpoint", [7, DRAINED])
@pytest.mark.parametrize("operation", ["overwrite", "delete"])
def test_files_that_another_job_took_off_are_told(
    operation: str, checkpoint: int, sink: Callable[[Tale], Tale]
) -> None:
    """A batch job's INSERT OVERWRITE was nobody's fault, and with clean rows the table was acquitted."""
    tale = taken_from(operation, checkpoint, sink, **TOOK)

    found = another_writer_changed_rows.examine(tale.looked_at())

    assert (tale.at("a", 4), Remedy.STOP_CULPRIT) == (found.last_good, found.remedy)
    assert "Flink run zzzzzz" in found.headline
    assert "2 commits of the job came on top" in found.reasons[-1]
    assert not isinstance(healthy.examine(tale.looked_at()), Matches)
    assert isinstance(no_snapshot_advanced.examine(tale.becomes("a", "FAILED").looked_at()), Excluded)


def test_the_neighbours_name_it() -> None:
    """It was called a writer that is meant to be there, and its rows never written."""
    case = taken_from("overwrite", **TOOK).looked_at(missing=30)

    forked, skipped = two_jobs_write_the_table.examine(case), source_positions_skipped.examine(case)

    assert "took rows off the table (F21)" in forked.reason
    assert "by Flink run zzzzzz) took rows off the table" in skipped.reason


def test_what_the_jobs_own_runs_overwrite_is_their_work() -> None:
    """Listed by Flink, or forgotten beside others that overwrite: a batch job that writes its table each night."""
    listed = Tale().flink_runs("a").completes("a", 1).commits("a", 1)
    listed.commits("a", 2, operation="overwrite").counts(**TOOK)
    nightly = Tale().commits("z", DRAINED, operation="overwrite").counts(replace_partitions="true")
    nightly.flink_runs("a").commits("a", DRAINED, operation="overwrite").counts(**TOOK)

    assert isinstance(another_writer_changed_rows.examine(listed.looked_at()), Excluded)
    assert isinstance(another_writer_changed_rows.examine(nightly.looked_at()), Excluded)


def test_deletes_of_a_run_that_flink_has_forgotten_are_the_jobs() -> None:
    """An upsert job whose sink got another uid with the next run."""
    tale = Tale().commits("z", 1, 2, operation="overwrite").counts(added_equality_deletes=5).by_sink(TAKER)
    tale.flink_runs("a", restored=2).completes("a", 3).commits("a", 3)

    assert isinstance(another_writer_changed_rows.examine(tale.looked_at()), Excluded)


ANOTHER_SINK = OperatorId("ee" * 16)


def another_job(tale: Tale, *checkpoints: int, sink: OperatorId = ANOTHER_SINK) -> Tale:
    """Run z of `backfill` commits beside it."""
    tale.flink_runs("z")
    tale.runs["z"] = tale.runs["z"].model_copy(update={"name": "backfill"})
    for checkpoint in checkpoints:
        tale.commits("z", checkpoint).by_sink(sink)
    return tale


@pytest.mark.parametrize("brought", [(), (1, 2)], ids=["silent", "with commits"])
@pytest.mark.parametrize("sink", [ANOTHER_SINK, OPERATOR], ids=["its own uid", "the same uid"])
def test_a_first_start_beside_another_job_lacks_no_state(sink: OperatorId, brought: tuple[int, ...]) -> None:
    """The table had rows, of a job that goes on."""
    tale = another_job(Tale(), 7, 8, sink=sink).flink_runs("b").commits("b", *brought)

    assert isinstance(restarted_from_empty.examine(tale.looked_at()), Excluded)


def test_a_silent_start_is_held_against_the_commits_of_its_own_sink() -> None:
    """The other job's, which came last and is over, are not what its state should have held."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).becomes("a", "CANCELED")
    another_job(tale, 7, 8).becomes("z", "FINISHED").flink_runs("b")

    found = restarted_from_empty.examine(tale.looked_at())

    assert (tale.at("a", 5), job_id("b")) == (found.last_good, found.wrong_run)
