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
from tests.diagnosis.answers import LastGood, Rows, answer_table, check
from tests.diagnosis.test_no_advance import looping
from tests.found import evidence, hole, leaks, newest_event, orphans, point, points, schema

MODES = scan(bot.diagnosis)


def scaled(before: int, after: int) -> Tale:
    """Run a ran with one parallelism, and run b goes on from its stop-savepoint with another."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "FINISHED").flink_runs("b", restored=2)
    for run, parallelism in (("a", before), ("b", after)):
        vertices = tuple(v.model_copy(update={"parallelism": parallelism}) for v in tale.runs[run].vertices)
        tale.shows(run, vertices=vertices)
    return tale.commits("b", 3)


def with_subtasks(case: Case, *subtasks: int) -> Case:
    """The first commit's files were written by these subtasks."""
    first, *rest = case.ledger.rows
    rows = (first.model_copy(update={"subtasks": subtasks}), *rest)
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows})})


def failing(*failed: int, completed: tuple[int, ...] = (), v1: bool = False) -> Tale:
    """Checkpoints 1 and 2 are committed; then these fail, and these complete."""
    tale = Tale().flink_runs("a", v1=v1).completes("a", 1, 2).commits("a", 1, 2).completes("a", *failed)
    return tale.lists_failed("a", *failed).completes("a", *completed)


def test_a_rescale_is_told_beside_health() -> None:
    """Rows are right, and that comes first."""
    diagnosis = diagnose(scaled(2, 4).looked_at(), MODES)

    assert ("healthy", "F19") == diagnosis.codes
    assert "ran 2 times in run aaaaaa and runs 4 times in run bbbbbb" in diagnosis.matches[1][1].reasons[0]


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
    return tale.shows("a", settings=CheckpointSettings(is_unaligned=unaligned))


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


@pytest.mark.parametrize(("failed", "remedy"), [((3, 4), Remedy.NOTHING), ((3, 4, 5), Remedy.TELL_CONSUMERS)])
def test_checkpoints_that_fail_one_after_the_other_hold_the_table(failed: tuple[int, ...], remedy: Remedy) -> None:
    """From the third on consumers are told, because nothing reaches the table."""
    diagnosis = diagnose(failing(*failed).looked_at(), MODES)

    found = {mode.code: match for mode, match in diagnosis.matches}
    assert remedy is found["F20"].remedy
    assert (remedy is Remedy.NOTHING) == ("healthy" in found)


@pytest.mark.parametrize("code", ["F14", "F19", "F20", "F22", "F24"])
def test_notes_come_last_and_trust_no_snapshot(code: str) -> None:
    """Nobody pins consumers, or ends an incident, on the word of a note."""
    mode = MODES[code].mode

    assert Act.NOTE is mode.act
    assert set(mode.remedies) <= {Remedy.NOTHING, Remedy.TELL_CONSUMERS}


APART = SchemaDifference(column="discount", between=("table", "files"), expected="double", found="nothing")


def table() -> Tale:
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


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
    return tale.shows("a", failures=changed)


def late(tale: Tale, standing: LeakStanding = LeakStanding.DROPPED, **found: Any) -> Case:
    """What the failed checkpoint left is seen; `positions` are those of its rows."""
    lost = leaks(*tale.manifests, standing=standing, positions=found.pop("positions", None))
    return tale.looked_at(leaked=lost, **found)


def two_failed() -> Tale:
    """Two checkpoints failed and left something; the run was stopped since."""
    tale = failing(3, 5, v1=True).leaves_manifest("a", 3, 5).completes("a", 4, 6).commits("a", 4, 6)
    return tale.shows("a", settings=CheckpointSettings(is_unaligned=True)).becomes("a", "CANCELED")


def once(**found: Any) -> Case:
    """One commit, and all was looked at."""
    return Tale().flink_runs("a").commits("a", 1).looked_at(**found)


def without_event_time(case: Case) -> Case:
    """Its contract names no such column."""
    return case.model_copy(update={"contract": TableContract(key=("id",))})


def drifted(*different: SchemaDifference, **found: Any) -> Case:
    """Three commits, and this was found of the schema."""
    nulls = {key: found.pop(key) for key in ("all_null", "added_at") if key in found}
    return table().looked_at(schema_drift=schema(*different, **nulls).model_copy(update=found))


def disk_is_full() -> Tale:
    """Flink says so of each checkpoint that failed."""
    tale = Tale().flink_runs("a").commits("a", 1).completes("a", 2)
    return tale.lists_failed("a", 2, failure="No space left on device")


F19, F20, F22, F23, F24, F27 = (
    parallelism_changed, checkpoints_failed, concurrent_attempts, schema_changed_under_the_job, event_time_stuck,
    late_files_replaced,
)  # fmt: skip
SUBTASKS = with_subtasks(Tale().flink_runs("a").commits("a", 1, 2).looked_at(), 0, 3)
NO_OPERATORS = Tale().flink_runs("a", vertices=False).commits("a", 1)
FORGOT = late_files().fails("a").came_from("a", 4, "file:/state/chk-4")
LEFT = orphans(4, young=0, of_other_attempts=3)
LACKS = {"state_run": job_id("a"), "not_in_state": ("discount",)}
GONE = SchemaDifference(column="old", between=("state", "table"), expected="string", found="no such column")
KEEPS_WRITING = drifted(GONE, state_run=job_id("a"), not_in_table=("old",))
FULL = failing_for("java.io.IOException: No space left on device").looked_at(
    pairing=points(point(job_id("a"), 3, table().at("a", 3)))
)
AWAY = failing_for("java.net.UnknownHostException: metastore", times=1).looked_at()


