"""F19, F20, F22 to F24: what changes no row, comes last, and is told all the same; failed checkpoints that lose rows
(F27); and failures for a cause outside of job and table, which has to be mended first."""

from typing import Any

import pytest

import bot.diagnosis
from bot.cli.diagnosing import could_not_tell
from bot.diagnosis import (
    checkpoints_failed,
    concurrent_attempts,
    event_time_stuck,
    flink_is_recovering,
    healthy,
    late_files_replaced,
    no_snapshot_advanced,
    parallelism_changed,
    schema_changed_under_the_job,
)
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from bot.incident.diagnosis import Act, CannotTell, Excluded, Matches, Remedy
from bot.observation.contract import TableContract
from bot.observation.findings import LeakStanding, SchemaDifference
from bot.observation.flink import CheckpointSettings
from bot.observation.looked import NotSeen, Seen
from bot.observation.table import Column
from bot.observation.written import WrittenSchema
from tests.cases import Tale, job_id
from tests.diagnosis.test_no_advance import looping
from tests.found import evidence, hole, leaks, newest_event, orphans, point, points, schema

MODES = scan(bot.diagnosis)


def scaled(before: int, after: int) -> Tale:
    """Run a ran with one parallelism, and run b goes on from its stop-savepoint with another."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED").flink_runs("b", restored=2)
    for run, parallelism in (("a", before), ("b", after)):
        vertices = tuple(v.model_copy(update={"parallelism": parallelism}) for v in tale.runs[run].vertices)
        tale.runs[run] = tale.runs[run].model_copy(update={"vertices": vertices})
    return tale.commits("b", 3)


def with_subtasks(case: Case, *subtasks: int) -> Case:
    """The first commit's files were written by these subtasks."""
    first, *rest = case.ledger.rows
    rows = (first.model_copy(update={"subtasks": subtasks}), *rest)
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows})})


def failing(*failed: int, completed: tuple[int, ...] = (), v1: bool = False) -> Tale:
    """Checkpoints 1 and 2 are committed; then these fail, and these complete."""
    tale = Tale().flink_runs("a", v1=v1).completes("a", 1, 2).commits("a", 1, 2).completes("a", *failed)
    listed = tuple(
        c.model_copy(update={"status": "FAILED", "failure": "Checkpoint expired."}) if c.checkpoint_id in failed else c
        for c in tale.runs["a"].checkpoints
    )
    tale.runs["a"] = tale.runs["a"].model_copy(update={"checkpoints": listed, "failed_count": len(failed)})
    return tale.completes("a", *completed)


def test_a_rescale_is_told_beside_health() -> None:
    """Rows are right, and that comes first."""
    diagnosis = diagnose(scaled(2, 4).looked_at(), MODES)

    assert ("healthy", "F19") == diagnosis.codes
    assert "ran 2 times in run aaaaaa and runs 4 times in run bbbbbb" in diagnosis.matches[1][1].reasons[0]


def test_a_rescale_while_running_shows_in_file_names() -> None:
    """Subtask 3 wrote files, and no operator has more than one subtask now."""
    case = with_subtasks(Tale().flink_runs("a").commits("a", 1, 2).looked_at(), 0, 3)

    found = parallelism_changed.examine(case)

    assert "by subtask 3" in found.reasons[0]


def test_one_parallelism_throughout_is_no_rescale() -> None:
    """The same operators, as often as before, and only subtasks that there are."""
    assert isinstance(parallelism_changed.examine(with_subtasks(scaled(2, 2).looked_at(), 0, 1)), Excluded)


@pytest.mark.parametrize("tale", [scaled(2, 2).flink_is_down(), Tale().flink_runs("a", vertices=False).commits("a", 1)])
def test_a_rescale_cannot_be_excluded_without_operators(tale: Tale) -> None:
    """Flink does not answer, or lists no operators."""
    assert isinstance(parallelism_changed.examine(tale.looked_at()), CannotTell)


