"""F21, `healthy` and the cherry-pick: publishing what another writer staged changes the table as its own commit would.

Whoever puts a commit of the job back by a cherry-pick changes nothing; whose a commit was tells its source.
"""

import pytest

from bot.diagnosis import (
    another_writer_changed_rows,
    no_snapshot_advanced,
    recovered_by_itself,
    source_positions_skipped,
)
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from tests.cases import Tale


def published(operation: str = "overwrite", *, by: str | None = None) -> Tale:
    """A commit is staged beside main (None: by Spark), the job goes on, and the staged one is picked onto main."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 3)
    tale.stages(by, 0, operation=operation)
    staged = tale.snapshots[-1].snapshot_id
    return picks(tale.commits("a", 4).completes("a", 4), staged, operation).commits("a", 5, 6).completes("a", 5, 6)


def picks(tale: Tale, source: int, operation: str = "append") -> Tale:
    """What Iceberg leaves on main: the counters, the source, and whatever engine picked."""
    tale.commits(None, operation=operation)
    told = {**tale.snapshots[-1].summary, "source-snapshot-id": str(source)}
    tale.snapshots[-1] = tale.snapshots[-1].model_copy(update={"summary": told})
    return tale


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

    assert isinstance(found, Matches)
    assert tale.at("a", 4) == found.last_good
    assert "a cherry-pick of " in found.reasons[0]
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Excluded)
    assert isinstance(no_snapshot_advanced.examine(tale.becomes("a", "FAILED").looked_at()), Excluded)


def test_a_pick_whose_source_is_gone_may_be_anybodys() -> None:
    """Neither that the job's rows were put back is known, nor that another writer's were brought."""
    tale = without_source(published())

    told = [
        another_writer_changed_rows.examine(tale.looked_at()),
        recovered_by_itself.examine(tale.looked_at()),
        no_snapshot_advanced.examine(tale.becomes("a", "FAILED").looked_at()),
    ]

    assert [CannotTell] * 3 == [type(each) for each in told]
    assert all("cherry-pick" in each.missing[-1] for each in told if isinstance(each, CannotTell))


def test_a_commit_of_the_job_that_is_put_back_is_no_change() -> None:
    """Also where it was picked, rolled back once more, and picked from that pick."""
    tale = published(by="a")
    again = next(s for s in tale.snapshots if "source-snapshot-id" in s.summary)
    picks(tale, again.snapshot_id)

    assert isinstance(another_writer_changed_rows.examine(tale.looked_at()), Excluded)
    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


def test_a_pick_that_overwrote_took_rows_off() -> None:
    """Rows that are missing under it were written once, whoever staged it: no replay of the source tells them right."""
    tale = without_source(published())

    found = source_positions_skipped.examine(tale.looked_at(missing=5))

    assert isinstance(found, Excluded)
    assert "(F21)" in found.reason
