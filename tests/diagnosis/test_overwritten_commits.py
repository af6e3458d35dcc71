"""F26: a commit that was made, and overwritten in the catalog, is named with its file, and not taken for a skip."""

import pytest

from bot.diagnosis import commit_overwritten, recovered_by_itself, source_positions_skipped
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches, Remedy
from bot.domain.ids import CheckpointId, SnapshotId
from bot.domain.looked import NotSeen, Seen
from bot.domain.table import UnnamedCommit
from tests.cases import Tale

FOLDER = "s3://lake/sales/orders/metadata"
LOST = SnapshotId(777_777)


def beside(tale: Tale, checkpoint: int, *, missing: int = 10, unreadable: int = 0) -> Case:
    """A metadata file that nobody names holds this checkpoint of run a, on its first commit."""
    base = tale.snapshots[0]
    made = base.model_copy(
        update={
            "snapshot_id": LOST,
            "parent_id": base.snapshot_id,
            "summary": {**base.summary, "flink.max-committed-checkpoint-id": f"{checkpoint}"},
        }
    )
    assert made.checkpoint_id == CheckpointId(checkpoint)
    found = UnnamedCommit(path=f"{FOLDER}/00002-x.metadata.json", commit=made, files=1, unreadable=unreadable)
    return seen(tale.looked_at(missing=missing), Seen[UnnamedCommit](source=FOLDER, values=(found,)))


def seen(case: Case, told: Seen[UnnamedCommit] | NotSeen) -> Case:
    return case.model_copy(update={"observation": case.observation.model_copy(update={"unnamed_commits": told})})


def gone_on() -> Tale:
    """Checkpoint 2 of run a is on no line of the table."""
    return Tale().flink_runs("a").commits("a", 1, 3, 4)


def test_a_commit_that_its_run_took_for_made_is_named_with_its_file() -> None:
    """And who wrote instead. No source skipped these rows, and the table is not healthy."""
    case = beside(gone_on(), 2)

    found = commit_overwritten.examine(case)

    assert isinstance(found, Matches)
    assert (Remedy.REPLAY_SOURCE_RANGE, case.observation.table.chain[-1].snapshot_id) == (
        found.remedy,
        found.last_good,
    )
    assert found.headline.startswith("Checkpoint 2 of run aaaaaa was committed as …777777, and overwritten")
    assert found.rows == (case.observation.table.chain[-2].snapshot_id,)
    assert "00002-x.metadata.json" in found.reasons[0]
    assert "all of them whole" in found.reasons[1]
    assert isinstance(source_positions_skipped.examine(case), Excluded)
    assert isinstance(recovered_by_itself.examine(case), Excluded)


def test_more_rows_than_it_had_are_missing_for_another_reason() -> None:
    """F18 does not rest on it."""
    assert isinstance(source_positions_skipped.examine(beside(gone_on(), 2, missing=11)), Matches)


@pytest.mark.parametrize(
    "case",
    [
        beside(gone_on(), 3),
        beside(Tale().flink_runs("a").commits("a", 1), 2),
        beside(gone_on(), 2, missing=0),
        gone_on().looked_at(missing=10),
    ],
    ids=["refused and tried again", "not gone on yet", "the rows came again", "nobody looked"],
)
def test_another_file_of_the_folder_accuses_nobody(case: Case) -> None:
    """A refused commit leaves a metadata file, too."""
    assert isinstance(commit_overwritten.examine(case), Excluded)


def test_a_folder_that_could_not_be_read_leaves_missing_rows_open() -> None:
    """Where none is missing, nothing was overwritten that matters."""
    unread = NotSeen(source=FOLDER, reason="It was refused.", remedy="Let the bot list it.")

    assert isinstance(commit_overwritten.examine(seen(gone_on().looked_at(missing=10), unread)), CannotTell)
    assert isinstance(commit_overwritten.examine(seen(gone_on().looked_at(), unread)), Excluded)
