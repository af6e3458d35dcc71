"""The job of a history: how its runs begin, fail, are taken over, and end."""

from random import Random

from bot.observation.flink import CheckpointKind, Failure, Restored
from bot.observation.ids import CheckpointId
from tests.cases import OPERATOR, Tale
from tests.diagnosis.histories.reading import Reader, RestorePoint
from tests.diagnosis.histories.sink import Sink, Written
from tests.diagnosis.histories.source import Source

RUNS = "abcdefghijklmnopqrstuvwxy0123456789"


class Job(Reader):
    """One job over its runs."""

    def __init__(self, tale: Tale, sink: Sink, source: Source, draw: Random, interval_s: int) -> None:
        super().__init__(tale, sink, source, draw, interval_s)
        self.started = 0
        """Runs with a job id of their own, so far."""
        self.is_stuck = False
        """Whether it fails at each restore, because a Flink manifest is gone."""
        self.has_ended = False
        self.starts(None)

    @property
    def can_go_on(self) -> bool:
        """Whether anything still happens to it by itself."""
        return not (self.is_stuck or self.has_ended)

    def ends(self, state: str) -> None:
        """The run is over, and Flink shows it so."""
        self.tale.becomes(self.run, state)

    def fails_for_good(self) -> None:
        """Flink gives up restarting it."""
        self.has_ended = True
        self.ends("FAILED")

    def starts(self, point: RestorePoint | None, *, keeps_id: bool = False) -> None:
        """The job is submitted, from this point or without state: under a new job id, or under the one that it had;
        then Flink's counter may begin at the point, or go on from where it was."""
        self.passes(self.draw.choice([5, 40, 300]))
        if self.run and not keeps_id and not self.shown.is_terminal:
            self.ends("CANCELED")
        before = self.checkpoint
        if keeps_id:
            self.tale.forgets(self.run)
        else:
            self.run = RUNS[self.started]
            self.started += 1
        self.has_new_writer()
        self._is_listed(None if point is None else point.checkpoint)
        if point is None:
            self.position, self.checkpoint = self.source.zero, 0
            self.newest = None
            self.sink.starts_empty()
        else:
            self.checkpoint = (
                max(before, point.checkpoint) if keeps_id and self.draw.random() < 0.5 else point.checkpoint
            )
            self._goes_on_from(point)

    def fails_over(self) -> None:
        """The run fails and goes on from its newest checkpoint."""
        if self.newest is None:
            return
        self._breaks_off()
        self.passes(5)
        thrown = Failure(at=self.tale.now, exception="java.io.IOException", message="lost", task=None, attempt=None)
        self.passes(5)
        self._changes(
            failures=(thrown, *self.shown.failures)[:16],
            restored_count=self.shown.restored_count + 1,
            vertices=tuple(v.model_copy(update={"attempt": v.attempt + 1}) for v in self.shown.vertices),
        )
        self._goes_on_from(self.newest)

    def is_taken_over(self) -> None:
        """A standby JobManager goes on with the run from its newest checkpoint: the job id stays and checkpoint ids go
        on, but what Flink showed of the run is gone."""
        if self.newest is None:
            return
        self._breaks_off()
        self.tale.forgets(self.run)
        self.passes(20)
        self._is_listed(self.newest.checkpoint)
        self.checkpoint = max(self.checkpoint, self.newest.checkpoint)
        self._goes_on_from(self.newest)

    def is_killed_and_started(self, *, keeps_id: bool = False) -> None:
        """The run is cut off, and the job started from its newest checkpoint."""
        if self.newest is None:
            return
        self._breaks_off()
        if not keeps_id:
            self.ends("CANCELED")
        self.starts(self.newest, keeps_id=keeps_id)

    def _is_listed(self, restored: int | None) -> None:
        self.tale.flink_runs(self.run, restored=restored, v1=self.sink.is_v1)
        ids = {OPERATOR: self.sink.operator}
        named = tuple(
            v.model_copy(update={"vertex_id": ids.get(v.vertex_id, v.vertex_id)}) for v in self.shown.vertices
        )
        self._changes(checkpoint_interval_ms=self.interval_s * 1000, vertices=named)

    def _breaks_off(self) -> None:
        """Half the time a checkpoint was under way: its manifest, or only a data file, stays behind."""
        if self.draw.random() < 0.5:
            return
        self.checkpoint += 1
        rows = self.draw.randint(1, 2)
        held, _ = self.source.gives(self.position, rows, self.read)
        if self.draw.random() < 0.6:
            file = self.makes_file()
            self.sink.leaves(Written(self.run, self.checkpoint, held, self.tale.now, self.sink.operator, file))
        else:
            self.sink.table.leaves_orphan()

    def _goes_on_from(self, point: RestorePoint) -> None:
        self.has_new_writer()
        self.newest, self.position = point, point.position
        is_savepoint = point.kind is not CheckpointKind.CHECKPOINT
        told = Restored(
            checkpoint_id=CheckpointId(point.checkpoint), at=self.tale.now, is_savepoint=is_savepoint, path=point.path
        )
        self._changes(restored=told)
        missed = self.sink.restores(point.run, point.pending)
        if missed is not None:
            self.is_stuck = True
            self.tale.misses_manifest(self.run, missed.run, missed.checkpoint, times=4)
            self.tale.becomes(self.run, "RESTARTING")
