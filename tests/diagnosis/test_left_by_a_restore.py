"""What a restored state had still to be committed comes with the restore, or not at all."""

import pytest

from bot.diagnosis import checkpoint_committed_twice, recovered_by_itself
from bot.diagnosis._left_by_a_restore import left_by_a_restore
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.flink import FlinkManifest
from bot.domain.ids import CheckpointId
from tests.cases import NOON, OPERATOR, Tale, job_id
from tests.diagnosis.test_counted_since_the_start import counted_at


def upgraded(*, committed: int, path: str | None = f"s3://state/savepoint-{job_id('a')[:6]}-0a2b") -> Tale:
    """Run a commits so far and is stopped at 3, whose manifest is left; run b goes on from there."""
    tale = Tale().flink_runs("a").commits("a", *range(1, committed + 1)).becomes("a", "FINISHED")
    tale.flink_runs("b").came_from("b", 3, path or "")
    point = tale.runs["b"].restored
    assert point is not None
    tale.runs["b"] = tale.runs["b"].model_copy(update={"restored": point.model_copy(update={"path": path})})
    name = f"{job_id('a')}-{OPERATOR}-00000-0-3-00001.avro"
    left = FlinkManifest(
        path=f"s3://lake/{name}", job_id=job_id("a"), operator_id=OPERATOR, subtask=0, attempt=0,
        checkpoint_id=CheckpointId(3), number=1, bytes=4096, written_at=NOON,
    )  # fmt: skip
    tale.manifests = [left]
    return tale


@pytest.mark.parametrize("path", [None, f"s3://state/{job_id('a')}/chk-3"])
def test_a_manifest_that_a_restore_has_not_committed_leaves_it_open(path: str | None) -> None:
    """The sink's state was left out, as after a change of its uid."""
    case = upgraded(committed=2, path=path).looked_at()

    said = left_by_a_restore(case)

    assert said is not None
    assert "checkpoint 3 of run aaaaaa" in said
    assert not isinstance(recovered_by_itself.examine(case), Matches)


@pytest.mark.parametrize(
    "tale",
    [
        upgraded(committed=3),
        upgraded(committed=2, path=f"s3://state/{job_id('c')}/chk-3"),
        upgraded(committed=2).becomes("b", "RESTARTING"),
    ],
    ids=["only its deletion failed", "of another run", "the run is not up yet"],
)
def test_else_it_tells_nothing(tale: Tale) -> None:
    """Main carries it, or it was no part of that state, or may still come."""
    assert left_by_a_restore(tale.looked_at()) is None


def test_a_checkpoint_that_comes_again_after_the_evidence_is_looked_for_once_more() -> None:
    """The answer to the commit of 3 was lost: F1 was excluded by what had been looked at before."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    counts = counted_at(tale)

    rising = checkpoint_committed_twice.examine(tale.commits("a", 4).looked_at(evidence=counts))
    again = checkpoint_committed_twice.examine(tale.commits("a", 4).looked_at(evidence=counts))

    assert isinstance(rising, Excluded)
    assert isinstance(again, CannotTell)
    assert again.asks == ("duplicate_commits",)
