"""Main was rolled back: under a running job, twice, below the window, beyond what is listed, and what explains it."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.diagnosis import healthy, rolled_back_while_running, source_positions_skipped
from bot.diagnosis._support.asked import lacking
from bot.history.case import Case
from bot.history.rolled_back import Outcome, rollbacks_of
from bot.history.suspicion import propose_window
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.evidence import Ask
from bot.observation.findings import GapsFinding, PositionGap
from bot.observation.ids import SnapshotId
from bot.observation.table import Window
from bot.service.observing import readers_since
from tests.cases import Tale, job_id
from tests.diagnosis.little_evidence import Looked, case_of, look
from tests.diagnosis.little_world import World
from tests.found import hole, point, points
from tests.history.test_rolled_back import GUEST, back_to_3


def rolled_back() -> Tale:
    """As run on Flink 1.20.3: 3 committed, 4 to 21 rolled back, 22 and 23 on top of 3."""
    return Tale().flink_runs("a").commits("a", *range(1, 22)).rolls_back_to("a", 3).commits("a", 22, 23)


def test_a_rollback_under_a_running_job_trusts_its_target() -> None:
    """The rows are what was lost and what came on top; the running writer is to be stopped."""
    tale = rolled_back()

    found = rolled_back_while_running.examine(tale.case())

    assert (tale.at("a", 3), job_id("a")) == (found.last_good, found.wrong_run)
    assert {tale.at("a", c) for c in range(4, 24)} == set(found.rows)


@pytest.mark.parametrize(("since", "expected"), [(3, Matches), (22, Excluded)])
def test_a_rollback_below_the_window_is_not_todays_fault(since: int, expected: type) -> None:
    """The target itself is the window's lower edge, and still counts."""
    tale = rolled_back()

    assert isinstance(rolled_back_while_running.examine(tale.case(since=tale.at("a", since))), expected)


def test_staged_snapshots_are_not_rolled_back() -> None:
    """Write-audit-publish leaves snapshots that never were head of main."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).stages("a", 3).commits("a", 4)

    found = rolled_back_while_running.examine(tale.case())

    assert "none in the window ever was its head" in found.reason


ENDS = ["FAILED", "CANCELED", "FINISHED"]


def under_its_run(*, upgraded: bool = False) -> Tale:
    """Main goes back to 2 while run a lives, or run b, which was restored from run a's 3."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    if upgraded:
        tale.becomes("a", "FINISHED").flink_runs("b", restored=3)
    return tale.rolls_back_to("a", 2)


def ends(tale: Tale, run: str, state: str, *, after_s: int = 20) -> Tale:
    """The run, so many seconds later."""
    tale.now += timedelta(seconds=after_s)
    return tale.becomes(run, state)


@pytest.mark.parametrize("state", ENDS)
@pytest.mark.parametrize("upgraded", [False, True])
def test_a_restart_would_leave_the_hole(upgraded: bool, state: str) -> None:
    """The run's last checkpoint holds what main lost; nobody is sent to stop it once more."""
    tale = ends(under_its_run(upgraded=upgraded), "b" if upgraded else "a", state)

    found = rolled_back_while_running.examine(tale.looked_at())

    assert (tale.at("a", 2), None) == (found.last_good, found.wrong_run)
    assert f"is {state} by now" in " ".join(found.reasons)
    assert tale.at("a", 2) == propose_window(tale.table, tale.jobs).trusted


@pytest.mark.parametrize("state", ENDS)
def test_a_run_that_was_stopped_first_is_as_a_rewind_asks(state: str) -> None:
    """By clocks that may differ. One that failed at about that time was not stopped."""
    before = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", state).rolls_back_to("a", 2)
    at_once = ends(under_its_run(), "a", state, after_s=3)

    assert isinstance(rolled_back_while_running.examine(before.looked_at()), Excluded)
    expected = Matches if state == "FAILED" else Excluded
    assert isinstance(rolled_back_while_running.examine(at_once.looked_at()), expected)


