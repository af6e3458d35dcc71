"""Another Flink job that took rows off is judged like any other writer; one that only adds rows is a guest."""

from collections.abc import Callable

import pytest

from bot.diagnosis import (
    another_writer_changed_rows,
    no_snapshot_advanced,
    recovered_by_itself,
    source_positions_skipped,
    two_jobs_write_the_table,
)
from bot.domain.diagnosis import Excluded, Matches, Remedy
from bot.domain.ids import DRAINED, OperatorId
from tests.cases import Tale, job_id

GUEST = OperatorId("ee" * 16)


def own_sink(tale: Tale) -> Tale:
    """The guest commits under an operator id of its own."""
    return tale.by_sink(GUEST)


def same_sink(tale: Tale) -> Tale:
    """By default the V2 sink's id is of the table's name, so every job on the table has the same."""
    return tale


def visited(operation: str, checkpoint: int = 7, sink: Callable[[Tale], Tale] = own_sink, **counts: object) -> Tale:
    """Four commits of the job, one by run `z`, and two more of the job."""
    tale = (
        Tale()
        .flink_runs("a")
        .completes("a", 1, 2, 3, 4)
        .commits("a", 1, 2, 3, 4)
        .commits("z", checkpoint, operation=operation)
    )
    return sink(tale.counts(**counts)).completes("a", 5, 6).commits("a", 5, 6)


TOOK = {"deleted_records": 30, "deleted_data_files": 3}


@pytest.mark.parametrize("sink", [own_sink, same_sink])
@pytest.mark.parametrize("checkpoint", [7, DRAINED])
@pytest.mark.parametrize("operation", ["overwrite", "delete"])
def test_files_that_another_job_took_off_are_told(
    operation: str, checkpoint: int, sink: Callable[[Tale], Tale]
) -> None:
    """A batch job's INSERT OVERWRITE was nobody's fault, and with clean rows the table was healthy."""
    tale = visited(operation, checkpoint, sink, **TOOK)

    found = another_writer_changed_rows.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (tale.at("a", 4), Remedy.STOP_CULPRIT) == (found.last_good, found.remedy)
    assert "Flink run zzzzzz" in found.headline
    assert "2 commits of the job came on top" in found.reasons[-1]
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Excluded)
    assert isinstance(no_snapshot_advanced.examine(tale.becomes("a", "FAILED").looked_at()), Excluded)


def test_the_neighbours_name_it() -> None:
    """It was called a writer that is meant to be there, and its rows never written."""
    case = visited("overwrite", **TOOK).looked_at(missing=30)

    forked, skipped = two_jobs_write_the_table.examine(case), source_positions_skipped.examine(case)

    assert isinstance(forked, Excluded)
    assert "took rows off the table (F21)" in forked.reason
    assert isinstance(skipped, Excluded)
    assert "by Flink run zzzzzz) took rows off the table" in skipped.reason


@pytest.mark.parametrize("deletes", ["added_equality_deletes", "added_position_deletes"])
def test_delete_files_of_another_sink_took_rows_off(deletes: str) -> None:
    """Which rows they reach, nobody counts."""
    tale = visited("overwrite", **{deletes: 5})

    assert isinstance(another_writer_changed_rows.examine(tale.looked_at()), Matches)


def test_a_guest_that_only_adds_rows_is_none() -> None:
    """A backfill beside the job."""
    tale = visited("append")

    assert isinstance(another_writer_changed_rows.examine(tale.looked_at()), Excluded)
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


def test_what_the_jobs_own_runs_overwrite_is_their_work() -> None:
    """Listed by Flink, or forgotten beside others that overwrite: a batch job that writes its table each night."""
    listed = Tale().flink_runs("a").completes("a", 1).commits("a", 1)
    listed.commits("a", 2, operation="overwrite").counts(**TOOK)
    nightly = Tale().commits("z", DRAINED, operation="overwrite").counts(replace_partitions="true")
    nightly.flink_runs("a").commits("a", DRAINED, operation="overwrite").counts(**TOOK)

    assert isinstance(another_writer_changed_rows.examine(listed.looked_at()), Excluded)
    assert isinstance(another_writer_changed_rows.examine(nightly.looked_at()), Excluded)


def test_deletes_of_a_run_that_flink_has_forgotten_are_the_jobs() -> None:
    """An upsert job whose sink got another uid with the next run."""
    tale = Tale().commits("z", 1, 2, operation="overwrite").counts(added_equality_deletes=5).by_sink(GUEST)
    tale.flink_runs("a", restored=2).completes("a", 3).commits("a", 3)

    assert isinstance(another_writer_changed_rows.examine(tale.looked_at()), Excluded)


def test_a_run_that_flink_lists_under_another_name_is_another_jobs() -> None:
    """Whatever sink it has."""
    tale = visited("overwrite", sink=same_sink, added_equality_deletes=5)
    other = tale.runs["a"].model_copy(update={"job_id": job_id("z"), "name": "backfill"})
    tale.runs["z"] = other

    assert isinstance(another_writer_changed_rows.examine(tale.looked_at()), Matches)
