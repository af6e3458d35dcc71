"""F18 beside other writers that took rows off: they explain no more missing rows than they took, less what they wrote
anew."""

import pytest

from bot.diagnosis import source_positions_skipped
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from tests.cases import Tale
from tests.diagnosis.test_source_positions_skipped import with_bounds


@pytest.mark.parametrize(
    ("took", "answer"),
    [
        ({"deleted-records": "30"}, Excluded),
        ({"deleted-records": "29"}, CannotTell),
        ({"deleted-records": "0"}, Matches),
        ({"deleted-records": "29", "added-position-deletes": "1"}, Excluded),
        ({"deleted-records": "29", "added-equality-deletes": "1"}, Excluded),
        ({"deleted-records": "29", "added-delete-files": "1"}, Excluded),
    ],
    ids=["all", "some", "none", "by position too", "by key too", "nobody knows how many"],
)
def test_another_writer_explains_no_more_rows_than_it_took(took: dict[str, str], answer: type) -> None:
    """Thirty positions are missing; what it cannot have taken is some other fault's."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="delete").commits("a", 3)
    change = tale.snapshots[2]
    tale.snapshots[2] = change.model_copy(update={"summary": {**change.summary, **took}})

    assert isinstance(source_positions_skipped.examine(tale.looked_at(missing=30)), answer)


@pytest.mark.parametrize(("wrote", "answer"), [(0, Excluded), (70, Excluded), (71, CannotTell), (100, CannotTell)])
def test_an_overwrite_writes_anew_what_it_leaves(wrote: int, answer: type) -> None:
    """Spark took 100 rows in whole files and wrote some of them again: as many as the others may be missing by it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="overwrite").commits("a", 3)
    change = tale.snapshots[2]
    summary = {**change.summary, "deleted-records": "100", "added-records": str(wrote)}
    tale.snapshots[2] = change.model_copy(update={"summary": summary})
    case = with_bounds(tale.looked_at(missing=30))

    found = source_positions_skipped.examine(case)

    assert isinstance(found, answer)
    if isinstance(found, CannotTell):
        assert f"took 100 rows, and wrote {wrote} anew" in found.missing[0]


def test_an_overwrite_without_positions_has_brought_none_back() -> None:
    """What it wrote cannot be among the rows that are missing."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).commits(None, operation="overwrite").commits("a", 3)
    change = tale.snapshots[2]
    summary = {**change.summary, "deleted-records": "100", "added-records": "100"}
    tale.snapshots[2] = change.model_copy(update={"summary": summary})

    assert isinstance(source_positions_skipped.examine(tale.looked_at(missing=30)), Excluded)


def test_an_overwrite_by_another_flink_job_brings_its_own_rows() -> None:
    """It writes nothing anew of what it took, wherever its rows come from."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    tale.commits("z", 1, operation="overwrite").commits("a", 3)
    change = tale.snapshots[2]
    summary = {**change.summary, "deleted-records": "100", "added-records": "100"}
    tale.snapshots[2] = change.model_copy(update={"summary": summary})

    assert isinstance(source_positions_skipped.examine(with_bounds(tale.looked_at(missing=30))), Excluded)