@answer_table(
    {
        "a rescale while running shows in file names": (F19, SUBTASKS, Matches, "by subtask 3"),
        "one parallelism throughout": (F19, with_subtasks(scaled(2, 2).looked_at(), 0, 1), Excluded),
        "Flink is down, and operators are unknown": (F19, scaled(2, 2).flink_is_down().looked_at(), CannotTell),
        "Flink lists no operators": (F19, NO_OPERATORS.looked_at(), CannotTell),
        "files of two failed checkpoints of a stopped run are lost": (
            F27, late(two_failed(), missing=20), Matches,
            "Checkpoints 3 and 5 of run aaaaaa failed, and its sink lost 20 rows",
        ),
        "Flink no longer shows that the checkpoint failed": (
            F27, late(FORGOT, LeakStanding.UNTOLD, missing=10), CannotTell,
        ),
        "files that came again since are no loss": (F27, late(late_files(), positions=(21, 30)), Excluded),
        "of an aligned run nothing is replaced": (F27, late(late_files(unaligned=False)), Excluded),
        "a failed checkpoint is not read as how many": (
            F20, failing(4).looked_at(), Matches, "checkpoint 4 as failed",
        ),
        "nor are two": (F20, failing(4, 5).looked_at(), Matches, "checkpoints 4 and 5 as failed"),
        "what keeps checkpoints from completing is told": (F20, disk_is_full().looked_at(), Matches, "a disk is full"),
        "files of another attempt are left to maintenance": (
            F22, once(orphans=LEFT), Remedy.NOTHING, "once the incident is closed, not before",
        ),
        "young ones, too": (
            F22, once(orphans=orphans(4, young=4, of_other_attempts=3)), Remedy.NOTHING,
            "once the incident is closed, not before",
        ),
        "they may hold missing rows": (
            F22, once(orphans=LEFT, gaps=hole(30)), Remedy.NOTHING, "leave them for now",
            "30 source positions are missing",
        ),
        "whether rows are missing is not known": (
            F22, table().case(orphans=LEFT), Remedy.NOTHING, "is not known: missing_positions",
        ),
        "events stand still for a moment": (
            F24, once(freshness=newest_event(30.0, is_event_time_stuck=True)), Remedy.NOTHING, LastGood(None),
        ),
        "events stand still, and a promise is broken": (
            F24, once(freshness=newest_event(5000.0, is_event_time_stuck=True)), Remedy.TELL_CONSUMERS, LastGood(None),
        ),
        "old events are the source's while commits come": (
            F24, once(freshness=newest_event(5000.0, commit_age_s=10.0)), Matches,
        ),
        "where commits stay away, that is the reason": (
            F24, once(freshness=newest_event(5000.0, commit_age_s=4000.0)), Excluded,
        ),
        "fresh events": (F24, without_event_time(once(freshness=newest_event(5.0))), Excluded),
        "no event time": (F24, without_event_time(once(freshness=newest_event(None))), CannotTell),
        "nobody looked for events": (F24, without_event_time(once(freshness=None)), CannotTell),
        "a column that was added under the job asks for a restart": (
            F23, drifted(all_null=("discount",), added_at=table().at("a", 2)), Remedy.RESTART_FROM_STOP_SAVEPOINT,
            LastGood("a1"), Rows("a2 a3"),
        ),
        "files that lack the column show a change below the window": (
            F23, drifted(APART, all_null=("discount",)), Matches, "For column discount, the table's columns say double",
        ),
        "such a table is not healthy": (healthy, drifted(APART, all_null=("discount",)), Excluded, "(F23)"),
        "all columns are filled": (F23, drifted(), Excluded),
        "a null column alone is no proof": (F23, drifted(all_null=("discount",)), CannotTell),
        "files without null counts": (F23, drifted(untold=("discount",)), CannotTell),
        "nobody looked at the schema": (F23, table().looked_at(schema_drift=None), CannotTell),
        "the living run's schema lacks the column before it commits": (
            F23, drifted(**LACKS), Matches, "The run writes under a schema without discount, as its own files say.",
        ),
        "nor is the table healthy": (healthy, drifted(**LACKS), Excluded),
        "the schema is of another run": (F23, drifted(**LACKS | {"state_run": job_id("b")}), Excluded),
        "the run writes a column that the table dropped": (
            F23, KEEPS_WRITING, Matches, "The job goes on writing old, which the table no longer has",
            "the columns that the job's state goes on with say string",
        ),
        "not healthy for a dropped column": (healthy, KEEPS_WRITING, Excluded),
        "a job is not restored before its cause is mended": (
            no_snapshot_advanced, FULL, Remedy.RESTORE_JOB_ONLY, "a disk is full. Free space on that disk first.",
            "free space on that disk; then restore the job", "No space left on device",
        ),
        "a restore does not cure it": (flink_is_recovering, FULL, Excluded, "a restore does not cure it"),
        "one failure is no loop": (flink_is_recovering, AWAY, Matches, "a service does not answer"),
    }
)  # fmt: skip
def test_what_is_only_worth_knowing(mode: Any, case: Case, expected: list[Any]) -> None:
    """And what is not: a note is no all-clear, and what is unknown stays open."""
    check(mode, case, expected)
