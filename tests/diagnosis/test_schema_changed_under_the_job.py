"""F23: columns that the table has and the running job does not write."""

from typing import Any

import pytest

from bot.diagnosis import recovered_by_itself, schema_changed_under_the_job
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.findings import SchemaDifference
from bot.domain.looked import Seen
from bot.domain.table import Column
from bot.domain.written import WrittenSchema
from tests.cases import Tale, job_id
from tests.found import schema

APART = SchemaDifference(column="discount", between=("table", "files"), expected="double", found="nothing")


def table() -> Tale:
    return Tale().flink_runs("a").commits("a", 1, 2, 3)


def test_a_column_that_was_added_under_the_job_asks_for_a_restart() -> None:
    """What lies below the change is complete; the job's commits since then are not."""
    tale = table()

    found = schema_changed_under_the_job.examine(
        tale.looked_at(schema_drift=schema(all_null=("discount",), added_at=tale.at("a", 2)))
    )

    assert isinstance(found, Matches)
    assert (tale.at("a", 1), (tale.at("a", 2), tale.at("a", 3))) == (found.last_good, found.rows)
    assert found.remedy is Remedy.RESTART_FROM_STOP_SAVEPOINT


def test_files_that_lack_the_column_show_an_older_change() -> None:
    """The change may lie below the window: table and files disagree all the same."""
    found = schema_changed_under_the_job.examine(table().looked_at(schema_drift=schema(APART, all_null=("discount",))))

    assert isinstance(found, Matches)
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
    found = schema_changed_under_the_job.examine(table().looked_at(schema_drift=drift))

    assert isinstance(found, expected)


def test_a_table_with_an_unwritten_column_is_not_healthy() -> None:
    """Its rows are there, and not whole."""
    found = recovered_by_itself.examine(table().looked_at(schema_drift=schema(APART, all_null=("discount",))))

    assert isinstance(found, Excluded)
    assert "(F23)" in found.reason


def test_a_living_run_whose_schema_lacks_the_column_matches_before_it_commits() -> None:
    """No file is written since the change, so none is null; what the run goes on with is known all the same."""
    drift = schema().model_copy(update={"state_run": job_id("a"), "not_in_state": ("discount",)})

    found = schema_changed_under_the_job.examine(table().looked_at(schema_drift=drift))
    of_another = schema_changed_under_the_job.examine(
        table().looked_at(schema_drift=drift.model_copy(update={"state_run": job_id("b")}))
    )

    assert isinstance(found, Matches)
    assert found.reasons[0] == "The run writes under a schema without discount, as its own files say."
    assert isinstance(of_another, Excluded)
    assert isinstance(recovered_by_itself.examine(table().looked_at(schema_drift=drift)), Excluded)


def test_a_column_that_the_run_writes_and_the_table_dropped_matches() -> None:
    """Nothing is null, and yet what the job writes there reaches nobody."""
    gone = SchemaDifference(column="old", between=("state", "table"), expected="string", found="no such column")
    drift = schema(gone).model_copy(update={"state_run": job_id("a"), "not_in_table": ("old",)})

    found = schema_changed_under_the_job.examine(table().looked_at(schema_drift=drift))

    assert isinstance(found, Matches)
    assert found.headline.startswith("The job goes on writing old, which the table no longer has")
    assert "the columns that the job's state goes on with say string" in found.reasons[1]
    assert isinstance(recovered_by_itself.examine(table().looked_at(schema_drift=drift)), Excluded)


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
    assert isinstance(recovered_by_itself.examine(case.model_copy(update={"observation": world})), CannotTell)
