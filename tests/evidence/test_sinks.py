"""Who made a commit: the kind of Flink sink by what Flink says, other writers by their own words."""

import pytest

from bot.domain.flink import JobRun
from bot.domain.gone_commits import Sinks
from bot.domain.ids import JobId, OperatorId, SnapshotId
from bot.domain.ledger import Sink
from bot.domain.table import Snapshot
from tests.evidence.flink_words import LONG_AGO, V1, V2, run
from tests.tables import OPERATOR, job, of_flink

DYNAMIC = "sink-1 Pre Commit"
OTHER_OPERATOR = OperatorId("0f" * 16)


def commit(summary: dict[str, str], operation: str = "append") -> Snapshot:
    """A commit with that summary."""
    return Snapshot(
        snapshot_id=SnapshotId(1), parent_id=None, sequence_number=1, committed_at=LONG_AGO, operation=operation,
        manifest_list="", schema_id=0, summary=summary,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flink", "sink"),
    [
        ([run("a", sink=V1)], Sink.FLINK_V1),
        ([run("a", sink=V2)], Sink.FLINK_V2),
        ([run("a", sink=DYNAMIC)], Sink.FLINK_DYNAMIC),
        ([run("a", sink=None)], Sink.FLINK_UNKNOWN),
        ([], Sink.FLINK_UNKNOWN),
        ([run("b", sink=V1)], Sink.FLINK_V1),
        ([run("b", sink=V1, operator=OTHER_OPERATOR)], Sink.FLINK_UNKNOWN),
        ([run("a", sink=V2, operator=OTHER_OPERATOR)], Sink.FLINK_V2),
    ],
    ids=["V1", "V2", "dynamic", "no graph", "no run", "same operator, later run", "other run's sink", "its own graph"],
)
def test_a_flink_commit_is_told_by_its_operator_or_its_runs_graph(flink: list[JobRun], sink: Sink) -> None:
    """An operator keeps its id from run to run; without run and operator nothing is guessed."""
    assert Sinks(flink).of(commit(of_flink("a", 3))) is sink


def test_a_graph_with_two_kinds_of_sink_tells_only_by_the_operator() -> None:
    """The run writes elsewhere through another kind: its graph alone does not decide."""
    both = run("a", sink=V1)
    vertices = (*both.vertices, both.vertices[0].model_copy(update={"vertex_id": OTHER_OPERATOR, "name": V2}))
    sinks = Sinks([both.model_copy(update={"vertices": vertices})])

    assert sinks.of_run(JobId(job("a")), OPERATOR) is Sink.FLINK_V1
    assert sinks.of_run(JobId(job("a"))) is Sink.FLINK_UNKNOWN


@pytest.mark.parametrize(
    ("summary", "operation", "sink"),
    [
        ({"flink.batch-index": "0", "flink.checkpoint-id": "4"}, "append", Sink.FLINK_CDC),
        ({"kafka.connect.commit-id": "x"}, "append", Sink.KAFKA_CONNECT),
        ({"engine-name": "spark"}, "append", Sink.SPARK),
        ({"spark.app.id": "local-17"}, "delete", Sink.SPARK),
        ({"engine-name": "spark"}, "replace", Sink.COMPACTION),
        (of_flink("a", 3), "replace", Sink.COMPACTION),
        ({"engine-name": "flink"}, "append", Sink.FLINK_UNKNOWN),
        ({"engine-name": "trino"}, "append", Sink.OTHER),
        ({}, "append", Sink.OTHER),
    ],
)
def test_other_writers_are_told_by_their_summary(summary: dict[str, str], operation: str, sink: Sink) -> None:
    """A `replace` is a compaction whoever made it."""
    assert Sinks([run("a", sink=V1)]).of(commit(summary, operation)) is sink
