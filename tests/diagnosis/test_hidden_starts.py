"""What a run began from where Flink shows only its newest restore, or none."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.diagnosis import (
    checkpoint_committed_twice,
    commits_withheld,
    no_snapshot_advanced,
    recovered_by_itself,
    restarted_from_empty,
    restored_from_older_savepoint,
    rolled_back_while_running,
)
from bot.diagnosis._overdue import overdue_of_run
from bot.domain.diagnosis import CannotTell, Case, Examined, Excluded, Matches, Remedy
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import RepeatedCommit, ReplayedRowsFinding
from bot.domain.flink import FlinkManifest
from bot.domain.ids import CheckpointId, EvidenceId, OperatorId
from tests.cases import NOON, OPERATOR, Tale, job_id, placed
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import Point, World
from tests.found import hole, repeats, twice


def went_back(*, v1: bool = True) -> Tale:
    """Run a was restored below its own commits under its job id, and brings checkpoint 2 and 3 again with 4."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).flink_runs("a", restored=1, v1=v1).completes("a", 4)
    return tale.commits("a", 4)


def fails_over(tale: Tale, *, v1: bool = True) -> Tale:
    """Flink restores it from its own checkpoint 4, which is all that it shows from then on."""
    return tale.flink_runs("a", restored=4, v1=v1).completes("a", 5).commits("a", 5)


def counted(tale: Tale, **found: object) -> Case:
    """Keys of two commits live again in a third."""
    copies = twice(20, [(tale.at("a", 2), tale.at("a", 4)), (tale.at("a", 3), tale.at("a", 4))])
    return tale.looked_at(**found).model_copy(update={"duplicates": copies})


def came_again(tale: Tale) -> RepeatedCommit:
    """The source range of checkpoint 2 came again."""
    return RepeatedCommit(
        first=tale.at("a", 2), again=tale.at("a", 4), how="same-source-range", job_id=None, checkpoint_id=None, rows=20
    )


def at_positions(case: Case, *bounds: tuple[int, int]) -> Case:
    """The ledger tells what the commits hold."""
    assert case.ledger is not None
    told = zip(case.ledger.rows, bounds, strict=True)
    rows = tuple(row.model_copy(update={"position_from": low, "position_until": high}) for row, (low, high) in told)
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows})})


@pytest.mark.parametrize("v1", [True, False])
def test_one_failover_later_it_is_not_ruled_out(*, v1: bool) -> None:
    """Every mode excluded itself, over twenty rows too many."""
    found = commits_withheld.examine(counted(fails_over(went_back(v1=v1), v1=v1)))

    assert isinstance(found, CannotTell)
    assert found.missing[0].startswith("the point from which run aaaaaa was first restored, which Flink no longer")


def test_a_source_range_that_came_again_proves_it() -> None:
    """Both by key and by position."""
    tale = fails_over(went_back())

    found = commits_withheld.examine(counted(tale, duplicate_commits=repeats(came_again(tale))))

    assert isinstance(found, Matches)
    assert (tale.at("a", 3), job_id("a"), Remedy.REWIND_TABLE_AND_JOB) == (
        found.last_good,
        found.wrong_run,
        found.remedy,
    )


def test_a_takeover_or_a_forgotten_run_hides_it_as_well() -> None:
    """A new JobManager counts restores anew; a cluster that is gone tells nothing."""
    taken = went_back().forgets("a").flink_runs("a", v1=True).came_from("a", 4, f"s3://state/{job_id('a')}/chk-4")
    forgotten = fails_over(went_back()).forgets("a")

    assert [CannotTell] * 2 == [type(commits_withheld.examine(counted(tale))) for tale in (taken, forgotten)]


def test_while_flink_shows_the_restore_that_tells() -> None:
    """Copies say no more than it."""
    found = commits_withheld.examine(counted(went_back()))

    assert isinstance(found, Matches)
    assert "was restored from checkpoint 1" in found.reasons[0]


