"""F21: commits that are not the job's, cherry-picks, compactions and other branches."""

from collections.abc import Callable
from typing import Any

import pytest

from bot.diagnosis import (
    another_writer_changed_rows,
    commit_not_made_yet,
    healthy,
    no_snapshot_advanced,
    source_positions_skipped,
)
from bot.diagnosis._support.examine import diagnose
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Examined, Excluded, Matches, Remedy
from bot.observation.findings import CompactedRows, CorrectedRowsFinding
from bot.observation.ids import OperatorId, SnapshotId
from bot.observation.table import Ref
from tests.cases import Tale
from tests.diagnosis.answers import LastGood, Unsaid, WrongRun, answer_table, check
from tests.diagnosis.histories.held import MODES


def compacted(**counts: str) -> Tale:
    """Two commits of the job, then a compaction with these counters."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="replace")
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(
        update={"summary": {"engine-name": "spark", "added-records": "20"} | counts}
    )
    return tale


def converted(tale: Tale, source: SnapshotId, **counts: str) -> Tale:
    """Flink's table maintenance commits on top: it turned the equality deletes of that snapshot into vectors."""
    tale.commits(None, operation="overwrite")
    told = {"engine-name": "flink", "equality-convert-staging-snapshot": str(source), "added-dvs": "1"}
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(
        update={"summary": told | {key.replace("_", "-"): value for key, value in counts.items()}}
    )
    return tale


def test_a_table_without_any_job_id_has_no_other_writer() -> None:
    """Flink CDC leaves no job id: nobody can tell who should write, and nobody calls the table wrong for that."""
    case = Tale().commits(None).commits(None).flink_is_down().looked_at()

    for mode in (another_writer_changed_rows, healthy):
        found = mode.examine(case)
        assert isinstance(found, CannotTell)
        assert any("who should write the table" in each for each in found.missing)
    assert diagnose(case, MODES).nothing_matches == (
        "No failure mode matches. Whether the table is right is not known yet."
    )


NOTHING_YET = {"total-records": "0", "total-data-files": "0", "total-delete-files": "0"}


@pytest.mark.parametrize(
    ("summary", "changes"),
    [
        (NOTHING_YET | {"changed-partition-count": "0"}, False),
        (NOTHING_YET | {"added-records": "20"}, True),
        (NOTHING_YET | {"total-records": "20"}, True),
        ({"total-records": "0"}, True),
    ],
    ids=["of nothing", "counted rows", "another total", "too few totals"],
)
def test_a_commit_of_nothing_changed_no_rows(summary: dict[str, str], *, changes: bool) -> None:
    """The dynamic sink begins an empty table with one that names no job (Iceberg 1.11)."""
    tale = Tale().flink_runs("a").commits(None)
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(update={"summary": summary})

    found = another_writer_changed_rows.examine(tale.commits("a", 1, 2).looked_at())

    assert isinstance(found, Matches) is changes


