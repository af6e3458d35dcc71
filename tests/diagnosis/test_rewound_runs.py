"""Restores from too far back: exact rows, last good snapshot, what explains a rollback, and what is missing to tell."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from bot.diagnosis import (
    checkpoint_committed_twice,
    commits_withheld,
    flink_is_recovering,
    healthy,
    no_snapshot_advanced,
    restarted_from_empty,
    restore_misses_flink_manifest,
    restored_from_older_savepoint,
    rolled_back_while_running,
)
from bot.diagnosis import source_positions_skipped as skipped
from bot.diagnosis._support.overdue import overdue_of_run
from bot.history.case import Case
from bot.history.rolled_back import Outcome, rollbacks_of
from bot.history.suspicion import propose_window
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.evidence import Evidence
from bot.observation.findings import GapsFinding, LeakStanding, PositionGap, RepeatedCommit
from bot.observation.ids import SnapshotId
from tests.cases import Tale, job_id
from tests.diagnosis.answers import Asks, LastGood, Rows, Unsaid, WrongRun, answer_table, check
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import Point, World
from tests.found import evidence, hole, leaks, points, repeats, ten_each, twice, with_positions


def rewound() -> Tale:
    """F2 on the V2 sink: `a` reached 10, `b` was restored from 6 and committed 7 and 8."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6).commits("b", 7, 8)


def late_and_forgotten() -> Tale:
    """V1: `b` held 7 to 10 back and committed 12; then it failed over, and its first restore is no longer listed."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6, v1=True).commits("b", 12).flink_runs("b", restored=12, v1=True)


def failed_over() -> Tale:
    """V1, as rows flow: `b` was restored from 4, held 5 and 6 back, and committed all with 7; then it failed over."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 7)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=4, v1=True).commits("b", 7, rows=30).commits("b", 8)
    return tale.flink_runs("b", restored=8, v1=True)


def followed() -> Tale:
    """The same, and Flink has forgotten the run: another one has taken over."""
    tale = failed_over().becomes("b", "FINISHED").forgets("b")
    return tale.flink_runs("c", restored=8, of="b", v1=True).commits("c", 9)


def bounds(case: Case, first: SnapshotId, begins: int) -> Case:
    """Each commit holds the ten positions up to ten times its id; this one those from `begins` on."""
    ten = ten_each(case)
    return with_positions(case, ten | {first: (begins, ten[first][1])})


FORGOTTEN = pytest.mark.parametrize("tell", [failed_over, followed])


@FORGOTTEN
@pytest.mark.parametrize("begins", [None, 40])
def test_the_next_id_may_bring_all_that_was_held_back(tell: Callable[[], Tale], begins: int | None) -> None:
    """V1 commits with the first id above the old maximum: there is no gap, and the repeated rows tell it."""
    tale = tell()
    pairs = [(tale.at("a", 5), tale.at("b", 7)), (tale.at("a", 6), tale.at("b", 7))]
    case = tale.case(duplicates=twice(20, pairs=pairs))

    found = restored_from_older_savepoint.examine(case if begins is None else bounds(case, tale.at("b", 7), begins))

    assert (tale.at("a", 6), job_id("b")) == (found.last_good, found.wrong_run)


TO_COME = GapsFinding(lowest=0, highest=9, positions=10, missing=0, gaps=(), to_come=10)
WHOLE = GapsFinding(lowest=0, highest=39, positions=40, missing=0, gaps=())


