"""F4, F14 and F15: starts without state, and job ids that come again."""

from collections.abc import Callable
from datetime import timedelta

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
from tests.diagnosis.test_asked_for import Asked, diagnosed
from tests.found import hole, leaks, point, points, repeats


def started_empty() -> Tale:
    """Run a had committed 1 to 5; run b starts with no restore and commits 1 and 2."""
    return Tale().flink_runs("a").commits("a", *range(1, 6)).becomes("a", "CANCELED").flink_runs("b").commits("b", 1, 2)


@pytest.mark.parametrize(
    ("pairs_with", "duplicates", "missing", "remedy"),
    [
        (5, 20, 0, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB),
        (None, 20, 0, Remedy.DEDUPLICATE_ROWS),
        (None, 0, 20, Remedy.REPLAY_SOURCE_RANGE),
        (None, 20, 20, Remedy.DEDUPLICATE_ROWS),
    ],
)
def test_where_no_restore_point_pairs_before_it_the_rows_alone_are_put_right(
    pairs_with: int | None, duplicates: int, missing: int, remedy: Remedy
) -> None:
    """A rewind could only be refused: the one state that pairs is of the start itself, above its first commit."""
    tale = started_empty()
    whose, at = ("a", pairs_with) if pairs_with is not None else ("b", 2)
    told = points(point(job_id(whose), at, tale.at(whose, at)))

    found = restarted_from_empty.examine(tale.looked_at(duplicates=duplicates, missing=missing, pairing=told))

    assert found.remedy is remedy
    assert ("a rewind is impossible" in found.reasons[-1]) is (pairs_with is None)


def test_a_start_without_state_that_harmed_nothing_is_only_told() -> None:
    """Its source began in the right place; its windows and aggregates did not."""
    found = restarted_from_empty.examine(placed(started_empty().looked_at(), b=50))

    assert found.remedy is Remedy.TELL_CONSUMERS
    assert "aggregates began at nothing" in found.reasons[-1]


def test_copies_under_new_keys_of_a_start_under_one_job_id_are_not_called_right() -> None:
    """Its checkpoint 1 brought the source range of the old checkpoint 1 again: each row lives twice, and no key."""
    tale = Tale().flink_runs("a", v1=True).remembers("a", 1, 2).commits("a", 1, 2).forgets("a")
    tale.flink_runs("a", v1=True).commits("a", 1)
    first, _, again = (s.snapshot_id for s in tale.table.snapshots)
    one = RepeatedCommit(
        first=first, again=again, how="same-checkpoint", job_id=job_id("a"), checkpoint_id=CheckpointId(1), rows=10
    )

    found = restarted_from_empty.examine(tale.looked_at(duplicate_commits=repeats(one)))

    assert found.remedy is Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB


@pytest.mark.parametrize(("forgets", "expected"), [(False, Matches), (True, CannotTell)])
def test_a_sink_that_was_renamed_with_it_hides_no_start(*, forgets: bool, expected: type) -> None:
    """Commits under another operator id are the job's where Flink lists their run, and may be another's where not."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED")
    tale.flink_runs("b").commits("b", 5).by_sink(OperatorId("5e" * 16))
    tale = tale.forgets("a") if forgets else tale

    assert isinstance(restarted_from_empty.examine(tale.looked_at()), expected)


@pytest.mark.parametrize(("v1", "expected"), [(True, Matches), (False, Excluded)])
def test_under_one_job_id_the_sink_decides(v1: bool, expected: type) -> None:
    """The V1 sink commits what follows; the V2 sink drops it, which is F4."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", *range(1, 6)).forgets("a").flink_runs("a", v1=v1)

    assert isinstance(restarted_from_empty.examine(tale.looked_at()), expected)


def test_under_one_job_id_an_unknown_sink_leaves_it_open() -> None:
    """Without the operators nobody can say whether commits will come or be dropped."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).forgets("a").flink_runs("a", vertices=False)

    assert isinstance(restarted_from_empty.examine(tale.looked_at()), CannotTell)


def dropped() -> Tale:
    """As run on Flink 1.20.3 with the V2 sink: 5 committed, started anew, 1 to 4 completed, nothing committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).becomes("a", "CANCELED")
    return tale.starts_again("a").completes("a", 1, 2, 3, 4).leaves_manifest("a", 1, 2, 3, 4)


def test_a_silent_v2_sink_after_an_empty_start_matches() -> None:
    """Its completed checkpoints, its dropped rows and the job to stop are named."""
    tale = dropped()

    found = mode.examine(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED)))

    assert (tale.at("a", 5), job_id("a"), Remedy.RESTART_WITH_NEW_JOB_ID) == (
        found.last_good,
        found.wrong_run,
        found.remedy,
    )
    assert any("completed 1, 2, 3 and 4" in reason for reason in found.reasons)
    assert any("40 rows never committed" in reason for reason in found.reasons)