def test_a_run_that_was_never_restored_did_not_go_back() -> None:
    """Then its source gave the rows twice."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4)

    assert isinstance(commits_withheld.examine(counted(tale)), Excluded)


def test_copies_at_later_positions_were_given_twice_by_the_source() -> None:
    """A producer that sends once more what it had sent."""
    tale = fails_over(Tale().flink_runs("a").commits("a", 1, 2, 3, 4))

    case = at_positions(counted(tale), (0, 9), (10, 19), (20, 29), (30, 39), (40, 49))

    assert not isinstance(commits_withheld.examine(case), Matches)


def test_a_table_that_is_written_by_key_has_copies_of_its_own_kind() -> None:
    """F16 and F17 tell of these."""
    tale = fails_over(went_back())
    tale.properties["write.upsert.enabled"] = "true"

    assert isinstance(commits_withheld.examine(counted(tale)), Excluded)


def test_a_commit_that_was_made_twice_is_another_fault() -> None:
    """F1 tells of the very files or the very checkpoint."""
    tale = fails_over(went_back())
    again = came_again(tale).model_copy(update={"how": "same-files"})

    assert isinstance(commits_withheld.examine(counted(tale, duplicate_commits=repeats(again))), Excluded)


def taken_over() -> Tale:
    """Run b took over from a, commits without rows, and was restored since from a checkpoint of its own."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b", restored=2)
    return tale.commits("b", 12, rows=0).came_from("b", 12, f"s3://state/{job_id('b')}/chk-12")


def test_it_is_open_until_its_first_rows_are_counted() -> None:
    """Then copies, or a hole, would have been found."""
    tale = taken_over()

    silent = recovered_by_itself.examine(tale.looked_at())
    going_on = recovered_by_itself.examine(tale.commits("b", 13).looked_at())

    assert isinstance(silent, CannotTell)
    assert not isinstance(going_on, Excluded)


@pytest.mark.parametrize("operation", ["delete", "replace"])
def test_a_table_that_begins_with_taking_rows_had_some_before(operation: str) -> None:
    """Whether the job had brought them, its only listed run cannot tell."""
    tale = Tale().commits(None, operation=operation).flink_runs("a").becomes("a", "FAILED")

    found = no_snapshot_advanced.examine(tale.looked_at())

    assert not isinstance(found, Matches)
    assert "so something lay below it" in str(found)


def test_a_checkpoint_that_completed_before_a_late_first_commit_is_owed() -> None:
    """The commit of 1 came late, after 2 had completed."""
    tale = Tale().flink_runs("a").completes("a", 1, 2).commits("a", 1).becomes("a", "FAILED")
    tale.now += tale.now - tale.runs["a"].started_at

    case = tale.looked_at()

    assert [2] == overdue_of_run(case, case.runs[0], case.observation.table.head)


def test_a_checkpoint_id_that_two_runs_have_is_no_proof_of_a_pair() -> None:
    """Found by the property test: the restore was of another run's checkpoint 1, and a row of it is lost."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.restarts(Point(0, 0))
    world.reads(1)
    world.restarts(Point(1, 2))
    world.erases(world.chain()[0].snapshot_id)

    looked = look(world)
    found = recovered_by_itself.examine(case_of(world, looked, []))

    assert {1} == world.lost(looked.finished)
    assert isinstance(found, CannotTell)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("file:/state/savepoints/savepoint-bbbbbb-91f0", Matches),
        ("file:/state/" + "b" * 32 + "/chk-1", Matches),
        ("file:/state/savepoints/savepoint-aaaaaa-77c2", Matches),
    ],
)
def test_the_path_of_the_restore_says_whose_it_was(path: str, expected: type) -> None:
    """Flink writes the job id into the path of both kinds of restore point."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.restarts(Point(0, 0))
    world.reads(1)
    world.restarts(Point(1, 1))
    world.erases(world.chain()[0].snapshot_id)
    world.reads(1)
    run = world.tale.runs[world.run]
    assert run.restored is not None
    restored = run.restored.model_copy(update={"path": path})
    world.tale.runs[world.run] = run.model_copy(update={"restored": restored})

    assert isinstance(recovered_by_itself.examine(case_of(world, look(world), [])), expected)