def test_failed_checkpoints_are_told_beside_health() -> None:
    """The next one brought their files; no row is lost."""
    diagnosis = diagnose(failing(3, completed=(4,)).commits("a", 4).looked_at(), MODES)

    assert ("healthy", "F20") == diagnosis.codes
    assert diagnosis.matches[1][1].headline.startswith("1 checkpoint of run aaaaaa failed")
    assert Remedy.NOTHING is diagnosis.matches[1][1].remedy


@pytest.mark.parametrize(("is_answered", "expected"), [(True, False), (False, True)])
def test_beside_them_a_table_that_nobody_could_look_at_is_not_told(*, is_answered: bool, expected: bool) -> None:
    """`waterline diagnose` ends with another code: F20 alone says nothing of the rows."""
    tale = failing(3, completed=(4,)).commits("a", 4)
    case = tale.looked_at() if is_answered else tale.case()
    unseen = NotSeen(source="Spark", reason="It lost its executors.", remedy="Ask again.")
    failed = evidence("late_rows", case.window, case.observation.table.read_at, could_not_look=(unseen,))
    case = case.model_copy(update={"evidence": (*case.evidence, failed)})

    assert could_not_tell(case, diagnose(case, MODES)) is expected


@pytest.mark.parametrize(("v1", "unaligned"), [(True, True), (True, False), (False, True)])
def test_a_failed_unaligned_checkpoint_of_the_v1_sink_may_lose_rows(*, v1: bool, unaligned: bool) -> None:
    """A file reaches the committer after its state was taken: no state names it once the checkpoint fails."""
    tale = failing(3, completed=(4,), v1=v1).commits("a", 4)
    run = tale.runs["a"]
    tale.runs["a"] = run.model_copy(update={"settings": CheckpointSettings(is_unaligned=unaligned)})

    found = checkpoints_failed.examine(tale.case())

    assert ("rows may be lost" in found.headline) is (v1 and unaligned)
    assert found.asks == (("missing_positions", "leaked_manifests") if v1 and unaligned else ())


def late_files(*, unaligned: bool = True) -> Tale:
    """Checkpoint 3 of a V1 sink failed and left a manifest behind; 4 was committed."""
    tale = failing(3, v1=True).leaves_manifest("a", 3).completes("a", 4).commits("a", 4)
    told = {"settings": CheckpointSettings(is_unaligned=unaligned)}
    tale.runs["a"] = tale.runs["a"].model_copy(update=told)
    return tale


@pytest.mark.parametrize(
    ("found", "remedy"),
    [({"missing": 10}, Remedy.RECOVER_LEAKED_MANIFESTS), ({"rows": None}, Remedy.REPLAY_SOURCE_RANGE)],
)
def test_files_of_a_failed_checkpoint_that_late_ones_replaced_are_appended(
    found: dict[str, Any], remedy: Remedy
) -> None:
    """The cause is named once (F27): neither the source nor a restore (F18, F3) has lost the rows."""
    tale = late_files()
    rows = found.pop("rows", 10)
    lost = leaks(*tale.manifests, standing=LeakStanding.DROPPED, rows=rows)

    told = diagnose(tale.looked_at(leaked=lost, **found), MODES)

    assert ("F27", "F20") == told.codes
    assert remedy is told.matches[0][1].remedy
    assert tale.at("a", 2) == told.matches[0][1].last_good


def test_late_files_of_a_run_that_was_stopped_since_are_lost_as_well() -> None:
    """Of two checkpoints, both are named."""
    tale = failing(3, 5, v1=True).leaves_manifest("a", 3, 5).completes("a", 4, 6).commits("a", 4, 6)
    told = {"settings": CheckpointSettings(is_unaligned=True)}
    tale.runs["a"] = tale.runs["a"].model_copy(update=told)
    tale.becomes("a", "CANCELED")
    lost = leaks(*tale.manifests, standing=LeakStanding.DROPPED)

    found = late_files_replaced.examine(tale.looked_at(leaked=lost, missing=20))

    assert isinstance(found, Matches)
    assert found.headline.startswith("Checkpoints 3 and 5 of run aaaaaa failed, and its sink lost 20 rows")


