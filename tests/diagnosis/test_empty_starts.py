"""F4, F14 and F15: starts without state, and job ids that come again."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from bot.diagnosis import commits_dropped_after_empty_start as mode
from bot.diagnosis import job_id_reused, restarted_from_empty
from bot.diagnosis._support.rightness import root_in_doubt
from bot.diagnosis.healthy import examine
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Diagnosis, Excluded, Matches, Remedy
from bot.observation.errors import Refused
from bot.observation.findings import GapsFinding, LeakStanding, RepeatedCommit
from bot.observation.ids import CheckpointId, JobId, OperatorId
from tests.cases import Tale, job_id, placed
from tests.diagnosis.answers import Asks, LastGood, Unsaid, WrongRun, answer_table, check
from tests.diagnosis.histories.drawn import plan_of, played
from tests.diagnosis.histories.held import answered, wrongly_excused, wrongly_safe
from tests.diagnosis.test_asked_for import Asked, diagnosed
from tests.found import hole, leaks, point, points, repeats


def started_empty() -> Tale:
    """Run a had committed 1 to 5; run b starts with no restore and commits 1 and 2."""
    return Tale().flink_runs("a").commits("a", *range(1, 6)).becomes("a", "CANCELED").flink_runs("b").commits("b", 1, 2)


def dropped() -> Tale:
    """As run on Flink 1.20.3 with the V2 sink: 5 committed, started anew, 1 to 4 completed, nothing committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "CANCELED")
    return tale.starts_again("a").completes("a", 1, 2, 3, 4).leaves_manifest("a", 1, 2, 3, 4)


MINUTE = timedelta(minutes=1)
ROWS = ["missing_positions", "duplicate_rows", "duplicate_commits", "ledger"]


def goes_on(tale: Tale) -> None:
    """Two more checkpoints have their commits."""
    tale.commits("b", 3, 4)


def is_idle(tale: Tale) -> None:
    """Two more checkpoints complete, and there was nothing to commit."""
    tale.completes("b", 3, 4)


def down(then: Callable[[Tale], None]) -> tuple[Case, Case]:
    """The case while the run without state was alive, and after this happened, and the run has died."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).becomes("a", "CANCELED").flink_runs("b").commits("b", 1, 2)
    alive = placed(tale.looked_at(), b=50)
    tale.now += 3 * MINUTE
    then(tale)
    tale.now += 2 * MINUTE
    tale.becomes("b", "FAILED")
    tale.now += MINUTE
    return alive, placed(tale.looked_at(), b=50)


def looked_at(world: Asked, then: Callable[[Tale], None], *, without: str | None = None) -> Asked:
    """All was looked at while the run was alive (`without`: but for this); then that."""
    world.case, now = down(then)
    world.runs.clear()
    world.looks()
    world.runs = [run for run in world.runs if run.task != without]
    world._known.clear()
    world.case = now
    return world


def told(diagnosis: Diagnosis) -> Matches:
    return next(found for mode, found in diagnosis.matches if mode.code == "F15")


@pytest.mark.parametrize(
    ("then", "asked", "remedy"),
    [(is_idle, ["orphan_files"], Remedy.TELL_CONSUMERS), (goes_on, ROWS, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB)],
)
def test_what_gives_no_answer_is_named_and_not_run_again_at_every_diagnosis(
    then: Callable[[Tale], None], asked: list[str], remedy: Remedy
) -> None:
    """Counting rows takes minutes; of rows that nobody could count nothing is called right."""
    world = looked_at(Asked(Refused), then)

    diagnosis = diagnosed(world)
    again = diagnosed(world)

    assert sorted(asked) == sorted(world.asked)
    assert [remedy] * 2 == [told(each).remedy for each in (diagnosis, again)]
    assert all(" known" in told(each).reasons[-1] for each in (diagnosis, again))


@pytest.mark.parametrize("seed", [6277, 8106])
def test_rows_of_a_partition_that_begins_above_0_in_them_are_not_called_right(seed: int) -> None:
    """Below its first row nothing tells what the source left out: these histories have lost some there."""
    drawn = played(plan_of(seed, with_mistakes=True, wide=True))

    assert [mode.code for mode, _ in answered(drawn).matches] == ["F15"]
    assert wrongly_safe(drawn) == ()
    assert wrongly_excused(drawn) == ()


def forgotten(*, pause: int, at: int = 2, ids: tuple[int, ...] = (1, 2)) -> Tale:
    """Run a commits these, a checkpoint every three seconds; so many seconds later run b is restored from `at`, and
    Flink has forgotten run a."""
    tale = Tale().flink_runs("a").commits("a", *ids).becomes("a", "CANCELED")
    tale.now += timedelta(seconds=pause)
    return tale.forgets("a").flink_runs("b").came_from("b", at, f"s3://state/{job_id('a')}/chk-{at}")


def test_a_high_id_is_none_that_was_counted_in_between() -> None:
    """A minute is too short for 40 checkpoints."""
    tale = forgotten(pause=60, at=41, ids=(40, 41))

    assert root_in_doubt(tale.looked_at()) is None
    assert isinstance(examine(tale.looked_at()), Matches)


def test_when_the_point_was_written_tells() -> None:
    """Before main had its commit: that of the first count. Later: another one under the same id."""
    tale = forgotten(pause=60).keeps_point("a", 2)
    assert root_in_doubt(tale.looked_at()) is None

    tale.points = [tale.points[0].model_copy(update={"written_at": tale.now - timedelta(seconds=20)})]

    assert root_in_doubt(tale.looked_at()) is not None


def under_id(job: str) -> Tale:
    """A job that has run under this id from its first commit on."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    tale.snapshots = [s.model_copy(update={"summary": s.summary | {"flink.job-id": job}}) for s in tale.snapshots]
    tale.runs = {"a": tale.runs["a"].model_copy(update={"job_id": JobId(job)})}
    return tale