def published(operation: str = "overwrite", *, by: str | None = None) -> Tale:
    """A commit is staged beside main (None: by Spark), the job goes on, and the staged one is picked onto main."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 3)
    tale.stages(by, 0, operation=operation)
    staged = tale.snapshots[-1].snapshot_id
    return picks(tale.commits("a", 4).completes("a", 4), staged, operation).commits("a", 5, 6).completes("a", 5, 6)


def picks(tale: Tale, source: int, operation: str = "append") -> Tale:
    """What Iceberg leaves on main: the counters, the source, and whatever engine picked."""
    return tale.commits(None, operation=operation).counts(source_snapshot_id=source)


def without_source(tale: Tale) -> Tale:
    """Expiry has taken the staged commit."""
    gone = tale.snapshots[3].snapshot_id
    tale.snapshots = [s for s in tale.snapshots if s.snapshot_id != gone]
    return tale


@pytest.mark.parametrize("operation", ["overwrite", "append"])
def test_a_staged_change_that_was_published_is_another_writers(operation: str) -> None:
    """Write-audit-publish of a Spark job: the rows of main are not those that the job wrote."""
    tale = published(operation)

    found = another_writer_changed_rows.examine(tale.looked_at())

    assert tale.at("a", 4) == found.last_good
    assert "a cherry-pick of " in found.reasons[0]
    assert not isinstance(healthy.examine(tale.looked_at()), Matches)
    assert isinstance(no_snapshot_advanced.examine(tale.becomes("a", "FAILED").looked_at()), Excluded)


EXAMINES = pytest.mark.parametrize(
    ("state", "examine"),
    [
        ("RUNNING", healthy.examine),
        ("FAILED", no_snapshot_advanced.examine),
        ("RUNNING", another_writer_changed_rows.examine),
    ],
    ids=["healthy", "no-advance", "F21"],
)


def compacted_beside(*, position: int = 0, equality: int = 0, state: str = "RUNNING", **counts: int) -> Tale:
    """Four commits of the job, a compaction with these counters, and another commit; the table's deletes after it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 4).commits("a", 4)
    totals = {"total_position_deletes": position, "total_equality_deletes": equality}
    tale.commits(None, operation="replace").counts(**totals, **counts)
    return tale.completes("a", 5).commits("a", 5).becomes("a", state)


def compared(tale: Tale, lost: int) -> Case:
    """Evidence has compared the compaction with its parent."""
    compaction = next(s for s in tale.snapshots if s.operation == "replace")
    told = (CompactedRows(snapshot_id=compaction.snapshot_id, lost=lost),)
    return tale.looked_at(corrected=CorrectedRowsFinding(keys=0, gone=lost, columns={}, compactions=told))


def beside_position_deletes(state: str) -> Tale:
    """Fifty rows are gone, and the table has fifty deletes: of another partition, as it were."""
    return compacted_beside(position=50, state=state, deleted_records=100, added_records=50)


def beside_equality_deletes(state: str) -> Tale:
    """Nobody counts how many rows five equality deletes take."""
    return compacted_beside(equality=5, state=state, deleted_records=3010, added_records=10)


def without_counters(state: str) -> Tale:
    """What it read is in no summary: positions do not show it either where the lowest rows are gone."""
    return compacted_beside(state=state)


DELETES = pytest.mark.parametrize("tale", [beside_position_deletes, beside_equality_deletes, without_counters])


@DELETES
@EXAMINES
def test_rows_that_deletes_may_have_taken_are_compared(
    tale: Callable[[str], Tale], state: str, examine: Callable[[Case], Examined]
) -> None:
    """It said healthy, and that the table is right; the evidence that tells is asked for."""
    found = examine(tale(state).looked_at())

    assert found.asks == ("corrected_rows",)
    assert "nly the keys before and after it show whether" in found.missing[0]


@DELETES
@EXAMINES
def test_a_comparison_that_finds_every_row_clears_it(
    tale: Callable[[str], Tale], state: str, examine: Callable[[Case], Examined]
) -> None:
    """An upsert table that is compacted every hour is healthy for all that."""
    found = examine(compared(tale(state), lost=0))

    assert isinstance(found, Excluded if examine is another_writer_changed_rows.examine else Matches)


@DELETES
def test_a_comparison_that_misses_rows_tells_the_loss(tale: Callable[[str], Tale]) -> None:
    """By the rows, where the counters could not."""
    case = compared(tale("RUNNING"), lost=50)

    told = another_writer_changed_rows.examine(case)

    assert "a compaction that lost 50 rows" in told.reasons[0]
    assert not isinstance(healthy.examine(case), Matches)
    assert isinstance(no_snapshot_advanced.examine(compared(tale("FAILED"), lost=50)), Excluded)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"added-delete-files": "1", "removed-delete-files": "3", "removed-position-deletes": "9"}, Matches),
        ({"removed-delete-files": "3"}, Matches),
        ({"added-delete-files": "1", "deleted-data-files": "3"}, CannotTell),
        ({}, CannotTell),
    ],
    ids=["delete files", "delete files that had nothing to delete", "data files too", "nothing is counted"],
)
def test_a_compaction_of_delete_files_alone_keeps_every_row(counts: dict[str, str], expected: type) -> None:
    """Also where what it stands on has expired, so that nobody can compare the keys any more."""
    tale = compacted_beside()
    place = next(place for place, s in enumerate(tale.snapshots) if s.operation == "replace")
    summary = {"engine-name": "spark", "total-records": "40", **counts}
    tale.snapshots[place] = tale.snapshots[place].model_copy(update={"summary": summary})
    tale.expires("a", 1, 2, 3, 4)

    assert isinstance(healthy.examine(tale.looked_at()), expected)