def test_whether_late_files_are_lost_is_open_where_flink_no_longer_shows_it() -> None:
    """As after a failover: not excluded, though nothing accuses."""
    tale = late_files().fails("a").came_from("a", 4, "file:/state/chk-4")
    left = leaks(*tale.manifests, standing=LeakStanding.UNTOLD)

    assert isinstance(late_files_replaced.examine(tale.looked_at(leaked=left, missing=10)), CannotTell)


def test_files_that_came_again_since_are_no_loss() -> None:
    """Positions were counted, and theirs are there."""
    tale = late_files()
    lost = leaks(*tale.manifests, standing=LeakStanding.DROPPED, positions=(21, 30))

    told = late_files_replaced.examine(tale.looked_at(leaked=lost, gaps=hole(0)))

    assert isinstance(told, Excluded)


def test_a_dropped_manifest_of_an_aligned_run_is_not_called_replaced() -> None:
    """Another mode has to explain it."""
    tale = late_files(unaligned=False)
    lost = leaks(*tale.manifests, standing=LeakStanding.DROPPED)

    assert isinstance(late_files_replaced.examine(tale.looked_at(leaked=lost)), Excluded)


@pytest.mark.parametrize(("failed", "remedy"), [((3, 4), Remedy.NOTHING), ((3, 4, 5), Remedy.TELL_CONSUMERS)])
def test_checkpoints_that_fail_one_after_the_other_hold_the_table(failed: tuple[int, ...], remedy: Remedy) -> None:
    """From the third on consumers are told, because nothing reaches the table."""
    diagnosis = diagnose(failing(*failed).looked_at(), MODES)

    found = {mode.code: match for mode, match in diagnosis.matches}
    assert remedy is found["F20"].remedy
    assert (remedy is Remedy.NOTHING) == ("healthy" in found)


@pytest.mark.parametrize(
    ("failed", "told"), [((4,), "checkpoint 4 as failed"), ((4, 5), "checkpoints 4 and 5 as failed")]
)
def test_a_failed_checkpoint_is_not_read_as_how_many(failed: tuple[int, ...], told: str) -> None:
    """“Flink counts 8 failed … It lists 14 as failed” was one sentence after the other."""
    found = checkpoints_failed.examine(failing(*failed).looked_at())

    assert any(told in reason for reason in found.reasons)


@pytest.mark.parametrize("young", [0, 4])
def test_files_of_another_attempt_are_left_to_maintenance_after_the_incident(young: int) -> None:
    """However old they are: Waterline removes no file."""
    case = Tale().flink_runs("a").commits("a", 1).looked_at(orphans=orphans(4, young=young, of_other_attempts=3))

    found = concurrent_attempts.examine(case)

    assert found.remedy is Remedy.NOTHING
    assert "once the incident is closed, not before" in found.reasons[-1]


@pytest.mark.parametrize(("age_s", "remedy"), [(30.0, Remedy.NOTHING), (5000.0, Remedy.TELL_CONSUMERS)])
def test_events_that_stand_still_are_told_to_consumers_once_a_promise_is_broken(age_s: float, remedy: Remedy) -> None:
    """Commits with rows come, and the highest event time does not rise: a quiet source, until it lasts too long."""
    case = Tale().flink_runs("a").commits("a", 1).looked_at(freshness=newest_event(age_s, is_event_time_stuck=True))

    found = event_time_stuck.examine(case)

    assert (remedy, None) == (found.remedy, found.last_good)


@pytest.mark.parametrize(("commit_age_s", "expected"), [(10.0, Matches), (4000.0, Excluded)])
def test_old_events_are_the_sources_only_while_commits_come(commit_age_s: float, expected: type) -> None:
    """Where commits stay away, that is the reason, and another mode's."""
    case = Tale().flink_runs("a").commits("a", 1).looked_at(freshness=newest_event(5000.0, commit_age_s=commit_age_s))

    assert isinstance(event_time_stuck.examine(case), expected)