def test_a_run_that_had_ended_before_raises_no_doubt() -> None:
    """Found in CI: runs that wrote the table before it was made anew; a commit after their end is not their origin."""
    before = World(keeps_keys=False)
    before.reads(2)
    before.restarts(before.points[-1])
    before.reads(1)
    world = World(keeps_keys=False)
    world.tale.runs.clear()
    world.tale.runs |= before.tale.runs
    world.tale.becomes(before.run, "CANCELED")
    world.run = "c"
    world.tale.flink_runs("c")
    world.reads(2)
    world.reads(1)

    found = recovered_by_itself.examine(case_of(world, look(world), []))

    assert isinstance(found, Matches), found


def test_a_guest_that_reaches_the_same_id_raises_no_doubt() -> None:
    """Run b goes on from run a's savepoint 5, as its path says; another job counts its own checkpoints beside."""
    tale = Tale().flink_runs("a").remembers("a", 1, 2, 3, 4, 5).commits("a", 1, 2, 3, 4, 5).becomes("a", "FINISHED")
    tale.flink_runs("b").came_from("b", 5, f"s3://saves/savepoint-{job_id('a')[:6]}-0123456789ab").commits("b", 6, 7)
    for checkpoint in (4, 5):
        tale.commits("z", checkpoint).by_sink(OperatorId("ee" * 16))
    tale.commits("b", 8).completes("b", 8)

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, Matches), found


COUNTS = ("duplicate_rows", "missing_positions", "duplicate_commits")
MODES = pytest.mark.parametrize(
    ("examine", "restored", "first"),
    [
        pytest.param(restored_from_older_savepoint.examine, 2, 3, id="F2"),
        pytest.param(restarted_from_empty.examine, None, 1, id="F15"),
    ],
)
Examine = Callable[[Case], Examined]