SECOND = OperatorId("dd" * 16)


def on_branch(tale: Tale, *checkpoints: int, sink: OperatorId | None = None) -> Tale:
    """The run commits these to branch `audit`; main stays."""
    main = tale.head
    tale.head = next((ref.snapshot_id for ref in tale.refs if ref.name == "audit"), main)
    for checkpoint in checkpoints:
        tale.completes("a", checkpoint).stages("a", checkpoint)
        if sink is not None:
            tale.by_sink(sink)
        tale.head = tale.snapshots[-1].snapshot_id
    tale.refs = [Ref(name="audit", kind="branch", snapshot_id=tale.snapshots[-1].snapshot_id)]
    tale.head = main
    return tale


def job() -> Tale:
    return Tale().flink_runs("a").completes("a", 1, 2, 3).commits("a", 1, 2, 3)


def one() -> Tale:
    """The job has committed once."""
    return Tale().flink_runs("a").commits("a", 1)


def conversion_of_staged(rows: str) -> Case:
    """Of a commit of the job on a staging branch: the same data file, with so many rows."""
    tale = one().stages("a", 2)
    return converted(tale, tale.at("a", 2), added_data_files="1", added_records=rows).looked_at()


def between(operation: str) -> Tale:
    """Spark commits between two commits of the job."""
    return Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation=operation).commits("a", 3)


def deleted_by(**summary: str) -> Case:
    """Spark deletes, with these in its summary."""
    tale = one().commits(None, operation="delete")
    return tale.counts(**{"engine-name": "spark", **summary}).looked_at()