def rewound_to_an_id_of_two() -> Tale:
    """Run a commits 1 and 2, is started without state under its id, and completes another checkpoint 1, from which run
    b is started once main is back at the commit of 1: what a V2 sink passed over is left on storage (facts 0.7)."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").leaves_manifest("a", 1)
    tale.rolls_back_to("a", 1).forgets("a").flink_runs("b")
    return tale.came_from("b", 1, f"s3://state/{job_id('a')}/chk-1")


def looked_at(tale: Tale, gaps: GapsFinding, standing: LeakStanding, rows: int = 10) -> Case:
    """With positions of each commit, ten a commit from 0 on."""
    case = tale.looked_at(gaps=gaps, leaked=leaks(*tale.manifests, standing=standing, rows=rows))
    return with_positions(case, {r.snapshot_id: (10 * n, 10 * n + 9) for n, r in enumerate(case.ledger.rows)})


@pytest.mark.parametrize(
    ("standing", "rows"),
    [(LeakStanding.LEFT_OVER, 10), (LeakStanding.GIVEN_UP, 10), (LeakStanding.UNTOLD, 0)],
    ids=["only its deletion failed", "it was read again", "it lists nothing"],
)
def test_a_manifest_that_tells_of_no_second_count_makes_no_doubt(standing: LeakStanding, rows: int) -> None:
    """The rewind was right, as far as anybody sees."""
    case = looked_at(rewound_to_an_id_of_two().keeps_point("a", 1), TO_COME, standing, rows)
    files = 1 if rows else 0
    told = tuple(leak.model_copy(update={"files": files}) for leak in case.leaked.manifests)
    case = case.model_copy(update={"leaked": case.leaked.model_copy(update={"manifests": told})})

    assert not isinstance(rolled_back_while_running.examine(case), Matches)
    assert isinstance(flink_is_recovering.examine(case), Matches)


def test_nor_does_one_below_the_target_whose_rows_main_has() -> None:
    """A failover broke off checkpoint 2 of run a, which read its rows again."""
    tale = Tale().flink_runs("a").commits("a", 1).leaves_manifest("a", 2).commits("a", 3, 4).becomes("a", "CANCELED")
    tale.rolls_back_to("a", 3).forgets("a").flink_runs("b").came_from("b", 3, f"s3://state/{job_id('a')}/chk-3")
    tale.keeps_point("a", 3)
    gaps = GapsFinding(lowest=0, highest=19, positions=20, missing=0, gaps=(), to_come=10)
    leaked = leaks(*tale.manifests, standing=LeakStanding.UNTOLD, positions=(10, 15))

    case = tale.looked_at(gaps=gaps, leaked=leaked)

    assert not isinstance(rolled_back_while_running.examine(case), Matches)
    assert isinstance(flink_is_recovering.examine(case), Matches)


@pytest.mark.parametrize("missing", [True, False])
def test_lost_positions_that_are_missing_let_no_restore_explain_a_rollback(missing: bool) -> None:
    """Run b goes on from the target, but has passed what main lost; a commit of another engine beside these, whose
    positions nobody knows, hides nothing."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").commits(None).rolls_back_to("a", 1)
    tale.flink_runs("b").came_from("b", 1, f"s3://state/{job_id('a')}/chk-1").commits("b", 2)
    gaps = GapsFinding(lowest=0, highest=39, positions=30, missing=10, gaps=(PositionGap(first=10, last=19),))
    case = looked_at(tale, gaps if missing else WHOLE, LeakStanding.UNTOLD)
    case = with_positions(case, {row.snapshot_id: None for row in case.ledger.rows if not row.job_id})

    assert isinstance(rolled_back_while_running.examine(case), Matches if missing else Excluded)


@pytest.mark.parametrize("of_another", [True, False])
def test_a_checkpoint_of_its_own_reads_nothing_again_that_another_run_lost_before(*, of_another: bool) -> None:
    """Run b began after run a, nobody knows where, and went back to its own 1 before main lost commits of both."""
    tale = Tale().flink_runs("a").commits("a", 1)
    tale = (tale.commits("a", 2) if of_another else tale).becomes("a", "CANCELED").flink_runs("b").commits("b", 2)
    tale.rolls_back_to("a", 1).came_from("b", 1, f"s3://state/{job_id('b')}/chk-1")

    ((_, told),) = rollbacks_of(tale.looked_at())

    assert Outcome.UNTOLD is told.outcome


def rewound_to(*, v1: bool) -> Tale:
    """`a` reached 10, `b` was restored from 6."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6, v1=v1)


def set_forward(*after: int) -> Tale:
    """1 to 6; main goes back to 4, the job commits 7 there, main is set to 6 again, and the job goes on."""
    tale = Tale().flink_runs("a").completes("a", *range(1, 7)).commits("a", *range(1, 7))
    tale.rolls_back_to("a", 4).completes("a", 7).commits("a", 7).rolls_back_to("a", 6)
    return tale.completes("a", *after).commits("a", *after) if after else tale


def test_what_was_committed_meanwhile_is_lost() -> None:
    """Everything up to 6 is there: it is the last good one, and the loss is no source's."""
    tale = set_forward(8, 9)
    case = tale.looked_at(since=tale.at("a", 1), missing=10)

    found, by_source = rolled_back_while_running.examine(case), skipped.examine(case)

    assert (tale.at("a", 6), job_id("a")) == (found.last_good, found.wrong_run)
    assert {tale.at("a", c) for c in (7, 8, 9)} == set(found.rows)
    assert any("had been set to" in reason for reason in found.reasons)
    assert "(F6)" in by_source.reason