@pytest.mark.parametrize("job", ["0" * 32, "000000005f3c21aa" + "0" * 16, "ffffffff8f3c21aa" + "0" * 16])
def test_an_id_that_is_hashed_from_the_cluster_is_told(job: str) -> None:
    """Zero, and a 32-bit hash of either sign in the upper half."""
    found = job_id_reused.examine(under_id(job).looked_at())

    assert job in found.reasons[0]
    assert (None, Remedy.NOTHING) == (found.last_good, found.remedy)


def taken_over(*, restored: int = 2, is_savepoint: bool = False, path: str | None = None, later_s: float = 30) -> Tale:
    """`a` has 1 and 2 on main, and by Flink began so long after its last commit, from this point."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    began = tale.now + timedelta(seconds=later_s)
    tale.flink_runs("a", restored=restored)
    point = tale.runs["a"].restored
    point = point.model_copy(update={"at": began, "is_savepoint": is_savepoint, "path": path})
    tale.shows("a", started_at=began, restored=point)
    tale.now = began
    return tale


def started(*, pairs_before: bool, **found: int) -> Case:
    """The one state that pairs is of run a before the start, or of the start itself, above its first commit."""
    tale = started_empty()
    run, at = ("a", 5) if pairs_before else ("b", 2)
    return tale.looked_at(pairing=points(point(job_id(run), at, tale.at(run, at))), **found)


def new_keys() -> Case:
    """Its checkpoint 1 brought the source range of the old checkpoint 1 again: each row lives twice, and no key."""
    tale = Tale().flink_runs("a", v1=True).remembers("a", 1, 2).commits("a", 1, 2).forgets("a")
    tale.flink_runs("a", v1=True).commits("a", 1)
    first, _, again = (s.snapshot_id for s in tale.table.snapshots)
    one = RepeatedCommit(
        first=first, again=again, how="same-checkpoint", job_id=job_id("a"), checkpoint_id=CheckpointId(1), rows=10
    )
    return tale.looked_at(duplicate_commits=repeats(one))


def renamed() -> Tale:
    """Run b commits under another operator id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")
    return tale.flink_runs("b").commits("b", 5).by_sink(OperatorId("5e" * 16))


def under_one_id(**sink: bool) -> Case:
    """The run begins without state under the id that had committed."""
    v1 = sink.get("v1", False)
    return Tale().flink_runs("a", v1=v1).commits("a", 1, 2).forgets("a").flink_runs("a", **sink).looked_at()


def passed(**found: Any) -> Case:
    """The ids have passed what was committed: the job commits again by itself."""
    tale = dropped().completes("a", 5, 6).commits("a", 6)
    leak = {key: found.pop(key) for key in ("positions", "missing_files") if key in found}
    return tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED, **leak), **found)


def again(*, v1: bool = False) -> Tale:
    """Run a was cancelled after three commits, and began anew."""
    return Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).becomes("a", "CANCELED").starts_again("a", v1=v1)


def unknown_sink() -> Tale:
    """Flink tells no operators of the run that began anew."""
    tale = again()
    return tale.shows("a", vertices=()).completes("a", 1, 2).leaves_manifest("a", 1)


