"""Main was rolled back: under a running job, twice, below the window, beyond what is listed, and what explains it."""

from datetime import timedelta
from typing import Any

import pytest

from bot.diagnosis import healthy, rolled_back_while_running, source_positions_skipped
from bot.diagnosis._support.asked import lacking
from bot.history.case import Case
from bot.history.suspicion import propose_window
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.observation.evidence import Ask
from bot.observation.findings import GapsFinding, PositionGap
from bot.observation.ids import SnapshotId
from bot.observation.table import Window
from bot.service.observing import readers_since
from tests.cases import Tale, job_id
from tests.diagnosis.answers import LastGood, Rows, Unsaid, WrongRun, answer_table, check
from tests.diagnosis.little_evidence import Looked, case_of, look
from tests.diagnosis.little_world import World
from tests.found import hole, point, points, ten_each, with_positions
from tests.history.test_rolled_back import GUEST, back_to_3


def rolled_back() -> Tale:
    """As run on Flink 1.20.3: 3 committed, 4 to 21 rolled back, 22 and 23 on top of 3."""
    return Tale().flink_runs("a").commits("a", *range(1, 22)).rolls_back_to("a", 3).commits("a", 22, 23)


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


def expired() -> Tale:
    """Main goes from 4 back to 2 while run a runs, and 3 and 4 expire."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).completes("a", 5)
    return tale.rolls_back_to("a", 2).expires("a", 3, 4)


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
    tale.shows("b", restored_count=0)
    return tale.came_from("b", 7, f"s3://lake/checkpoints/{job_id('b')}/chk-7").completes("b", 8)


def by_history(began: int) -> Tale:
    """It failed over, and Flink lists all that it completed."""
    ids = range(began + 1, began + 6)
    tale = rolled_back_below().flink_runs("b", restored=began).remembers("b", *ids)
    return tale.came_from("b", ids[-1], f"s3://lake/checkpoints/{job_id('b')}/chk-{ids[-1]}")


def by_path(began: int) -> Tale:
    """It failed before it completed anything, and went back to the same point."""
    tale = rolled_back_below().flink_runs("b", restored=began)
    return tale.came_from("b", began, f"s3://lake/checkpoints/{job_id('a')}/chk-{began}")


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
    return with_positions(case, ten_each(case)) if bounds else case


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
    unknown = {} if bounds else {s.snapshot_id: None for s in world.tale.snapshots if s.checkpoint_id == 3}
    told = tuple(PositionGap(first=first, last=last) for first, last in gaps)
    found = GapsFinding(
        lowest=lowest, highest=69, positions=0, gaps=told,
        missing=sum(gap.last - gap.first + 1 for gap in told) if missing is None else missing,
    )  # fmt: skip
    return with_positions(case, ten_each(case) | unknown).model_copy(update={"gaps": found})


def restored_at(checkpoint: int, first: int) -> Tale:
    """Main went from 8 back to 3 while the job was down; the next run was restored and first commits this."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).completes("a", *range(1, 9)).becomes("a", "CANCELED")
    tale.rolls_back_to("a", 3).flink_runs("b", restored=checkpoint)
    return tale.commits("b", first, first + 1).completes("b", first + 1)


def silent(checkpoint: int, run: str) -> Tale:
    """Main went from 8 back to 3; then this run was restored, under the old job id or a new one, and is silent."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9))
    tale = tale.becomes("a", "CANCELED") if run != "a" else tale
    return tale.rolls_back_to("a", 3).flink_runs(run, restored=checkpoint)


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


def stopped(state: str) -> Case:
    """The run was stopped before main went back, as a rewind asks."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", state).rolls_back_to("a", 2).looked_at()


def expired_in(version: int) -> Tale:
    """Format v1 has no numbers: the log tells."""
    tale = expired()
    tale.numbers_snapshots = version > 1
    return tale


def of_partitions(case: Case) -> Case:
    """Bounds are of all source partitions together: a gap of one may lie anywhere."""
    contract = case.contract.model_copy(update={"position_partition": "source_partition"})
    return case.model_copy(update={"contract": contract})


