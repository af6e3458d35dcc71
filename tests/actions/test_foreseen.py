"""What the approved run may commit until its proposal is carried out: rising checkpoints, of each of its sinks."""

import pytest

from bot.actions import _foreseen
from bot.actions._world import World
from bot.domain.ids import JobId, OperatorId, SnapshotId
from bot.domain.requirements import HeadDescends
from bot.domain.table import TableState
from tests.cases import OPERATOR, Tale, job_id

OTHER = OperatorId("e" * 32)


def unforeseen(table: TableState, head: SnapshotId, run: JobId | None) -> str | None:
    """As a proposal that moves main asks it: of the table alone."""
    return _foreseen.unforeseen(HeadDescends(head=head, job_id=run), World(table=table, jobs={}))


def two_sinks(*checkpoints: int) -> Tale:
    """Each checkpoint comes twice, one commit of each sink of the run."""
    tale = Tale()
    for checkpoint in checkpoints:
        tale.commits("a", checkpoint).by_sink(OPERATOR).commits("a", checkpoint).by_sink(OTHER)
    return tale


@pytest.mark.parametrize("approved", [0, 1, 2, 3])
def test_two_sinks_of_the_run_go_on_side_by_side(approved: int) -> None:
    """Whichever of their commits was the head when people said yes."""
    tale = two_sinks(10, 11, 12)

    assert unforeseen(tale.table, tale.snapshots[approved].snapshot_id, job_id("a")) is None


@pytest.mark.parametrize("sink", [OPERATOR, OTHER])
def test_a_checkpoint_that_one_sink_commits_again_is_not_foreseen(sink: OperatorId) -> None:
    """The same files once more (F1): what was approved counted without them."""
    tale = two_sinks(10, 11)
    approved = tale.snapshots[-1].snapshot_id
    tale.commits("a", 11).by_sink(sink)

    assert "now" in (unforeseen(tale.table, approved, job_id("a")) or "")


def test_a_commit_of_anybody_else_is_not_foreseen() -> None:
    """Another run's, also under one of these sinks."""
    tale = two_sinks(10)
    approved = tale.snapshots[-1].snapshot_id
    tale.commits("b", 11).by_sink(OPERATOR)

    assert "run bbbbbb (checkpoint 11)" in (unforeseen(tale.table, approved, job_id("a")) or "")
    assert unforeseen(tale.table, approved, None) is not None


@pytest.mark.parametrize(("checkpoint", "is_foreseen"), [(11, True), (10, False)])
def test_where_a_head_names_no_sink_all_of_them_go_on_above_it(checkpoint: int, is_foreseen: bool) -> None:
    """Older versions of the sink left the operator out."""
    tale = two_sinks(10)
    head = tale.snapshots[-1]
    bare = {key: value for key, value in head.summary.items() if key != "flink.operator-id"}
    tale.snapshots[-1] = head.model_copy(update={"summary": bare})
    tale.commits("a", checkpoint).by_sink(OTHER)

    assert (unforeseen(tale.table, head.snapshot_id, job_id("a")) is None) is is_foreseen