F4, F14, F15 = mode, job_id_reused, restarted_from_empty
REWIND, NO_REWIND = Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, "table and job cannot be rolled back"
LEFT = leaks(*unknown_sink().manifests, standing=LeakStanding.DROPPED)
DROPPED_LEAKS = leaks(*dropped().manifests, standing=LeakStanding.DROPPED)
WHOLE = GapsFinding(lowest=0, highest=99, positions=100, missing=0, gaps=())
OTHER_ID = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")
STARTED_AGAIN = Tale().flink_runs("a").commits("a", 1, 2).starts_again("a")
OF_ITSELF, OF_B = (f"s3://state/{job_id(run)}/chk-2" for run in "ab")


@answer_table(
    {
        "a point pairs before it": (F15, started(pairs_before=True, duplicates=20), REWIND, Unsaid(NO_REWIND)),
        "none pairs, and rows live twice": (
            F15, started(pairs_before=False, duplicates=20), Remedy.DEDUPLICATE_ROWS, NO_REWIND,
        ),
        "none pairs, and rows are missing": (
            F15, started(pairs_before=False, missing=20), Remedy.REPLAY_SOURCE_RANGE, NO_REWIND,
        ),
        "none pairs, and both": (
            F15, started(pairs_before=False, duplicates=20, missing=20), Remedy.DEDUPLICATE_ROWS, NO_REWIND,
        ),
        "its source began in the right place, and its windows did not": (
            F15, placed(started_empty().looked_at(), b=50), Remedy.TELL_CONSUMERS, "aggregates began at nothing",
        ),
        "copies under new keys are not called right": (F15, new_keys(), REWIND),
        "a sink that was renamed with it": (F15, renamed().looked_at(), Matches),
        "a renamed sink whose earlier run Flink forgot may be another job's": (
            F15, renamed().forgets("a").looked_at(), CannotTell,
        ),
        "under one job id the V1 sink commits": (F15, under_one_id(v1=True), Matches),
        "under one job id the V2 sink drops it (F4)": (F15, under_one_id(v1=False), Excluded),
        "under one job id the sink is unknown": (F15, under_one_id(vertices=False), CannotTell),
        "it says what to ask for": (
            F15, down(is_idle)[1].model_copy(update={"orphans": None}), Asks("orphan_files"), "Ask for orphan_files.",
        ),
        "a silent V2 sink drops what it completes": (
            F4, dropped().looked_at(leaked=DROPPED_LEAKS), Remedy.RESTART_WITH_NEW_JOB_ID, LastGood("a5"),
            WrongRun("a"), "completed 1, 2, 3 and 4", "40 rows never committed",
        ),
        "before a checkpoint completed": (F4, again().case(), Matches, "Nobody has looked"),
        "once the ids have passed the rows are appended": (
            F4, passed(gaps=hole(40)), Remedy.RECOVER_LEAKED_MANIFESTS, WrongRun(None),
        ),
        "once the files are gone the source is read again": (
            F4, passed(gaps=hole(40), missing_files=1), Remedy.REPLAY_SOURCE_RANGE,
        ),
        "once the rows came again it is over": (
            F4, passed(gaps=WHOLE, positions=(20, 29)), Excluded, "were read again since",
        ),
        "the V1 sink looks for older commits only after a restore": (F4, again(v1=True).case(), Excluded),
        "what it brings is F15": (F4, again(v1=True).commits("a", 1).case(), Excluded, "F15"),
        "a new job id drops nothing": (F4, OTHER_ID.case(), Excluded, "id of its own"),
        "an unknown sink": (F4, unknown_sink().case(), CannotTell),
        "an unknown sink that left a dropped manifest is V2": (F4, unknown_sink().case(leaked=LEFT), Matches),
        "a JobManager may have failed over": (F14, taken_over().looked_at(), CannotTell, "JobManager"),
        "it may, to the newest checkpoint of the run": (
            F14, taken_over(path=OF_ITSELF).looked_at(), CannotTell, "JobManager",
        ),
        "no failover takes a savepoint": (F14, taken_over(is_savepoint=True).looked_at(), Matches, "savepoint"),
        "no failover takes an older checkpoint": (F14, taken_over(restored=1).looked_at(), Matches, "below 2"),
        "no failover takes another run's": (
            F14, taken_over(path=OF_B).looked_at(), Matches, "another run's checkpoint",
        ),
        "no failover begins without state": (F14, STARTED_AGAIN.looked_at(), Matches, "without state"),
    }
)  # fmt: skip
def test_a_start_without_state(mode: Any, case: Case, expected: list[Any]) -> None:
    """What becomes of the rows that it brings, and what is a second start of one job id at all."""
    check(mode, case, expected)