def lost_above(pairs_with: int) -> Case:
    """Main lost 4 and 5, the job went on, and a restore point pairs with this commit."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5)
    told = points(point(job_id("a"), pairs_with, tale.at("a", pairs_with)))
    return tale.rolls_back_to("a", 3).commits("a", 6).looked_at(missing=20, pairing=told)


F6, F18, REWIND = rolled_back_while_running, source_positions_skipped, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB
STAGED = Tale().flink_runs("a").commits("a", 1, 2).stages("a", 3).commits("a", 4)
GONE = Tale().flink_runs("a").commits("a", *range(1, 9)).rolls_back_to("a", 3).commits("a", 9, 10)
AGAIN, HOLE, OTHER_HOLE = "reads again what main lost", (30, 39), (20, 29)
BEYOND = restored_at(8, 9)
FIRST_HOLE = looked_at_both((50, 59))


@answer_table(
    {
        "the target is to be trusted, and the running writer to be stopped": (
            F6, rolled_back().case(), LastGood("a3"), WrongRun("a"), Rows(" ".join(f"a{n}" for n in range(4, 24))),
        ),
        "the target is the window's lower edge": (F6, rolled_back().case(since=rolled_back().at("a", 3)), Matches),
        "a rollback below the window": (F6, rolled_back().case(since=rolled_back().at("a", 22)), Excluded),
        "staged snapshots never were main": (F6, STAGED.case(), Excluded, "none in the window ever was its head"),
        **{f"stopped first ({state})": (F6, stopped(state), Excluded) for state in ENDS},
        "stopped at once, by clocks that may differ": (
            F6, ends(under_its_run(), "a", "CANCELED", after_s=3).looked_at(), Excluded,
        ),
        "finished at once": (F6, ends(under_its_run(), "a", "FINISHED", after_s=3).looked_at(), Excluded),
        "one that failed at about that time was not stopped": (
            F6, ends(under_its_run(), "a", "FAILED", after_s=3).looked_at(), Matches,
        ),
        "what was lost has expired: sequence numbers tell": (F6, expired_in(2).looked_at(), CannotTell),
        "what was lost has expired: the log tells": (F6, expired_in(1).looked_at(), CannotTell),
        "what was lost has expired, and positions are missing": (
            F6, expired().commits("a", 6).looked_at(missing=20), CannotTell,
        ),
        "where it began is not shown, from the target": (F6, forgotten(3).looked_at(gaps=WHOLE), CannotTell),
        "where it began is not shown, from beyond": (F6, forgotten(6).looked_at(gaps=WHOLE), CannotTell),
        "a JobManager counts anew, from the target": (F6, taken_over(3).looked_at(gaps=WHOLE), CannotTell),
        "a JobManager counts anew, from beyond": (F6, taken_over(6).looked_at(gaps=WHOLE), CannotTell),
        "such a table is not healthy": (healthy, forgotten(6).looked_at(gaps=WHOLE), CannotTell),
        "nor under the JobManager": (healthy, taken_over(6).looked_at(gaps=WHOLE), CannotTell),
        "its checkpoints show the target": (F6, by_history(3).looked_at(gaps=WHOLE), Excluded, AGAIN),
        "its checkpoints show what lies beyond": (F6, by_history(4).looked_at(gaps=WHOLE), Matches),
        "its checkpoints show the lost head": (F6, by_history(6).looked_at(gaps=WHOLE), Matches),
        "a path shows the target": (F6, by_path(3).looked_at(gaps=WHOLE), Excluded, AGAIN),
        "a path shows what lies beyond": (F6, by_path(4).looked_at(gaps=WHOLE), Matches),
        "a path shows the lost head": (F6, by_path(6).looked_at(gaps=WHOLE), Matches),
        **{
            f"{tell.__name__}: {story}": row
            for tell in (failed_over, followed, under_one_id)
            for story, row in {
                "what 4 had brought is missing: it began beyond the target": (
                    F6, found_in(tell(4), missing=HOLE), LastGood("a3"), "ositions that the lost commits",
                ),
                "that is no skip of the source": (F18, found_in(tell(4), missing=HOLE), Excluded, "(F6)"),
                "it was quiet at first, and every position is there": (F6, found_in(tell(3), missing=None), Excluded),
                "then nothing is wrong": (healthy, found_in(tell(3), missing=None), Matches | CannotTell),
                "nobody looked for positions": (F6, tell(4).case(), CannotTell, "missing_positions"),
                "positions are missing elsewhere": (F6, found_in(tell(3), missing=OTHER_HOLE), Excluded),
                "the source skipped these": (F18, found_in(tell(3), missing=OTHER_HOLE), Matches),
                "without bounds it may be either": (F6, found_in(tell(4), missing=HOLE, bounds=False), CannotTell),
                "without bounds it may be a skip": (F18, found_in(tell(4), missing=HOLE, bounds=False), CannotTell),
            }.items()
        },
        "the last row of the first hole is missing": (F6, looked_at_both((39, 39), (50, 59)), LastGood("a2")),
        "its first row is missing": (F6, looked_at_both((20, 20), (50, 59)), LastGood("a2")),
        "a gap is not named": (F6, looked_at_both((50, 59), missing=11), LastGood("a2")),
        "nobody looked so far down": (F6, looked_at_both((50, 59), lowest=21), LastGood("a2")),
        "bounds are unknown": (F6, looked_at_both((50, 59), bounds=False), LastGood("a2")),
        "bounds are of several source partitions": (F6, of_partitions(FIRST_HOLE), LastGood("a2")),
        "restored from beyond the target": (
            F6, BEYOND.looked_at(missing=50), REWIND, LastGood("a3"), WrongRun("b"),
            ", and run bbbbbb went on from beyond it.", "restored it last from checkpoint 8",
        ),
        "that is the cause of what is missing": (F18, BEYOND.looked_at(missing=50), Excluded, "(F6)"),
        "before positions are looked for it is not healthy": (
            healthy, BEYOND.looked_at(gaps=None), Excluded | CannotTell,
        ),
        **{
            f"run {run} was restored from {number} and is silent": (
                F6, silent(number, run).looked_at(), LastGood("a3"), WrongRun(run),
                f"restored it last from checkpoint {number}",
            )
            for number in (4, 6, 8) for run in "ab"
        },
        **{
            f"not healthy while run {run} is silent above {number}": (
                healthy, silent(number, run).looked_at(), Excluded | CannotTell,
            )
            for number in (4, 6, 8) for run in "ab"
        },
        "commits that have expired may have held the rows": (
            F18, GONE.expires("a", 4, 5, 6, 7, 8).looked_at(missing=50), Unsaid("never written"),
            "5 commits between those on main are not listed any more",
        ),
        "setting main back would undo nothing": (F6, back_to_3().looked_at(), Matches, "would undo"),
        "it would take a guest's rows": (F6, guest(back_to_3()).looked_at(), Matches, Unsaid("would undo")),
        "a point pairs below the hole": (F6, lost_above(3), REWIND),
        "none pairs below the hole: the lost commits are put back": (F6, lost_above(5), Remedy.RESTORE_LOST_COMMITS),
    }
)  # fmt: skip
def test_main_was_rolled_back(mode: Any, case: Case, expected: list[Any]) -> None:
    """Who went on above the hole, from where, and what shows it."""
    check(mode, case, expected)