def started(restored: int | None) -> Tale:
    """Run a had committed up to 4; run b began below it, or with nothing, and is silent."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED").flink_runs("b", restored=restored)


def counted_at(tale: Tale) -> tuple[Evidence, ...]:
    """Rows are counted of the table as it is now."""
    case = tale.case()
    return tuple(
        Evidence(
            id=EvidenceId(task), task=task, task_version=1, question="Is it?", headline="It is not.",
            verdict=Verdict.RULED_OUT, metadata_location="m", head=tale.head, window=case.window, at=tale.now,
            took_ms=1, bytes_read=0,
        )
        for task in ("ledger", *COUNTS)
    )  # fmt: skip


def told(found: Examined) -> tuple[Remedy, tuple[str, ...]]:
    """What a match asks to be done, and to be collected."""
    assert isinstance(found, Matches)
    return found.remedy, found.asks


@MODES
def test_a_count_from_before_its_first_commit_says_nothing(examine: Examine, restored: int | None, first: int) -> None:
    """Counted while the run was silent; then its first commit brings copies."""
    tale = started(restored)
    counts = counted_at(tale)
    case = tale.commits("b", first).looked_at(evidence=counts)

    remedy, asks = told(examine(case))
    assert (Remedy.REWIND_TABLE_AND_JOB, {*COUNTS, "ledger"}) == (remedy, {*asks})


@MODES
def test_a_count_that_has_seen_its_first_rows_settles_it(examine: Examine, restored: int | None, first: int) -> None:
    """It has come as far as main had before; what it reads again comes first."""
    case = started(restored).commits("b", first, first + 1, first + 2).looked_at()

    assert (Remedy.TELL_CONSUMERS, ()) == told(examine(placed(case, b=40 if restored is None else 0)))


@MODES
def test_a_count_that_could_not_see_all_settles_nothing(examine: Examine, restored: int | None, first: int) -> None:
    """Rows without a position may be copies: the task has a finding, and is inconclusive."""
    tale = started(restored).commits("b", first)
    counts = tuple(
        each.model_copy(update={"verdict": Verdict.INCONCLUSIVE}) if each.task == "duplicate_commits" else each
        for each in counted_at(tale)
    )

    assert (Remedy.REWIND_TABLE_AND_JOB, ()) == told(examine(tale.looked_at(evidence=counts)))


@MODES
def test_what_a_later_restore_committed_is_counted_too(examine: Examine, restored: int | None, first: int) -> None:
    """The run failed over after its first rows were counted, and may have committed what its state owed."""
    tale = started(restored).commits("b", first)
    counts = counted_at(tale)
    tale.now += timedelta(minutes=5)
    tale.came_from("b", first, f"s3://state/{job_id('b')}/chk-{first}").completes("b", first + 1)
    case = tale.commits("b", first + 1).looked_at(evidence=counts)

    assert told(examine(case))[0] is Remedy.REWIND_TABLE_AND_JOB


@MODES
def test_of_several_partitions_the_count_is_of_the_head(examine: Examine, restored: int | None, first: int) -> None:
    """The rows of one partition may come again later than those of another, so it takes some commits, too."""
    tale = started(restored).commits("b", first)
    counts = counted_at(tale)
    old = tale.commits("b", *range(first + 1, first + 5)).looked_at(evidence=counts)
    contract = old.contract.model_copy(update={"position_partition": "split"})
    new = old.model_copy(update={"evidence": counted_at(tale)})

    found = [told(examine(each.model_copy(update={"contract": contract}))) for each in (old, new)]

    assert [Remedy.REWIND_TABLE_AND_JOB] * 2 == [remedy for remedy, _ in found]


@MODES
def test_a_commit_without_rows_shows_nothing(examine: Examine, restored: int | None, first: int) -> None:
    """An idle sink commits from time to time."""
    tale = started(restored).commits("b", first, rows=0)

    assert (Remedy.REWIND_TABLE_AND_JOB, ()) == told(examine(tale.looked_at()))


@MODES
@pytest.mark.parametrize(
    ("replayed", "expected"),
    [
        (None, (Remedy.REWIND_TABLE_AND_JOB, ("replayed_rows",))),
        (10, (Remedy.REWIND_TABLE_AND_JOB, ())),
        (0, (Remedy.TELL_CONSUMERS, ())),
    ],
)
def test_a_source_range_that_came_twice_is_looked_into(
    examine: Examine, restored: int | None, first: int, replayed: int | None, expected: tuple[Remedy, tuple[str, ...]]
) -> None:
    """The key is drawn anew at each reading: no key lives twice, and rows do."""
    tale = started(restored).commits("b", first, first + 1)
    again = RepeatedCommit(
        first=tale.at("a", 3), again=tale.at("b", first), how="same-source-range", job_id=None, checkpoint_id=None,
        rows=10,
    )  # fmt: skip
    case = placed(tale.looked_at(duplicate_commits=repeats(again)), b=40 if restored is None else 0)
    found = ReplayedRowsFinding(rows_checked=30, replayed=replayed or 0, changed=0, first=None, last=None, pairs=())
    case = case.model_copy(update={"replayed": found if replayed is not None else None})

    assert expected == told(examine(case))


@MODES
def test_positions_that_are_still_to_come_are_not_right(examine: Examine, restored: int | None, first: int) -> None:
    """Main was rolled back as well, and its rows are not there again."""
    tale = started(restored).commits("b", first)
    gaps = hole(0).model_copy(update={"to_come": 3})

    assert (Remedy.REWIND_TABLE_AND_JOB, ()) == told(examine(tale.looked_at(gaps=gaps)))


def test_where_a_silent_start_began_is_not_said() -> None:
    """It said that the source had begun in the right place before a row had come."""
    found = restarted_from_empty.examine(started(None).looked_at())

    assert isinstance(found, Matches)
    assert not any("right place" in reason for reason in found.reasons)


def test_a_second_start_that_is_silent_is_not_told_by_the_rows_of_the_first() -> None:
    """The first began in the right place; where the second began shows once it brings rows."""
    tale = started(None).commits("b", 1, 2).becomes("b", "CANCELED").flink_runs("c")

    found = restarted_from_empty.examine(tale.looked_at())

    assert (Remedy.REWIND_TABLE_AND_JOB, ()) == told(found)
    assert isinstance(found, Matches)
    assert (tale.at("b", 2), job_id("c")) == (found.last_good, found.wrong_run)


MODES_OF_STATE = (recovered_by_itself, restarted_from_empty, restored_from_older_savepoint)


def checkpoint(run: str, number: int) -> str:
    """Where Flink keeps it."""
    return f"s3://state/{job_id(run)}/chk-{number}"


def handed_over(*reached: int) -> Tale:
    """Run a has committed these and was canceled."""
    reached = reached or (1, 2, 3)
    return Tale().flink_runs("a").remembers("a", *reached).commits("a", *reached).becomes("a", "CANCELED")


def took_over(number: int, *, is_listed: bool = True) -> Tale:
    """Run b was started without state, wrote nothing, and a standby JobManager took it over from its own checkpoint."""
    tale = handed_over()
    if not is_listed:
        tale.forgets("a")
    return tale.flink_runs("b").came_from("b", number, checkpoint("b", number))


def from_an_empty_start() -> Tale:
    """Run c was restored from a checkpoint of run b, which began without state; main carries run a's of that id."""
    tale = handed_over(1, 2).flink_runs("b").commits("b", 1).becomes("b", "CANCELED").rolls_back_to("a", 2)
    return tale.flink_runs("c").came_from("c", 2, checkpoint("b", 2))


