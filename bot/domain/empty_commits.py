"""How long Flink's sink may stay silent while it has nothing to commit."""

from collections.abc import Iterable, Mapping

from bot.domain.flink import CheckpointKind, JobRun
from bot.domain.ledger import Sink

PROPERTY = "flink.max-continuous-empty-commits"
_BY_DEFAULT = 10


def empty_commits_allowed(properties: Mapping[str, str]) -> int:
    """Checkpoints without files in a row that rightly have no commit, as a table's properties say."""
    told = properties.get(PROPERTY, "")
    return int(told) if told.isdigit() else _BY_DEFAULT


def uncounted(runs: Iterable[JobRun], sink: Sink | None) -> set[int]:
    """Checkpoints that are none to the sink, as far as Flink still lists them: those that failed, and to V1 also
    intermediate savepoints, of which it is not notified (facts 0.5)."""
    told = [each for run in runs for each in run.checkpoints]
    passed_by = {c.checkpoint_id for c in told if sink is Sink.FLINK_V1 and c.kind is CheckpointKind.SAVEPOINT}
    return passed_by | {c.checkpoint_id for c in told if c.status == "FAILED"}
