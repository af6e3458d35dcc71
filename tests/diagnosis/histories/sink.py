"""How Flink's two Iceberg sinks commit what checkpoints wrote, and what they do at a restore."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from bot.observation.flink import FlinkManifest
from bot.observation.ids import DRAINED, CheckpointId, OperatorId
from tests.cases import OPERATOR, job_id
from tests.diagnosis.histories.table import File, Table

METADATA = "s3://lake/sales/orders/metadata"


class Written(NamedTuple):
    """What one checkpoint of a run wrote: the rows that its Flink manifest lists."""

    run: str
    checkpoint: int
    rows: tuple[int, ...]
    at: datetime
    operator: OperatorId = OPERATOR
    file: File = ("", 1)

    @property
    def manifest(self) -> str:
        return f"{job_id(self.run)}-{self.operator}-00000-0-{self.checkpoint}-00001.avro"

    def listed(self) -> FlinkManifest:
        """The manifest as a listing of the metadata folder shows it."""
        return FlinkManifest(
            path=f"{METADATA}/{self.manifest}",
            job_id=job_id(self.run),
            operator_id=self.operator,
            subtask=0,
            attempt=0,
            checkpoint_id=CheckpointId(self.checkpoint),
            number=1,
            bytes=4096,
            written_at=self.at,
        )


class Sink:
    """The committer of one run, and the Flink manifests of all runs on storage."""

    is_v1 = False
    operator = OPERATOR
    """By the uid of the sink."""

    def __init__(self, table: Table, *, commits_empty_after: int | None) -> None:
        self.table = table
        self.commits_empty_after = commits_empty_after
        """So many checkpoints without rows, one after the other, get a commit of their own; None: none ever does."""
        self.pending: tuple[Written, ...] = ()
        """What is written and not committed, oldest first: a checkpoint's state lists it."""
        self.manifests: dict[str, Written] = {}
        self.empty_ones = 0

    @property
    def never_commits(self) -> bool:
        """Whether it takes all that it writes for committed already."""
        return False

    def writes(self, written: Written) -> None:
        """A checkpoint's rows are in files, and the manifest that lists them is on storage."""
        self.leaves(written)
        self.pending = (*(each for each in self.pending if each.checkpoint != written.checkpoint), written)

    def leaves(self, written: Written) -> None:
        """A manifest comes to storage, whoever may know of it."""
        self.manifests[written.manifest] = written

    def starts_empty(self) -> None:
        """A run without state."""
        self.pending, self.empty_ones = (), 0

    def restores(self, run: str, pending: Sequence[Written]) -> Written | None:
        """Commits what the restored state (of a checkpoint of `run`) lists and main does not have. The answer is the
        first one whose manifest is no longer on storage: then the run cannot start."""
        raise NotImplementedError

    def commits(self, run: str, checkpoint: int) -> None:
        """Flink has completed a checkpoint of `run`: up to it, everything is committed."""
        raise NotImplementedError

    def _brings(self, run: str, checkpoint: int, these: Sequence[Written]) -> None:
        rows = tuple(row for each in these for row in each.rows)
        self.table.adds(run, checkpoint, rows, sink=self.operator, files=tuple(each.file for each in these))
        for each in these:
            self.manifests.pop(each.manifest, None)

    def _has_no_rows(self, run: str, checkpoint: int) -> None:
        self.empty_ones += 1
        if self.commits_empty_after is not None and self.empty_ones % self.commits_empty_after == 0:
            self.table.adds(run, checkpoint, (), sink=self.operator)

    def _first_missed(self, these: Sequence[Written]) -> Written | None:
        return next((each for each in these if each.manifest not in self.manifests), None)


class V1Sink(Sink):
    """`FlinkSink`: one commit for all that waits, and a maximum that is kept from the run before (facts 1.1)."""

    is_v1 = True
    maximum = -1

    @property
    def never_commits(self) -> bool:
        """After a drained commit (facts 0.6)."""
        return self.maximum == DRAINED

    def starts_empty(self) -> None:
        """Nothing is taken for committed then."""
        super().starts_empty()
        self.maximum = -1

    def restores(self, run: str, pending: Sequence[Written]) -> Written | None:
        """All in one commit under the old run's id; its maximum holds for the new run."""
        self.starts_empty()
        self.maximum = self.table.committed_by(run, self.operator)
        own = [each for each in pending if each.operator == self.operator]
        left = [each for each in own if each.checkpoint > self.maximum]
        if (missed := self._first_missed(left)) is not None:
            return missed
        if left:
            self._brings(run, left[-1].checkpoint, left)
            self.maximum = left[-1].checkpoint
        return None

    def commits(self, run: str, checkpoint: int) -> None:
        """A checkpoint at or below the maximum waits for a later one."""
        if checkpoint <= self.maximum:
            return
        these = [each for each in self.pending if each.checkpoint <= checkpoint]
        if these:
            self._brings(run, checkpoint, these)
            self.empty_ones = 0
        else:
            self._has_no_rows(run, checkpoint)
        self.maximum = checkpoint
        self.pending = tuple(each for each in self.pending if each.checkpoint > checkpoint)


class V2Sink(Sink):
    """`IcebergSink`: a commit for each checkpoint under the run that wrote it; what main seems to have is discarded,
    and its manifest stays behind (facts 1.2)."""

    def restores(self, run: str, pending: Sequence[Written]) -> Written | None:
        self.starts_empty()
        own = (written for written in pending if written.operator == self.operator)
        for each in sorted(own, key=lambda written: written.checkpoint):
            if each.checkpoint <= self.table.committed_by(each.run, self.operator):
                continue
            if self._first_missed([each]) is not None:
                return each
            self._brings(each.run, each.checkpoint, [each])
        return None

    def commits(self, run: str, checkpoint: int) -> None:
        """Main's newest commit of the same run decides, at each of them."""
        these = sorted((w for w in self.pending if w.checkpoint <= checkpoint), key=lambda w: w.checkpoint)
        self.pending = tuple(each for each in self.pending if each.checkpoint > checkpoint)
        for each in these:
            if each.checkpoint > self.table.committed_by(each.run, self.operator):
                self._brings(each.run, each.checkpoint, [each])
        if these:
            self.empty_ones = 0
        elif checkpoint > self.table.committed_by(run, self.operator):
            self._has_no_rows(run, checkpoint)