def rewound_together(*again: int) -> Tale:
    """Table and job were rewound to 1; run d committed these, and was cancelled."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED").rolls_back_to("a", 1)
    tale.flink_runs("d").came_from("d", 1, f"s3://state/{job_id('a')}/chk-1").commits("d", *again)
    return tale.becomes("d", "CANCELED")


def starts(tale: Tale, checkpoint: int, *, of: str) -> Tale:
    """Run e, from a checkpoint of that run."""
    return tale.flink_runs("e").came_from("e", checkpoint, f"s3://state/{job_id(of)}/chk-{checkpoint}")


def looked(tale: Tale) -> Case:
    """Rows that main lost lie above every live one."""
    return tale.looked_at(gaps=hole(0).model_copy(update={"to_come": 20}))


@pytest.mark.parametrize("after", [(), (5, 6)], ids=["silent", "it has committed"])
@pytest.mark.parametrize("again", [(2,), (2, 3)])
def test_a_start_from_the_newest_checkpoint_of_the_old_line_leaves_a_hole(
    again: tuple[int, ...], after: tuple[int, ...]
) -> None:
    """What lies between what run d brought again and that checkpoint never comes."""
    tale = starts(rewound_together(*again), 4, of="a")
    tale = tale.commits("e", *after) if after else tale

    found = rolled_back_while_running.examine(looked(tale))

    assert (tale.at("a", 1), job_id("e")) == (found.last_good, found.wrong_run)
    assert tale.at("a", 1) == propose_window(tale.table, tale.jobs).trusted
    assert not isinstance(flink_is_recovering.examine(looked(tale)), Matches)


def test_where_main_has_passed_that_checkpoint_again_ids_do_not_tell() -> None:
    """Its rows may be on main, or not: the positions tell."""
    tale = starts(rewound_together(2, 3, 4, 5), 4, of="a")
    silent = rolled_back_while_running.examine(looked(tale))
    ((_, after),) = rollbacks_of(tale.commits("e", 6).looked_at())

    assert "restored from checkpoint 4" in silent.missing[0]
    assert Outcome.UNTOLD is after.outcome


@pytest.mark.parametrize(("checkpoint", "of"), [(2, "d"), (3, "d"), (1, "a")])
def test_a_start_from_the_new_line_or_the_target_leaves_none(checkpoint: int, of: str) -> None:
    """Run d's own checkpoints hold what it read again; the target's lies below all that main lost."""
    tale = starts(rewound_together(2), checkpoint, of=of)

    assert isinstance(rolled_back_while_running.examine(looked(tale)), Excluded)
    assert "rolled back" not in propose_window(tale.table, tale.jobs).because


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
    found = healthy.examine(case_of(world, looked, []))

    assert {1} == world.lost(looked.finished)
    assert isinstance(found, CannotTell)


COUNTS = ("duplicate_rows", "missing_positions", "duplicate_commits")


def started(restored: int | None) -> Tale:
    """Run a had committed up to 4; run b began below it, or with nothing, and is silent."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED").flink_runs("b", restored=restored)


def counted_at(tale: Tale) -> tuple[Evidence, ...]:
    """Rows are counted of the table as it is now."""
    case = tale.case()
    return tuple(evidence(task, case.window, tale.now) for task in ("ledger", *COUNTS))


def back_to_4() -> Tale:
    """Flink calls 5 to 7 completed, at or below what run a had committed under its id."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).flink_runs("a", restored=4)
    return tale.completes("a", 5, 6, 7)


def without_operators() -> Tale:
    """A silent new run may be V1 or V2."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6, vertices=False)


def passed_over(missing: int, missing_files: int = 0) -> Case:
    """The manifests of 5 to 7 were dropped, and Flink forgot the restore."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 8).completes("a", 8).leaves_manifest("a", 5, 6, 7)
    dropped = leaks(*tale.manifests, standing=LeakStanding.DROPPED, missing_files=missing_files, positions=(40, 69))
    return tale.looked_at(leaked=dropped, gaps=hole(missing))


def of_others() -> Case:
    """Manifests above the target, and of another run: a killed run leaves one of the checkpoint that it was at."""
    tale = rewound_to_an_id_of_two()
    tale.manifests.clear()
    return looked_at(tale.leaves_manifest("a", 3).leaves_manifest("z", 1), TO_COME, LeakStanding.UNTOLD)


def catching_up(**found: int) -> Case:
    """Nothing is left on storage."""
    tale = rewound_to_an_id_of_two().keeps_point("a", 1)
    tale.manifests.clear()
    return tale.looked_at(gaps=TO_COME, **found)


def repeats_its_own() -> Tale:
    """Under one job id, its checkpoints bear the ids of those that main lost, and it fails over."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).rolls_back_to("a", 1).flink_runs("a", restored=1)
    return tale.commits("a", 2).completes("a", 3).came_from("a", 3, f"s3://state/{job_id('a')}/chk-3")