@pytest.mark.parametrize(
    ("freshness", "expected"), [(newest_event(5.0), Excluded), (newest_event(None), CannotTell), (None, CannotTell)]
)
def test_fresh_events_exclude_it_and_unknown_ones_do_not(freshness: Any, expected: type) -> None:
    """Without a column of event time nobody can tell."""
    case = Tale().flink_runs("a").commits("a", 1).looked_at(freshness=freshness)
    timeless = case.model_copy(update={"contract": TableContract(key=("id",))})

    assert isinstance(event_time_stuck.examine(timeless), expected)


def test_files_that_may_hold_missing_rows_are_left_where_they_are() -> None:
    """A commit that went with every trace leaves files that look the same: the only copy of its rows."""
    tale, left = Tale().flink_runs("a").commits("a", 1), orphans(4, young=0, of_other_attempts=3)

    lost = concurrent_attempts.examine(tale.looked_at(orphans=left, gaps=hole(30)))
    unknown = concurrent_attempts.examine(tale.case(orphans=left))

    assert (Remedy.NOTHING, Remedy.NOTHING) == (lost.remedy, unknown.remedy)
    assert "leave them for now" in lost.headline
    assert "30 source positions are missing" in " ".join(lost.reasons)
    assert "is not known: missing_positions" in " ".join(unknown.reasons)


@pytest.mark.parametrize("code", ["F14", "F19", "F20", "F22", "F24"])
def test_notes_come_last_and_trust_no_snapshot(code: str) -> None:
    """Nobody pins consumers, or ends an incident, on the word of a note."""
    mode = MODES[code].mode

    assert Act.NOTE is mode.act
    assert set(mode.remedies) <= {Remedy.NOTHING, Remedy.TELL_CONSUMERS}


APART = SchemaDifference(column="discount", between=("table", "files"), expected="double", found="nothing")


def table() -> Tale:
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def test_a_column_that_was_added_under_the_job_asks_for_a_restart() -> None:
    """What lies below the change is complete; the job's commits since then are not."""
    tale = table()

    found = schema_changed_under_the_job.examine(
        tale.looked_at(schema_drift=schema(all_null=("discount",), added_at=tale.at("a", 2)))
    )

    assert (tale.at("a", 1), (tale.at("a", 2), tale.at("a", 3))) == (found.last_good, found.rows)
    assert found.remedy is Remedy.RESTART_FROM_STOP_SAVEPOINT


def test_files_that_lack_the_column_show_an_older_change() -> None:
    """The change may lie below the window: table and files disagree all the same."""
    found = schema_changed_under_the_job.examine(table().looked_at(schema_drift=schema(APART, all_null=("discount",))))

    assert "For column discount, the table's columns say double" in found.reasons[1]


@pytest.mark.parametrize(
    ("drift", "expected"),
    [
        (schema(), Excluded),
        (schema(all_null=("discount",)), CannotTell),
        (schema().model_copy(update={"untold": ("discount",)}), CannotTell),
        (None, CannotTell),
    ],
    ids=["filled", "null without a change", "files without null counts", "not looked at"],
)
def test_a_null_column_alone_is_no_proof(drift: Any, expected: type) -> None:
    """The source may leave it empty; and nobody may say so before the files were looked at."""
    assert isinstance(schema_changed_under_the_job.examine(table().looked_at(schema_drift=drift)), expected)


def test_a_table_with_an_unwritten_column_is_not_healthy() -> None:
    """Its rows are there, and not whole."""
    found = healthy.examine(table().looked_at(schema_drift=schema(APART, all_null=("discount",))))

    assert "(F23)" in found.reason


