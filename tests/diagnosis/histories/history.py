"""One history: a table, its job, what people did to them, and how much of it Flink and evidence show."""

from datetime import timedelta
from random import Random
from typing import Literal, NamedTuple

from bot.observation.ids import SnapshotId
from tests.cases import Tale
from tests.diagnosis.histories.job import Job
from tests.diagnosis.histories.reading import RestorePoint, writer_id
from tests.diagnosis.histories.sink import Sink, V1Sink, V2Sink
from tests.diagnosis.histories.source import Source, Stand
from tests.diagnosis.histories.table import Table

Lists = Literal["all runs", "the living run", "ended runs without details"]
"""What Flink still lists: a session cluster all, an application cluster its own run; a history server answers for
ended runs, here without their checkpoints and vertices."""


class Setting(NamedTuple):
    """What a history is about, before anything happens."""

    sink: Literal["V1", "V2", "dynamic"] = "V2"
    keeps_keys: bool = True
    """Whether a row that is read again has the key that it had."""
    commits_empty_after: int = 10
    interval_s: int = 10
    lists: Lists = "all runs"
    shows_paths: bool = True
    """Whether Flink tells where a restore point lies."""
    clock_s: float = 0.0
    """How far Flink's clock is ahead of the catalog's."""
    lists_guest: bool = False
    """Whether the other job runs on the same Flink."""
    partitions: int = 1
    """Of the source; of several, some are silent at times."""
    has_holes: bool = False
    """Whether some offsets have no record."""
    tells_of_holes: bool = False
    """Whether the contract says so."""
    shows_broker: bool = False
    """Whether the broker is asked what it still has; where the contract tells of holes."""
    mixes_files: bool = False
    """Whether a data file holds several source partitions, so that its bounds tell nothing of each."""
    keys: int = 0
    """Of a table that is written by key: so many of each partition's rows one after the other have other keys; 0: only
    appends."""
    has_positions: bool = True
    """Whether rows carry their source position in a column."""
    shows_points: bool = False
    """Whether storage is read for restore points: each run's newest checkpoints, and all savepoints."""


class Half:
    """The job that reads some partitions since the job was split: it goes on beside it, and never fails."""

    def __init__(self, run: str, read: frozenset[int], point: RestorePoint) -> None:
        self.run, self.read, self.position, self.checkpoint = run, read, point.position, point.checkpoint
        self.operator, self.files, self.since = point.operator, 0, point.at

    def reads(self, table: Table, source: Source) -> None:
        """Its next checkpoint completes and is committed."""
        held, self.position = source.gives(self.position, source.draw.randint(1, 2), self.read)
        self.checkpoint, self.files = self.checkpoint + 1, self.files + 1
        table.tale.completes(self.run, self.checkpoint)
        table.tale.now += timedelta(seconds=4)
        table.adds(self.run, self.checkpoint, held, sink=self.operator, files=((writer_id(self.run, 0), self.files),))


class History:
    """Acts write down what happens, in `told` too, a line each."""

    def __init__(self, setting: Setting, draw: Random, seed: str = "") -> None:
        self.setting, self.draw = setting, draw
        self.tale = Tale()
        self.table = Table(self.tale, setting.keys)
        if setting.keys:
            self.tale.properties["write.upsert.enabled"] = "true"
        if setting.commits_empty_after != 10:
            self.tale.properties["flink.max-continuous-empty-commits"] = str(setting.commits_empty_after)
        self.sink = self._sink()
        self.source = Source(setting.partitions, holes_of=seed if setting.has_holes else None)
        self.job = Job(self.tale, self.sink, self.source, draw, setting.interval_s)
        self.guest_checkpoint = 0
        """The newest one of another job on the table; 0: there is none."""
        self.others_wrote = False
        """Whether another engine changed rows of the table."""
        self.has_guest = False
        self.half: Half | None = None
        """Once the job was split."""

    def _sink(self) -> Sink:
        if self.setting.sink == "V1":
            return V1Sink(self.table, commits_empty_after=self.setting.commits_empty_after)
        never = self.setting.sink == "dynamic"
        return V2Sink(self.table, commits_empty_after=None if never else self.setting.commits_empty_after)

    @property
    def stand(self) -> Stand:
        """Up to where the readers of all partitions have read."""
        apart = self.half
        if apart is None:
            return self.job.position
        return tuple(apart.position[each] if each in apart.read else at for each, at in enumerate(self.job.position))

    @property
    def head(self) -> SnapshotId:
        assert self.tale.head is not None
        return self.tale.head