def expired() -> Tale:
    """Main goes from 4 back to 2 while run a runs, and 3 and 4 expire."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).completes("a", 5)
    return tale.rolls_back_to("a", 2).expires("a", 3, 4)


@pytest.mark.parametrize("by_numbers", [True, False], ids=["sequence numbers", "the way back"])
def test_an_expired_rollback_is_not_excluded(by_numbers: bool) -> None:
    """Format v1 has no numbers: the log tells."""
    tale = expired()
    tale.numbers_snapshots = by_numbers

    assert isinstance(rolled_back_while_running.examine(tale.looked_at()), CannotTell)


def test_positions_that_are_missing_settle_nothing() -> None:
    """The run went on above the hole."""
    assert isinstance(rolled_back_while_running.examine(expired().commits("a", 6).looked_at(missing=20)), CannotTell)


WHOLE = GapsFinding(lowest=0, highest=29, positions=30, missing=0, gaps=())


def rolled_back_below() -> Tale:
    """Main went from 6 back to 3 while the job was down."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5, 6).becomes("a", "FINISHED")
    return tale.rolls_back_to("a", 3)


# ---------------------------------------------------------------------- before it commits


def forgotten(began: int) -> Tale:
    """The run's source is quiet, and it has failed over from a checkpoint of its own."""
    return rolled_back_below().flink_runs("b", restored=began).completes("b", 7).flink_runs("b", restored=7)


def taken_over(began: int) -> Tale:
    """The same by a JobManager that counts anew."""
    tale = rolled_back_below().flink_runs("b", restored=began)
    tale.runs["b"] = tale.runs["b"].model_copy(update={"restored_count": 0})
    return tale.came_from("b", 7, f"s3://lake/checkpoints/{job_id('b')}/chk-7").completes("b", 8)


@pytest.mark.parametrize("began", [3, 6])
@pytest.mark.parametrize("tell", [forgotten, taken_over])
def test_a_silent_run_of_which_nothing_tells_where_it_began_is_in_doubt(
    tell: Callable[[int], Tale], began: int
) -> None:
    """Flink shows the same of a run from the target and of one from beyond: rows may be lost for ever."""
    case = tell(began).looked_at(gaps=WHOLE)

    found = rolled_back_while_running.examine(case)

    assert isinstance(found, CannotTell)
    assert not isinstance(healthy.examine(case), Matches)


def by_history(began: int) -> Tale:
    """It failed over, and Flink lists all that it completed."""
    ids = range(began + 1, began + 6)
    tale = rolled_back_below().flink_runs("b", restored=began).remembers("b", *ids)
    return tale.came_from("b", ids[-1], f"s3://lake/checkpoints/{job_id('b')}/chk-{ids[-1]}")


def by_path(began: int) -> Tale:
    """It failed before it completed anything, and went back to the same point."""
    tale = rolled_back_below().flink_runs("b", restored=began)
    return tale.came_from("b", began, f"s3://lake/checkpoints/{job_id('a')}/chk-{began}")


@pytest.mark.parametrize("tell", [by_history, by_path])
@pytest.mark.parametrize(("began", "expected"), [(3, Excluded), (4, Matches), (6, Matches)])
def test_what_flink_still_shows_of_its_beginning_tells(tell: Callable[[int], Tale], began: int, expected: type) -> None:
    """From beyond the target its state holds what main lost; from the target it reads that again."""
    found = rolled_back_while_running.examine(tell(began).looked_at(gaps=WHOLE))

    assert isinstance(found, expected)
    if isinstance(found, Excluded):
        assert "reads again what main lost" in found.reason


# ---------------------------------------------------------------------- after its first commits


def failed_over(began: int) -> Tale:
    """The run has committed 5 and 6 above the target, and then failed over."""
    tale = rolled_back_below().flink_runs("b", restored=began).completes("b", 4).commits("b", 5, 6)
    return tale.flink_runs("b", restored=6)


def followed(began: int) -> Tale:
    """Another run has taken over from it, and Flink has forgotten it."""
    tale = failed_over(began).becomes("b", "FINISHED").forgets("b").flink_runs("c")
    return tale.came_from("c", 6, f"s3://lake/checkpoints/{job_id('b')}/chk-6")


def under_one_id(began: int) -> Tale:
    """The job kept its id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5, 6).rolls_back_to("a", 3)
    return tale.flink_runs("a", restored=began).commits("a", 5, 6).flink_runs("a", restored=6)


def found_in(tale: Tale, *, missing: tuple[int, int] | None, bounds: bool = True) -> Case:
    """Each commit brought ten positions, from (n - 1) * 10; those of this gap are missing."""
    gap = () if missing is None else (PositionGap(first=missing[0], last=missing[1]),)
    lacks = sum(each.last - each.first + 1 for each in gap)
    gaps = GapsFinding(lowest=0, highest=59, positions=60 - lacks, missing=lacks, gaps=gap)
    case = tale.looked_at(gaps=gaps)
    told = [row.model_copy(update=brought(row.checkpoint_id or 0)) for row in case.ledger.rows]
    ledger = case.ledger.model_copy(update={"rows": tuple(told)})
    return case.model_copy(update={"ledger": ledger}) if bounds else case


def brought(checkpoint: int) -> dict[str, int]:
    """The bounds of a commit's positions."""
    return {"position_from": 10 * (checkpoint - 1), "position_until": 10 * checkpoint - 1}