def test_a_living_run_whose_schema_lacks_the_column_matches_before_it_commits() -> None:
    """No file is written since the change, so none is null; what the run goes on with is known all the same."""
    drift = schema().model_copy(update={"state_run": job_id("a"), "not_in_state": ("discount",)})

    found = schema_changed_under_the_job.examine(table().looked_at(schema_drift=drift))
    of_another = schema_changed_under_the_job.examine(
        table().looked_at(schema_drift=drift.model_copy(update={"state_run": job_id("b")}))
    )

    assert found.reasons[0] == "The run writes under a schema without discount, as its own files say."
    assert isinstance(of_another, Excluded)
    assert not isinstance(healthy.examine(table().looked_at(schema_drift=drift)), Matches)


def test_a_column_that_the_run_writes_and_the_table_dropped_matches() -> None:
    """Nothing is null, and yet what the job writes there reaches nobody."""
    gone = SchemaDifference(column="old", between=("state", "table"), expected="string", found="no such column")
    drift = schema(gone).model_copy(update={"state_run": job_id("a"), "not_in_table": ("old",)})

    found = schema_changed_under_the_job.examine(table().looked_at(schema_drift=drift))

    assert found.headline.startswith("The job goes on writing old, which the table no longer has")
    assert "the columns that the job's state goes on with say string" in found.reasons[1]
    assert not isinstance(healthy.examine(table().looked_at(schema_drift=drift)), Matches)


def test_a_change_after_the_last_commit_is_not_excluded_unseen() -> None:
    """No commit shows that the run took the new columns up, and nobody could read what it writes."""
    case = table().looked_at(schema_drift=schema())
    old, new = (Column(field_id=number, name=f"c{number}", type="long") for number in (1, 2))
    state = case.observation.table.model_copy(update={"schemas": {0: (old,), 1: (old, new)}, "columns": (old, new)})
    world = case.observation.model_copy(update={"table": state})
    known = world.model_copy(update={"written": Seen[WrittenSchema](source="its files", values=())})

    found = schema_changed_under_the_job.examine(case.model_copy(update={"observation": world}))
    seen = schema_changed_under_the_job.examine(case.model_copy(update={"observation": known}))

    assert isinstance(found, CannotTell)
    assert isinstance(seen, Excluded)
    assert not isinstance(healthy.examine(case.model_copy(update={"observation": world})), Matches)


def failing_for(cause: str, times: int = 3) -> Tale:
    """The run fails at each restart with this as its innermost exception."""
    tale = looping() if times == 3 else Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 3).fails("a")
    changed = tuple(
        each.model_copy(update={"causes": ("java.lang.Exception: x", cause)}) for each in tale.runs["a"].failures
    )
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failures": changed})
    return tale


def test_a_job_that_fails_so_is_not_restored_before_that_is_mended() -> None:
    """The table is right; `wait` and `no-advance` both quote it."""
    tale = failing_for("java.io.IOException: No space left on device")
    case = tale.looked_at(pairing=points(point(job_id("a"), 3, tale.at("a", 3))))

    found, waits = no_snapshot_advanced.examine(case), flink_is_recovering.examine(case)

    assert found.headline.endswith("a disk is full. Free space on that disk first.")
    assert found.how.startswith("free space on that disk; then restore the job")
    assert found.remedy is Remedy.RESTORE_JOB_ONLY
    assert "No space left on device" in found.reasons[0]
    assert "a restore does not cure it" in waits.reason


def test_while_flink_still_tries_it_is_told_as_well() -> None:
    """One failure is no loop."""
    found = flink_is_recovering.examine(failing_for("java.net.UnknownHostException: metastore", times=1).looked_at())

    assert any("a service does not answer" in each for each in found.reasons)


def test_so_is_what_keeps_checkpoints_from_completing() -> None:
    """Flink says it of each checkpoint that failed."""
    tale = Tale().flink_runs("a").commits("a", 1).completes("a", 2)
    run = tale.runs["a"]
    failed = tuple(
        c.model_copy(update={"status": "FAILED", "failure": "No space left on device"}) for c in run.checkpoints
    )
    tale.runs["a"] = run.model_copy(update={"checkpoints": failed, "failed_count": 1})

    found = checkpoints_failed.examine(tale.looked_at())

    assert any("a disk is full" in each for each in found.reasons)