def test_it_matches_before_a_checkpoint_completed() -> None:
    """The first commit is dropped already: what decides is the start, not the loss."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").starts_again("a")

    found = mode.examine(tale.case())

    assert any("Nobody has looked" in reason for reason in found.reasons)


def test_once_the_ids_have_passed_the_rows_are_appended_from_their_manifests() -> None:
    """The job commits again by itself, so its id no longer matters; what was dropped stays dropped."""
    tale = dropped().completes("a", 5, 6).commits("a", 6)

    found = mode.examine(tale.looked_at(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED), gaps=hole(40)))

    assert (Remedy.RECOVER_LEAKED_MANIFESTS, None) == (found.remedy, found.wrong_run)


def test_once_what_was_dropped_came_again_it_is_over() -> None:
    """As after a replay of the source: its manifests stay on storage."""
    tale = dropped().completes("a", 5, 6).commits("a", 6)
    left = leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(20, 29))
    whole = GapsFinding(lowest=0, highest=99, positions=100, missing=0, gaps=())

    found = mode.examine(tale.looked_at(leaked=left, gaps=whole))

    assert "were read again since" in found.reason


def test_once_the_ids_have_passed_and_the_files_are_gone_the_source_is_read_again() -> None:
    """A manifest whose data files were cleaned up cannot be appended."""
    tale = dropped().completes("a", 5, 6).commits("a", 6)
    gone = leaks(*tale.manifests, standing=LeakStanding.DROPPED, missing_files=1)

    found = mode.examine(tale.looked_at(leaked=gone, gaps=hole(40)))

    assert Remedy.REPLAY_SOURCE_RANGE is found.remedy


def test_the_v1_sink_commits_from_its_first_checkpoint() -> None:
    """It looks for older commits only after a restore (facts F4)."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).becomes("a", "CANCELED").starts_again("a", v1=True)

    silent, wrote = mode.examine(tale.case()), mode.examine(tale.commits("a", 1).case())

    assert isinstance(silent, Excluded)
    assert "F15" in wrote.reason


def test_a_new_job_id_drops_nothing() -> None:
    """Its commits are checked against its own id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").flink_runs("b")

    found = mode.examine(tale.case())

    assert "id of its own" in found.reason


def test_an_unknown_sink_is_told_by_what_it_left_behind() -> None:
    """Without operators only a dropped manifest shows the V2 sink."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "CANCELED").starts_again("a")
    tale.runs["a"] = tale.runs["a"].model_copy(update={"vertices": ()})
    tale.completes("a", 1, 2).leaves_manifest("a", 1)

    before = mode.examine(tale.case())
    after = mode.examine(tale.case(leaked=leaks(*tale.manifests, standing=LeakStanding.DROPPED)))

    assert isinstance(before, CannotTell)
    assert isinstance(after, Matches)


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


def test_it_says_what_to_ask_for() -> None:
    """A responder reads it where nobody collects by itself."""
    _alive, dead = down(is_idle)

    found = restarted_from_empty.examine(dead.model_copy(update={"orphans": None}))

    assert ("orphan_files",) == found.asks
    assert found.reasons[-1].endswith("Ask for orphan_files.")


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
    tale.runs["a"] = tale.runs["a"].model_copy(update={"started_at": began, "restored": point})
    tale.now = began
    return tale


@pytest.mark.parametrize("path", [None, f"s3://state/{job_id('a')}/chk-2"])
def test_a_jobmanager_that_failed_over_is_not_called_a_second_start(path: str | None) -> None:
    """It brings the run back from its newest checkpoint; a restart from there looks the same."""
    found = job_id_reused.examine(taken_over(path=path).looked_at())

    assert "JobManager" in found.missing[0]


@pytest.mark.parametrize(
    ("tale", "said"),
    [
        (taken_over(is_savepoint=True), "savepoint"),
        (taken_over(restored=1), "below 2"),
        (taken_over(path=f"s3://state/{job_id('b')}/chk-2"), "another run's checkpoint"),
        (Tale().flink_runs("a").commits("a", 1, 2).starts_again("a"), "without state"),
    ],
)
def test_what_no_failover_does_is_a_second_start(tale: Tale, said: str) -> None:
    """A failover takes the newest checkpoint of the run itself, and nothing else."""
    found = job_id_reused.examine(tale.looked_at())

    assert said in found.reasons[0]