LATER = pytest.mark.parametrize("tell", [failed_over, followed, under_one_id])


@LATER
def test_missing_positions_tell_that_the_run_began_beyond_the_target(tell: Callable[[int], Tale]) -> None:
    """It began at 4, and nothing brings what 4 had brought."""
    tale = tell(4)
    case = found_in(tale, missing=(30, 39))

    found, skipped = rolled_back_while_running.examine(case), source_positions_skipped.examine(case)

    assert [Outcome.UNTOLD] == [told.outcome for _, told in rollbacks_of(tale.looked_at())]
    assert tale.at("a", 3) == found.last_good
    assert any("positions that the lost commits" in reason.lower() for reason in found.reasons)
    assert "(F6)" in skipped.reason


@LATER
def test_a_run_from_the_target_that_was_quiet_at_first_is_not_accused(tell: Callable[[int], Tale]) -> None:
    """It brought the rows of 4 again under 5: every position is there, and the table is right."""
    case = found_in(tell(3), missing=None)

    found = rolled_back_while_running.examine(case)

    assert isinstance(found, Excluded)
    assert not isinstance(healthy.examine(case), Excluded)


@LATER
def test_before_positions_are_looked_for_nobody_can_tell(tell: Callable[[int], Tale]) -> None:
    """And it is said what would."""
    found = rolled_back_while_running.examine(tell(4).case())

    assert "missing_positions" in found.missing[1]


@LATER
def test_positions_that_are_missing_elsewhere_are_none_of_it(tell: Callable[[int], Tale]) -> None:
    """The source skipped them."""
    case = found_in(tell(3), missing=(20, 29))

    assert isinstance(rolled_back_while_running.examine(case), Excluded)
    assert isinstance(source_positions_skipped.examine(case), Matches)


@LATER
def test_without_bounds_missing_positions_may_be_of_either(tell: Callable[[int], Tale]) -> None:
    """Neither mode is excluded."""
    case = found_in(tell(4), missing=(30, 39), bounds=False)

    assert isinstance(rolled_back_while_running.examine(case), CannotTell)
    assert isinstance(source_positions_skipped.examine(case), CannotTell)


def gone_back(*above: int) -> tuple[Tale, SnapshotId]:
    """An incident looks at what came after 6; then main goes back to 4, and the job goes on with 8 and 9."""
    tale = Tale().flink_runs("a").completes("a", *range(1, 7)).commits("a", *range(1, 7))
    since = tale.at("a", 6)
    tale.completes("a", *above)
    if above:
        tale.commits("a", *above)
    return tale.rolls_back_to("a", 4).completes("a", 8, 9).commits("a", 8, 9), since


def test_a_window_begins_on_main() -> None:
    """Whoever builds a case or asks a task: what both answer for reaches down to where main left the line."""
    tale, since = gone_back(7)
    case: Case = tale.case(since=since)

    asked = Ask(
        observation=case.observation, window=Window(since=since, until=case.window.until), contract=case.contract
    )

    assert tale.at("a", 4) == case.window.since == asked.window.since
    assert [5, 6, 7, 8, 9] == [s.checkpoint_id for s in Window(since=since, until=case.window.until).of(tale.table)]
    before = tale.table.by_id[tale.at("a", 5)].committed_at
    assert readers_since(tale.table, Window(since=since, until=case.window.until)) < before


def test_evidence_of_the_narrower_window_is_asked_again() -> None:
    """It was asked before anybody went back, for less than is in doubt now."""
    world = World()
    for _ in range(6):
        world.reads(2)
    looked = look(world, since=world.tale.at("a", 6))
    world.rolls_back_to(world.tale.at("a", 4))
    world.reads(2)

    assert lacking(case_of(world, looked), "missing_positions")
    assert not lacking(case_of(world, look(world, since=world.tale.at("a", 6))), "missing_positions")


def put_back() -> tuple[World, Looked]:
    """Main went from 4 back to 2, the job went on with 5, and evidence has found the rows of 3 and 4 in the table."""
    world = World()
    committed = [world.reads(10) for _ in range(4)]
    goes_back(world, committed[1])
    world.reads(10)
    looked = look(world)
    return world, looked._replace(found={**looked.found, "gaps": hole(0)})


