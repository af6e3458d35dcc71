"""What kind of writer made a commit (facts 1.1 to 1.4, 1.6)."""

from collections.abc import Iterable, Mapping

from bot.domain.flink import JobRun
from bot.domain.ids import JobId, OperatorId
from bot.domain.ledger import Sink
from bot.domain.table import Snapshot

_BY_VERTEX = (
    ("icebergfilescommitter", Sink.FLINK_V1),
    ("sink pre-commit aggregator", Sink.FLINK_V2),
    ("icebergwriteaggregator", Sink.FLINK_V2),
    (" pre commit", Sink.FLINK_DYNAMIC),
)
"""A part of an operator's name -> the sink that names it so. A chain's name holds those of all its operators."""
_CDC = ("flink.batch-index", "flink.checkpoint-id")


class Sinks:
    """Tells sinks by what Flink says of its runs; what no run tells is not guessed."""

    def __init__(self, runs: Iterable[JobRun]) -> None:
        """`runs`: all that Flink remembers, ended ones too."""
        listed = tuple(runs)
        self._by_run: Mapping[JobId, Sink] = {
            run.job_id: found for run in listed if (found := _of_graph(run)) is not None
        }
        self._by_operator: Mapping[OperatorId, Sink] = {
            vertex.vertex_id: found
            for run in listed
            for vertex in run.vertices
            if (found := _of_name(vertex.name)) is not None
        }

    def of(self, commit: Snapshot) -> Sink:
        """Any engine's `replace` is a compaction. A Flink commit is told by the operator that made it, of whichever
        run Flink remembers (an operator keeps its id from run to run), else by the only sink of its run's graph."""
        if commit.operation == "replace":
            return Sink.COMPACTION
        if commit.job_id is not None:
            return self.of_run(commit.job_id, commit.operator_id)
        if any(key in commit.summary for key in _CDC):
            return Sink.FLINK_CDC
        if any(key.startswith("kafka.connect.") for key in commit.summary):
            return Sink.KAFKA_CONNECT
        engine = commit.engine.lower()
        return Sink.SPARK if engine == "spark" else Sink.FLINK_UNKNOWN if engine == "flink" else Sink.OTHER

    def of_run(self, job_id: JobId, operator_id: OperatorId | None = None) -> Sink:
        """The sink of a run; FLINK_UNKNOWN when neither the operator nor the graph is known."""
        by_operator = self._by_operator.get(operator_id) if operator_id is not None else None
        return by_operator or self._by_run.get(job_id, Sink.FLINK_UNKNOWN)


def _of_graph(run: JobRun) -> Sink | None:
    """None where Flink lists no sink of Iceberg, or several kinds."""
    found = {sink for vertex in run.vertices if (sink := _of_name(vertex.name)) is not None}
    return found.pop() if len(found) == 1 else None


def _of_name(name: str) -> Sink | None:
    lowered = name.lower()
    return next((sink for part, sink in _BY_VERTEX if part in lowered), None)