@pytest.mark.parametrize(
    "tale",
    [
        pytest.param(took_over(3), id="own checkpoint of the same id"),
        pytest.param(took_over(3, is_listed=False), id="own checkpoint, the other run is forgotten"),
        pytest.param(took_over(11), id="own checkpoint of a higher id"),
    ],
)
def test_a_checkpoint_of_another_run_is_no_state_of_main(tale: Tale) -> None:
    """Its source stands where nobody knows: healthy was said, and that nothing had been started without state."""
    found = [mode.examine(tale.looked_at()) for mode in MODES_OF_STATE]

    assert [CannotTell] * 3 == [type(each) for each in found]


@pytest.mark.parametrize("counted", [False, True])
def test_its_first_commits_end_no_doubt_before_their_rows_are_counted(*, counted: bool) -> None:
    """Run c was restored from the old line, below which main and job were rewound: it reads again what b brought."""
    tale = handed_over(1, 2).completes("a", 3, 4, 5).flink_runs("b").came_from("b", 2, checkpoint("a", 2))
    tale.commits("b", 3, 4).becomes("b", "CANCELED").flink_runs("c").came_from("c", 5, checkpoint("a", 5))
    old = counted_at(tale)
    tale.commits("c", 6, 7).completes("c", 7)

    found = recovered_by_itself.examine(tale.looked_at(evidence=counted_at(tale) if counted else old))

    assert isinstance(found, CannotTell), found


def test_nor_is_one_of_a_run_that_began_without_state_and_was_rolled_back() -> None:
    """What main lost of run b lies in it: a hole is coming, so nothing is healthy (F6 matches)."""
    case = from_an_empty_start().looked_at()

    assert isinstance(rolled_back_while_running.examine(case), Matches)
    assert not isinstance(recovered_by_itself.examine(case), Matches)
    assert isinstance(restarted_from_empty.examine(case), CannotTell)
    assert isinstance(restored_from_older_savepoint.examine(case), CannotTell)


def upgraded(path: str) -> Tale:
    """Run b was restored from this, as the newest that run a has committed, and is silent."""
    return handed_over().flink_runs("b").came_from("b", 3, path)


def shown_to_go_on() -> Tale:
    """Run b was restored from run a's newest, and run c from a checkpoint of b, which had nothing to write."""
    tale = upgraded(checkpoint("a", 3)).completes("b", 4, 5).becomes("b", "CANCELED")
    return tale.flink_runs("c").came_from("c", 5, checkpoint("b", 5))