def goes_back(world: World, snapshot: SnapshotId | None) -> None:
    """Main is set to that commit."""
    assert snapshot is not None
    world.rolls_back_to(snapshot)


def lost_again(*, goes_on: bool) -> tuple[World, Looked, SnapshotId]:
    """Then main loses 6, too; and the snapshot that it was set to."""
    world, looked = put_back()
    target = world.tale.head
    world.reads(10)
    goes_back(world, target)
    if goes_on:
        world.reads(10)
    assert target is not None
    return world, looked, target


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_later_hole_is_told_by_itself(goes_on: bool) -> None:
    """What was found before it says nothing of it; and nothing is taken back that was mended."""
    world, looked, target = lost_again(goes_on=goes_on)

    found = rolled_back_while_running.examine(case_of(world, looked))

    assert (target, world.tale.at("a", 6)) == (found.last_good, found.newest_wrong)
    assert not any("once more" in reason for reason in found.reasons)


def test_a_hole_that_the_next_commit_leaves_is_told_beside_one_that_stands() -> None:
    """Before the job makes it: the first hole alone would say that all of it is long done."""
    world = World()
    committed = [world.reads(10) for _ in range(4)]
    goes_back(world, committed[1])
    stands = world.reads(10)
    world.reads(10)
    goes_back(world, stands)

    found = rolled_back_while_running.examine(case_of(world, look(world)))

    assert (committed[1], world.tale.at("a", 6)) == (found.last_good, found.newest_wrong)
    assert any("its next commit leaves that hole, too" in reason for reason in found.reasons)


def looked_at_both(*gaps: tuple[int, int], lowest: int = 0, missing: int | None = None, bounds: bool = True) -> Case:
    """Evidence has looked after the second hole, and misses these positions. Commit n holds 10 n - 10 to 10 n - 1."""
    world, _, _ = lost_again(goes_on=True)
    case = case_of(world, look(world))
    numbers = {s.snapshot_id: s.checkpoint_id or 0 for s in world.tale.snapshots}
    rows = tuple(
        row.model_copy(
            update={"position_from": 10 * n - 10, "position_until": 10 * n - 1}
            if bounds or n != 3
            else {"position_from": None, "position_until": None}
        )
        for row in case.ledger.rows
        for n in [numbers[row.snapshot_id]]
    )
    told = tuple(PositionGap(first=first, last=last) for first, last in gaps)
    found = GapsFinding(
        lowest=lowest, highest=69, positions=0, gaps=told,
        missing=sum(gap.last - gap.first + 1 for gap in told) if missing is None else missing,
    )  # fmt: skip
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows}), "gaps": found})


@pytest.mark.parametrize(
    "case",
    [
        looked_at_both((39, 39), (50, 59)),
        looked_at_both((20, 20), (50, 59)),
        looked_at_both((50, 59), missing=11),
        looked_at_both((50, 59), lowest=21),
        looked_at_both((50, 59), bounds=False),
    ],
    ids=["its last row", "its first row", "a gap that is not named", "not looked so far down", "unknown bounds"],
)
def test_a_hole_of_which_a_row_may_be_missing_is_told(case: Case) -> None:
    """Below all others: a rewind would have to begin there."""
    found = rolled_back_while_running.examine(case)

    assert 2 == case.observation.table.by_id[found.last_good or SnapshotId(0)].checkpoint_id


def test_bounds_of_several_source_partitions_fill_no_hole() -> None:
    """They are of all of them together: a gap of one may lie anywhere."""
    case = looked_at_both((50, 59))
    contract = case.contract.model_copy(update={"position_partition": "source_partition"})

    found = rolled_back_while_running.examine(case.model_copy(update={"contract": contract}))

    assert 2 == case.observation.table.by_id[found.last_good or SnapshotId(0)].checkpoint_id