def at_later_positions() -> Case:
    """A producer sends once more what it had sent."""
    tale = fails_over(Tale().flink_runs("a").commits("a", 1, 2, 3, 4))
    return bounds(counted(tale), tale.at("a", 1), 0)


def by_key() -> Case:
    """F16 and F17 tell of copies in such a table."""
    tale = fails_over(went_back())
    tale.properties["write.upsert.enabled"] = "true"
    return counted(tale)


def repeated(how: str) -> Case:
    """How the source range of checkpoint 2 came again."""
    tale = fails_over(went_back())
    again = came_again(tale).model_copy(update={"how": how})
    return counted(tale, duplicate_commits=repeats(again))


def counted_before(*then: int) -> Case:
    """Rows were counted after 3; then these were committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    counts = counted_at(tale)
    return tale.commits("a", *then).looked_at(evidence=counts)


def begins_with(operation: str) -> Case:
    """The job's only listed run, which has failed, came after another engine had taken rows."""
    return Tale().commits(None, operation=operation).flink_runs("a").becomes("a", "FAILED").looked_at()


def failed_over_since(restored: int | None, first: int) -> Case:
    """The run failed over after its first rows were counted, and may have committed what its state owed."""
    tale = started(restored).commits("b", first)
    counts = counted_at(tale)
    tale.now += timedelta(minutes=5)
    tale.came_from("b", first, f"s3://state/{job_id('b')}/chk-{first}").completes("b", first + 1)
    return tale.commits("b", first + 1).looked_at(evidence=counts)


def of_partitions(restored: int | None, first: int, *, is_old: bool) -> Case:
    """The rows of one partition may come again later than those of another, so it takes some commits, too."""
    tale = started(restored).commits("b", first)
    old = counted_at(tale)
    case = tale.commits("b", *range(first + 1, first + 5)).looked_at(evidence=old)
    contract = case.contract.model_copy(update={"position_partition": "split"})
    return case.model_copy(update={"contract": contract, "evidence": old if is_old else counted_at(tale)})


F1, F2, F3, F6, F7 = (
    checkpoint_committed_twice, restored_from_older_savepoint, commits_withheld, rolled_back_while_running,
    restore_misses_flink_manifest,
)  # fmt: skip
UNTOLD, REWIND, NO_MATCH = LeakStanding.UNTOLD, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, Excluded | CannotTell
COMES = hole(0).model_copy(update={"to_come": 3})
COMMITTED_2 = rewound_to_an_id_of_two().commits("b", 2)
STUCK = set_forward().becomes("a", "RESTARTING").misses_manifest("a", "a", 7, times=3)
FORGOT = "the point from which run aaaaaa was first restored, which Flink no longer"
HAD = "so something lay below it"