def picked() -> Case:
    """A responder puts a rolled-back commit back; its summary names the source and no job."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None)
    source = {"source-snapshot-id": str(tale.at("a", 2))}
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(update={"summary": source})
    return tale.looked_at()


def picked_again() -> Case:
    """A commit of the job was picked, rolled back once more, and picked from that pick."""
    tale = published(by="a")
    again = next(s for s in tale.snapshots if "source-snapshot-id" in s.summary)
    return picks(tale, again.snapshot_id).looked_at()


def by_both(sink: OperatorId | None) -> Case:
    """The run commits checkpoint 4 to main and to the branch; a dynamic sink does so under one id."""
    return on_branch(job().completes("a", 4).commits("a", 4), 4, sink=sink).looked_at()


def followed() -> Tale:
    """The next run may go on with the branch, or come back to main."""
    return on_branch(job(), 4, 5).becomes("a", "FINISHED").flink_runs("b", restored=5)


F11, F21, IDLE = commit_not_made_yet, another_writer_changed_rows, no_snapshot_advanced
UPSERT = Tale().flink_runs("a").commits("a", 1, 2, operation="overwrite")
VECTORS = {"added_position_deletes": "3", "removed_equality_delete_files": "1"}
KEPT, PICK = "compactions (1), which kept", "cherry-pick"
ON_BRANCH = on_branch(job(), *range(4, 10))
TO_BRANCH = ("branch audit", "what is judged here is main")


@answer_table(
    {
        **{
            f"another writer: {operation}": (
                F21, between(operation).looked_at(),
                Remedy.STOP_CULPRIT, LastGood("a2"), WrongRun(None), "1 commit of the job came on top",
            )
            for operation in ("append", "delete", "overwrite")
        },
        "a conversion where the deletes lie is maintenance": (
            F21, converted(UPSERT, UPSERT.at("a", 2), **VECTORS).looked_at(), Excluded, "Iceberg's own maintenance",
        ),
        "a conversion from a staging branch brings the job's rows": (F21, conversion_of_staged("10"), Excluded),
        "a conversion brings other rows than were staged": (F21, conversion_of_staged("11"), Matches),
        "a conversion takes data files": (
            F21, converted(one(), one().at("a", 1), deleted_data_files="1").looked_at(), Matches,
        ),
        "a conversion once more may take rows that were written anew": (
            F21, converted(converted(one(), one().at("a", 1)), one().at("a", 1)).looked_at(), Matches,
        ),
        "a conversion of what is no longer listed is untold": (
            F21, converted(one(), SnapshotId(4711)).looked_at(), CannotTell, "a conversion of",
        ),
        "the application id leads to whoever started it": (
            F21, deleted_by(**{"spark.app.id": "local-17", "added-position-deletes": "40"}), Matches,
            "spark application local-17", "40 rows deleted by position",
        ),
        "a compaction keeps its rows": (F21, compacted(**{"deleted-records": "20"}).looked_at(), Excluded, KEPT),
        "a compaction works deletes in": (
            F21, compacted(**{"deleted-records": "25", "removed-position-deletes": "5"}).looked_at(), Excluded, KEPT,
        ),
        "a compaction of manifests": (
            F21, compacted(**{"entries-processed": "2", "manifests-replaced": "2"}).looked_at(), Excluded, KEPT,
        ),
        "a compaction read more rows than it wrote": (
            F21, compacted(**{"deleted-records": "25"}).looked_at(), Matches, "a compaction that lost 5 rows",
        ),
        "a cherry-pick is no change of its own": (F21, picked(), Excluded, PICK),
        "a pick of a pick of the job's commit is none": (F21, picked_again(), Excluded),
        "the table is healthy then": (healthy, picked_again(), Matches),
        "a pick whose source is gone may be anybody's (F21)": (
            F21, without_source(published()).looked_at(), CannotTell, PICK,
        ),
        "a pick whose source is gone may be anybody's (healthy)": (
            healthy, without_source(published()).looked_at(), CannotTell, PICK,
        ),
        "a pick whose source is gone may be anybody's (no-advance)": (
            IDLE, without_source(published()).becomes("a", "FAILED").looked_at(), CannotTell, PICK,
        ),
        "rows under a pick that overwrote were written once": (
            source_positions_skipped, without_source(published()).looked_at(missing=5), Excluded, "(F21)",
        ),
        "main is not healthy for a job that writes a branch": (
            healthy, ON_BRANCH.looked_at(), CannotTell, *TO_BRANCH, "up to checkpoint 9",
        ),
        "however many commits it has there": (
            healthy, on_branch(job(), *range(4, 31)).looked_at(), CannotTell, *TO_BRANCH, "up to checkpoint 30",
        ),
        "what the branch holds did carry rows": (
            F11, ON_BRANCH.looked_at(), Excluded, "9 is on branch audit", Unsaid("no rows"),
        ),
        "what comes after it may carry none": (
            F11, on_branch(job(), *range(4, 10)).completes("a", 10, 11).looked_at(), Excluded,
            "2 checkpoints of run aaaaaa since 9",
        ),
        "the next run is judged by the last one": (healthy, followed().looked_at(), CannotTell),
        "until it commits": (healthy, followed().completes("b", 6).commits("b", 6).looked_at(), Matches),
        "a job that writes both by two sinks is judged by main": (healthy, by_both(SECOND), Matches),
        "a job that writes both by one sink is judged by main": (healthy, by_both(None), Matches),
        "a sink that left main is told beside one that stays": (
            healthy, on_branch(job().commits("a", 3).by_sink(SECOND), 4, 5).looked_at(), CannotTell,
        ),
    }
)  # fmt: skip
def test_what_others_committed(mode: Any, case: Case, expected: list[Any]) -> None:
    """Maintenance and picks that change no row, those that do, and commits of the job elsewhere than on main."""
    check(mode, case, expected)
