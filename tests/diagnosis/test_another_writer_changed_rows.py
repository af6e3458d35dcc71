"""F21: commits that are not the job's, compactions and cherry-picks apart."""

import pytest

from bot.diagnosis import another_writer_changed_rows
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.ids import SnapshotId
from tests.cases import Tale


def compacted(**counts: str) -> Tale:
    """Two commits of the job, then a compaction with these counters."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="replace")
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(
        update={"summary": {"engine-name": "spark", "added-records": "20"} | counts}
    )
    return tale


@pytest.mark.parametrize("operation", ["append", "delete", "overwrite"])
def test_rows_changed_by_another_writer_are_told(operation: str) -> None:
    """The last good commit is the one below it, and no run of the job is to be undone."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation=operation).commits("a", 3)

    found = another_writer_changed_rows.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (tale.at("a", 2), None, Remedy.STOP_CULPRIT) == (found.last_good, found.wrong_run, found.remedy)
    assert "1 commit of the job came on top" in found.reasons[-1]


def test_the_newest_change_of_another_writer_is_named() -> None:
    """By it the watch knows a change that came after an incident from those that it left."""
    tale = Tale().flink_runs("a").commits("a", 1).commits(None, operation="delete").commits("a", 2).commits(None)
    newest = tale.head

    found = another_writer_changed_rows.examine(tale.commits("a", 3).looked_at())

    assert isinstance(found, Matches)
    assert newest == found.newest_wrong


def converted(tale: Tale, source: SnapshotId, **counts: str) -> Tale:
    """Flink's table maintenance commits on top: it turned the equality deletes of that snapshot into vectors."""
    tale.commits(None, operation="overwrite")
    told = {"engine-name": "flink", "equality-convert-staging-snapshot": str(source), "added-dvs": "1"}
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(
        update={"summary": told | {key.replace("_", "-"): value for key, value in counts.items()}}
    )
    return tale


def test_a_conversion_of_equality_deletes_where_they_lie_is_maintenance() -> None:
    """It adds vectors and removes the deletes that they stand for; a data file neither comes nor goes."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, operation="overwrite")

    found = another_writer_changed_rows.examine(
        converted(tale, tale.at("a", 2), added_position_deletes="3", removed_equality_delete_files="1").looked_at()
    )

    assert isinstance(found, Excluded)
    assert "Iceberg's own maintenance" in found.reason


def test_a_conversion_from_a_staging_branch_brings_the_job_s_rows() -> None:
    """As a cherry-pick of a staged commit does: the same data files, with vectors for its equality deletes."""
    tale = Tale().flink_runs("a").commits("a", 1).stages("a", 2)
    staged = tale.at("a", 2)

    found = another_writer_changed_rows.examine(
        converted(tale, staged, added_data_files="1", added_records="10").looked_at()
    )

    assert isinstance(found, Excluded)


def test_a_conversion_that_changes_more_is_told() -> None:
    """Another number of rows than was staged, data files that went, or the same snapshot once more, which may take rows
    that were written anew."""
    tale = Tale().flink_runs("a").commits("a", 1).stages("a", 2)
    staged, own = tale.at("a", 2), tale.at("a", 1)
    more = converted(tale, staged, added_data_files="1", added_records="11").looked_at()
    gone = Tale().flink_runs("a").commits("a", 1)
    lost = converted(gone, own, deleted_data_files="1").looked_at()
    twice = Tale().flink_runs("a").commits("a", 1)
    again = converted(converted(twice, own), own).looked_at()

    told = [another_writer_changed_rows.examine(case) for case in (more, lost, again)]

    assert [Matches] * 3 == [type(found) for found in told]


def test_a_conversion_of_what_is_no_longer_listed_is_untold() -> None:
    """Whose rows it brought, only the staged snapshot could tell."""
    tale = Tale().flink_runs("a").commits("a", 1)

    found = another_writer_changed_rows.examine(converted(tale, SnapshotId(4711)).looked_at())

    assert isinstance(found, CannotTell)
    assert "a conversion of" in found.missing[0]


def test_the_writer_is_named() -> None:
    """The application id leads to whoever started it."""
    tale = Tale().flink_runs("a").commits("a", 1).commits(None, operation="delete")
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(
        update={"summary": {"engine-name": "spark", "spark.app.id": "local-17", "added-position-deletes": "40"}}
    )

    found = another_writer_changed_rows.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert "spark application local-17" in found.headline
    assert "40 rows deleted by position" in found.reasons[0]


@pytest.mark.parametrize(
    "counts",
    [
        {"deleted-records": "20"},
        {"deleted-records": "25", "removed-position-deletes": "5"},
        {"entries-processed": "2", "manifests-replaced": "2"},
    ],
    ids=["rows kept", "deletes worked in", "manifests alone"],
)
def test_a_compaction_that_keeps_its_rows_changes_none(counts: dict[str, str]) -> None:
    """The same rows in other files; rows that were deleted before may go."""
    found = another_writer_changed_rows.examine(compacted(**counts).looked_at())

    assert isinstance(found, Excluded)
    assert "compactions (1), which kept" in found.reason


def test_a_compaction_that_lost_rows_is_told() -> None:
    """It read more rows than it wrote, and removed no deletes that would explain it."""
    found = another_writer_changed_rows.examine(compacted(**{"deleted-records": "25"}).looked_at())

    assert isinstance(found, Matches)
    assert "a compaction that lost 5 rows" in found.reasons[0]


def test_deletes_worked_in_excuse_no_more_rows_than_they_deleted() -> None:
    """One position delete of thirty rows leaves 29, whatever else the compaction says."""
    tale = compacted(**{"deleted-records": "30", "added-records": "1", "removed-position-deletes": "1"})

    found = another_writer_changed_rows.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert "a compaction that lost 28 rows" in found.reasons[0]


@pytest.mark.parametrize("kind", ["position", "equality"])
def test_deletes_that_a_compaction_leaves_behind_may_have_been_worked_in(kind: str) -> None:
    """Spark rewrites the files and may keep delete files that delete nothing any more; or they are of other files."""
    tale = compacted(**{"deleted-records": "30", "added-records": "25"})
    parent = tale.snapshots[-2]
    totals = {"total-position-deletes": "0", "total-equality-deletes": "0", f"total-{kind}-deletes": "5"}
    tale.snapshots[-2] = parent.model_copy(update={"summary": {**parent.summary, **totals}})

    found = another_writer_changed_rows.examine(tale.looked_at())

    assert isinstance(found, CannotTell)


def test_a_cherry_pick_is_no_change_of_its_own() -> None:
    """A responder puts a rolled-back commit back; its summary names the source and no job."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None)
    source = {"source-snapshot-id": str(tale.at("a", 2))}
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(update={"summary": source})

    found = another_writer_changed_rows.examine(tale.looked_at())

    assert isinstance(found, Excluded)
    assert "cherry-pick" in found.reason


def test_a_table_without_any_job_id_has_no_other_writer() -> None:
    """Flink CDC leaves no job id: nobody can tell who should write."""
    found = another_writer_changed_rows.examine(Tale().commits(None).commits(None).looked_at())

    assert isinstance(found, CannotTell)


def test_a_change_below_the_window_is_not_todays() -> None:
    """The window's lower edge is exclusive."""
    tale = Tale().flink_runs("a").commits("a", 1).commits(None, operation="delete").commits("a", 2, 3)

    found = another_writer_changed_rows.examine(tale.looked_at(since=tale.at("a", 2)))

    assert isinstance(found, Excluded)


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
