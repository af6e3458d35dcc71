"""A compaction that wrote fewer rows than it read is no all-clear until the keys before and after it were compared."""

from collections.abc import Callable

import pytest

from bot.diagnosis import (
    another_writer_changed_rows,
    no_snapshot_advanced,
    recovered_by_itself,
    source_positions_skipped,
)
from bot.domain.diagnosis import CannotTell, Case, Examined, Excluded, Matches
from bot.domain.findings import CompactedRows, CorrectedRowsFinding
from tests.cases import Tale

EXAMINES = pytest.mark.parametrize(
    ("state", "examine"),
    [
        ("RUNNING", recovered_by_itself.examine),
        ("FAILED", no_snapshot_advanced.examine),
        ("RUNNING", another_writer_changed_rows.examine),
    ],
    ids=["healthy", "no-advance", "F21"],
)


def compacted(*, position: int = 0, equality: int = 0, state: str = "RUNNING", **counts: int) -> Tale:
    """Four commits of the job, a compaction with these counters, and another commit; the table's deletes before it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 4).commits("a", 4)
    _counts(tale, {"total-position-deletes": position, "total-equality-deletes": equality})
    tale.commits(None, operation="replace")
    _counts(tale, {key.replace("_", "-"): number for key, number in counts.items()})
    return tale.completes("a", 5).commits("a", 5).becomes("a", state)


def _counts(tale: Tale, counts: dict[str, int]) -> None:
    newest = tale.snapshots[-1]
    told = {**newest.summary, **{key: str(number) for key, number in counts.items()}}
    tale.snapshots[-1] = newest.model_copy(update={"summary": told})


def compared(tale: Tale, lost: int) -> Case:
    """Evidence has compared the compaction with its parent."""
    compaction = next(s for s in tale.snapshots if s.operation == "replace")
    told = (CompactedRows(snapshot_id=compaction.snapshot_id, lost=lost),)
    return tale.looked_at(corrected=CorrectedRowsFinding(keys=0, gone=lost, columns={}, compactions=told))


def beside_position_deletes(state: str) -> Tale:
    """Fifty rows are gone, and the table has fifty deletes: of another partition, as it were."""
    return compacted(position=50, state=state, deleted_records=100, added_records=50)


def beside_equality_deletes(state: str) -> Tale:
    """Nobody counts how many rows five equality deletes take."""
    return compacted(equality=5, state=state, deleted_records=3010, added_records=10)


def without_counters(state: str) -> Tale:
    """What it read is in no summary: positions do not show it either where the lowest rows are gone."""
    return compacted(state=state)


DELETES = pytest.mark.parametrize("tale", [beside_position_deletes, beside_equality_deletes, without_counters])


@DELETES
@EXAMINES
def test_rows_that_deletes_may_have_taken_are_compared(
    tale: Callable[[str], Tale], state: str, examine: Callable[[Case], Examined]
) -> None:
    """It said healthy, and that the table is right; the evidence that tells is asked for."""
    found = examine(tale(state).looked_at())

    assert isinstance(found, CannotTell)
    assert found.asks == ("corrected_rows",)
    assert "only the keys before and after it show whether" in found.missing[0]


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

    assert isinstance(told, Matches)
    assert "a compaction that lost 50 rows" in told.reasons[0]
    assert isinstance(recovered_by_itself.examine(case), Excluded)
    dead = no_snapshot_advanced.examine(compared(tale("FAILED"), lost=50))
    assert isinstance(dead, Excluded)


def test_positions_are_not_skipped_while_a_compaction_may_have_lost_them() -> None:
    """A replay of the source would be the wrong remedy for what somebody dropped."""
    case = beside_position_deletes("RUNNING").looked_at(missing=50)

    assert isinstance(source_positions_skipped.examine(case), CannotTell)
    cleared = compared(beside_position_deletes("RUNNING"), lost=0).model_copy(update={"gaps": case.gaps})
    assert isinstance(source_positions_skipped.examine(cleared), Matches)


@pytest.mark.parametrize(
    ("removed", "verdict"), [(50, Excluded), (49, CannotTell), (51, CannotTell)], ids=["all", "fewer", "more"]
)
def test_deletes_that_the_compaction_removed_account_for_just_as_many(removed: int, verdict: type[Examined]) -> None:
    """With the files went the deletes that named their rows; more of them had deleted nothing any more."""
    tale = compacted(position=80, deleted_records=100, added_records=50, removed_position_deletes=removed)

    assert isinstance(another_writer_changed_rows.examine(tale.looked_at()), verdict)


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
    tale = compacted()
    place = next(place for place, s in enumerate(tale.snapshots) if s.operation == "replace")
    summary = {"engine-name": "spark", "total-records": "40", **counts}
    tale.snapshots[place] = tale.snapshots[place].model_copy(update={"summary": summary})
    tale.expires("a", 1, 2, 3, 4)

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), expected)