def failed_over() -> Tale:
    """Flink still lists all that run b has taken since it went on from run a's newest, and then its own failover."""
    return upgraded(checkpoint("a", 3)).remembers("b", 4, 5).came_from("b", 5, checkpoint("b", 5))


@pytest.mark.parametrize(
    "tale",
    [
        pytest.param(upgraded(checkpoint("a", 3)), id="a retained checkpoint"),
        pytest.param(upgraded(f"s3://saves/savepoint-{job_id('a')[:6]}-0123456789ab"), id="a savepoint"),
        pytest.param(upgraded("s3://saves/before-the-upgrade"), id="a savepoint that was moved"),
        pytest.param(shown_to_go_on(), id="of a run that went on from there"),
        pytest.param(failed_over(), id="its own, and it went on from there"),
        pytest.param(took_over(11).commits("b", 12), id="it has committed"),
    ],
)
def test_a_path_that_leads_to_the_newest_commit_raises_no_doubt(tale: Tale) -> None:
    """So most jobs look after an upgrade while their source is idle."""
    case = tale.looked_at()

    assert not isinstance(recovered_by_itself.examine(case), Excluded)
    assert not isinstance(restarted_from_empty.examine(case), Matches)
    assert not isinstance(restored_from_older_savepoint.examine(case), Matches)


@pytest.mark.parametrize(("number", "expected"), [(200, CannotTell), (500, CannotTell)])
def test_an_id_that_no_start_without_state_can_have_reached_tells(number: int, expected: type) -> None:
    """A checkpoint every three seconds: in the minute since the newest commit twenty, or some more, not hundreds."""
    tale = handed_over(number - 2, number - 1)
    tale.now += timedelta(minutes=1)
    tale.flink_runs("b").came_from("b", number, checkpoint("b", number))

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), expected)


def test_a_chain_that_leads_to_a_forgotten_run_is_not_known_to_lead_on() -> None:
    """Where run b began, nobody tells any more."""
    assert not isinstance(recovered_by_itself.examine(shown_to_go_on().forgets("b").looked_at()), Matches)


def test_an_own_checkpoint_above_an_older_origin_is_not_known_to_pair() -> None:
    """Run b went on from below the newest commit, and its failover hides that."""
    tale = handed_over().flink_runs("b").came_from("b", 2, checkpoint("a", 2)).remembers("b", 3, 4)
    tale.came_from("b", 4, checkpoint("b", 4))

    assert not isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


def upgraded_at(*, committed: int, path: str | None = f"s3://state/savepoint-{job_id('a')[:6]}-0a2b") -> Tale:
    """Run a commits so far and is stopped at 3, whose manifest is left; run b goes on from there."""
    tale = Tale().flink_runs("a").commits("a", *range(1, committed + 1)).becomes("a", "FINISHED")
    tale.flink_runs("b").came_from("b", 3, path or "")
    point = tale.runs["b"].restored
    assert point is not None
    tale.runs["b"] = tale.runs["b"].model_copy(update={"restored": point.model_copy(update={"path": path})})
    name = f"{job_id('a')}-{OPERATOR}-00000-0-3-00001.avro"
    left = FlinkManifest(
        path=f"s3://lake/{name}", job_id=job_id("a"), operator_id=OPERATOR, subtask=0, attempt=0,
        checkpoint_id=CheckpointId(3), number=1, bytes=4096, written_at=NOON,
    )  # fmt: skip
    tale.manifests = [left]
    return tale


def test_a_checkpoint_that_comes_again_after_the_evidence_is_looked_for_once_more() -> None:
    """The answer to the commit of 3 was lost: F1 was excluded by what had been looked at before."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    counts = counted_at(tale)

    rising = checkpoint_committed_twice.examine(tale.commits("a", 4).looked_at(evidence=counts))
    again = checkpoint_committed_twice.examine(tale.commits("a", 4).looked_at(evidence=counts))

    assert isinstance(rising, Excluded)
    assert isinstance(again, CannotTell)
    assert again.asks == ("duplicate_commits",)