@answer_table(
    {
        "a rewind trusts the last commit before the wrong run": (
            F2, rewound().case(), REWIND, LastGood("a10"), WrongRun("b"), Rows("a7 a8 a9 a10 b7 b8"),
        ),
        "a rewind is proven by the ledger alone": (F2, rewound().flink_is_down().case(), Matches, "fall from 10"),
        **{
            f"an orderly hand-over that Flink forgot, {tell.__name__}, {how}": row
            for tell in (failed_over, followed)
            for how, row in {
                "before rows are counted": (F2, tell().case(), NO_MATCH),
                "after": (F2, tell().case(duplicates=twice(0)), NO_MATCH),
                "a key lives twice, at other positions": (
                    F2, bounds(tell().case(duplicates=twice(1, pairs=[(tell().at("a", 6), tell().at("b", 7))])),
                               tell().at("b", 7), 60), NO_MATCH,
                ),
                "and nothing is withheld": (F3, tell().case(), NO_MATCH),
            }.items()
        },
        "V1's late commit, or ten quiet checkpoints": (F2, late_and_forgotten().case(), CannotTell, "duplicate_rows"),
        "no row lives twice: ten quiet checkpoints": (
            F2, late_and_forgotten().case(duplicates=twice(0)), NO_MATCH,
        ),
        "the checkpoints that never arrived are named": (
            F3, back_to_4().case(), LastGood("a10"), WrongRun("a"),
            "Flink completed 5, 6 and 7 in run aaaaaa, and no snapshot carries them for it.",
        ),
        "the sink is unknown": (F3, without_operators().case(), CannotTell, "the operators of run bbbbbb"),
        "V1 keeps the old id until its uid is changed": (
            F3, rewound_to(v1=True).looked_at(pairing=points()), Remedy.CHANGE_OPERATOR_UID,
        ),
        "V2 asks for its own job id": (F3, back_to_4().looked_at(pairing=points()), Remedy.RESTART_WITH_NEW_JOB_ID),
        "dropped manifests tell of a forgotten restore": (
            F3, passed_over(30), Remedy.RECOVER_LEAKED_MANIFESTS, LastGood("a4"), WrongRun(None),
        ),
        "a file of theirs is gone": (
            F3, passed_over(30, 1), Remedy.REPLAY_SOURCE_RANGE, LastGood("a4"), WrongRun(None),
        ),
        "every position is there all the same": (F3, passed_over(0), Excluded),
        "before positions are looked for its first commit tells nothing": (
            F6, looked_at(COMMITTED_2, TO_COME, UNTOLD), CannotTell,
        ),
        "then they tell": (F6, looked_at(COMMITTED_2, WHOLE, UNTOLD), Excluded),
        "manifests above the target and of another run make no doubt": (F6, of_others(), Excluded),
        "a run catches up": (flink_is_recovering, catching_up(), Matches),
        "no rewind brings a key twice": (flink_is_recovering, catching_up(duplicates=2), NO_MATCH),
        "without what main has the job would lose rows": (
            F7, STUCK.looked_at(), LastGood("a6"), Unsaid("restarts by itself"),
        ),
        "a run that repeats its own checkpoints has failed over": (F6, looked(repeats_its_own()), Excluded),
        "one failover later it is not ruled out (V1)": (F3, counted(fails_over(went_back())), CannotTell, FORGOT),
        "one failover later it is not ruled out (V2)": (
            F3, counted(fails_over(went_back(v1=False), v1=False)), CannotTell, FORGOT,
        ),
        "a source range that came again proves it": (
            F3, repeated("same-source-range"), REWIND, LastGood("a3"), WrongRun("a"),
        ),
        "Flink still shows the restore": (F3, counted(went_back()), Matches, "was restored from checkpoint 1"),
        "copies at later positions were given twice by the source": (F3, at_later_positions(), NO_MATCH),
        "in a table by key copies are of another kind": (F3, by_key(), Excluded),
        "a commit that was made twice is F1": (F3, repeated("same-files"), Excluded),
        "a table that begins with a delete had rows before": (
            no_snapshot_advanced, begins_with("delete"), NO_MATCH, HAD,
        ),
        "so had one that begins with a compaction": (no_snapshot_advanced, begins_with("replace"), NO_MATCH, HAD),
        "evidence is older than commits whose ids rise": (F1, counted_before(4), Excluded),
        "evidence is older than a checkpoint that came again": (
            F1, counted_before(4, 4), CannotTell, Asks("duplicate_commits"),
        ),
        **{
            f"{code}: {story}": row
            for code, mode, restored, first in (("F2", F2, 2, 3), ("F15", restarted_from_empty, None, 1))
            for story, row in {
                "an idle sink's commit without rows shows nothing": (
                    mode, started(restored).commits("b", first, rows=0).looked_at(), REWIND, Asks(),
                ),
                "positions that are still to come are not right": (
                    mode, started(restored).commits("b", first).looked_at(gaps=COMES), REWIND, Asks(),
                ),
                "what a later restore committed is counted, too": (mode, failed_over_since(restored, first), REWIND),
                "partitions were counted early": (mode, of_partitions(restored, first, is_old=True), REWIND),
                "partitions were counted at the head": (mode, of_partitions(restored, first, is_old=False), REWIND),
            }.items()
        },
    }
)  # fmt: skip
def test_a_run_went_back(mode: Any, case: Case, expected: list[Any]) -> None:
    """What it brought again, what it withholds, and what Flink no longer shows of it."""
    check(mode, case, expected)