def restored_at(checkpoint: int, first: int) -> Tale:
    """Main went from 8 back to 3 while the job was down; the next run was restored and first commits this."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).completes("a", *range(1, 9)).becomes("a", "CANCELED")
    tale.rolls_back_to("a", 3).flink_runs("b", restored=checkpoint)
    return tale.commits("b", first, first + 1).completes("b", first + 1)


def test_a_run_from_beyond_the_target_leaves_a_hole() -> None:
    """Restored from 8 over a table at 3: what 4 to 8 had brought is not read again."""
    tale = restored_at(8, 9)
    case = tale.looked_at(missing=50)

    found, skipped = rolled_back_while_running.examine(case), source_positions_skipped.examine(case)

    assert found.headline.endswith(", and run bbbbbb went on from beyond it.")
    assert (tale.at("a", 3), job_id("b"), Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB) == (
        found.last_good,
        found.wrong_run,
        found.remedy,
    )
    assert any("restored it last from checkpoint 8" in reason for reason in found.reasons)
    assert "(F6)" in skipped.reason
    assert isinstance(healthy.examine(tale.looked_at(gaps=None)), Excluded | CannotTell)


def silent(checkpoint: int, run: str) -> Tale:
    """Main went from 8 back to 3; then this run was restored, under the old job id or a new one, and is silent."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9))
    tale = tale.becomes("a", "CANCELED") if run != "a" else tale
    return tale.rolls_back_to("a", 3).flink_runs(run, restored=checkpoint)


@pytest.mark.parametrize("run", ["a", "b"])
@pytest.mark.parametrize("checkpoint", [4, 6, 8])
def test_a_silent_run_from_beyond_the_target_will_leave_a_hole(run: str, checkpoint: int) -> None:
    """Its state holds rows that main lost: to be stopped before it commits, and nothing is healthy meanwhile."""
    tale = silent(checkpoint, run)

    found = rolled_back_while_running.examine(tale.looked_at())

    assert (job_id(run), tale.at("a", 3)) == (found.wrong_run, found.last_good)
    assert any(f"restored it last from checkpoint {checkpoint}" in reason for reason in found.reasons)
    assert not isinstance(healthy.examine(tale.looked_at()), Matches)


def test_commits_that_were_expired_may_have_held_the_rows() -> None:
    """Their sequence numbers are missing; nobody can say that nobody ever wrote them."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 3).commits("a", 9, 10)
    tale.expires("a", 4, 5, 6, 7, 8)

    found = source_positions_skipped.examine(tale.looked_at(missing=50))

    assert "never written" not in found.headline
    assert "5 commits between those on main are not listed any more" in found.reasons[-1]


def test_what_a_rolled_back_commit_had_brought_was_not_skipped() -> None:
    """Also where table and job were rewound together, and the run then left these rows out."""
    case = restored_at(3, 4).looked_at(missing=50)
    bounds = {"on_main": False, "position_from": 0, "position_until": 99}
    rows = (*case.ledger.rows, case.ledger.rows[0].model_copy(update=bounds))
    ledger = case.ledger.model_copy(update={"rows": rows})
    gaps = hole(50).model_copy(update={"gaps": (PositionGap(first=40, last=89),)})

    found = source_positions_skipped.examine(case.model_copy(update={"ledger": ledger, "gaps": gaps}))

    assert "was rolled back" in found.reason


def guest(tale: Tale) -> Tale:
    """Another job commits through its own sink."""
    return tale.commits("z", 2).by_sink(GUEST)


@pytest.mark.parametrize("is_down", [False, True], ids=["Flink is seen", "Flink is down"])
@pytest.mark.parametrize("after", [(), (8,)], ids=["before the job commits", "it has committed"])
def test_trust_stays_below_what_was_lost(after: tuple[int, ...], is_down: bool) -> None:
    """Not at the head that another job has made."""
    tale = guest(back_to_3())
    tale = tale.commits("a", *after) if after else tale
    tale = tale.flink_is_down() if is_down else tale

    proposed = propose_window(tale.table, tale.jobs)

    assert (tale.at("a", 3), tale.at("a", 3)) == (proposed.window.since, proposed.trusted)
    assert "lost 4 commits" in proposed.because


def test_setting_main_back_would_take_the_guests_rows() -> None:
    """It is said only where nothing stands above the target."""
    alone, beside = back_to_3(), guest(back_to_3())

    told = [rolled_back_while_running.examine(tale.looked_at()) for tale in (alone, beside)]

    said = [any("would undo" in r for r in each.reasons) for each in told if isinstance(each, Matches)]
    assert [True, False] == said


@pytest.mark.parametrize(
    ("pairs_with", "remedy"), [(3, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB), (5, Remedy.RESTORE_LOST_COMMITS)]
)
def test_where_no_restore_point_pairs_below_the_hole_the_lost_commits_are_to_be_put_back(
    pairs_with: int, remedy: Remedy
) -> None:
    """A rewind could only be refused."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    told = points(point(job_id("a"), pairs_with, tale.at("a", pairs_with)))
    tale.rolls_back_to("a", 3).commits("a", 6)

    found = rolled_back_while_running.examine(tale.looked_at(missing=20, pairing=told))

    assert found.remedy is remedy
