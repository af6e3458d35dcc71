"""Commits of a table by the run that made them, looked up instead of searched: restore points are many, and so are
snapshots."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from bot.domain.flink import StoredCheckpoint
from bot.domain.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId
from bot.domain.table import Snapshot, TableState


class RunCommits:
    """Commits of one run, oldest first, each with a checkpoint id."""

    def __init__(self, commits: Sequence[Snapshot]) -> None:
        self._all = tuple(commits)
        self._by_checkpoint: dict[CheckpointId, list[Snapshot]] = {}
        for each in commits:
            if each.checkpoint_id is not None:
                self._by_checkpoint.setdefault(each.checkpoint_id, []).append(each)
        self._numbers = sorted(self._by_checkpoint.keys() - {DRAINED})

    def __bool__(self) -> bool:
        return bool(self._all)

    @property
    def is_drained(self) -> bool:
        """Whether one of them carries Long.MAX_VALUE."""
        return DRAINED in self._by_checkpoint

    @cached_property
    def lives(self) -> Mapping[SnapshotId, int]:
        """See `lives`."""
        return lives(self._all)

    def carrying(self, checkpoint: CheckpointId) -> Sequence[Snapshot]:
        """Those of this checkpoint, oldest first."""
        return self._by_checkpoint.get(checkpoint, ())

    def below(self, checkpoint: CheckpointId) -> CheckpointId | None:
        """The highest id below, without Long.MAX_VALUE."""
        place = bisect_left(self._numbers, checkpoint)
        return self._numbers[place - 1] if place else None

    def above(self, checkpoint: CheckpointId) -> CheckpointId | None:
        """The lowest id above, without Long.MAX_VALUE."""
        place = bisect_right(self._numbers, checkpoint)
        return self._numbers[place] if place < len(self._numbers) else None


class CommitsByRun:
    """Of one table; reads its snapshots once."""

    def __init__(self, table: TableState) -> None:
        self._of_run: dict[JobId, list[Snapshot]] = {}
        for each in table.snapshots:
            if each.job_id is not None and each.checkpoint_id is not None:
                self._of_run.setdefault(each.job_id, []).append(each)
        self._known: dict[tuple[JobId, frozenset[OperatorId]], RunCommits] = {}

    def of(self, stored: StoredCheckpoint) -> RunCommits:
        """Commits by the run that wrote `stored`.

        Where the restore point names operators that wrote this table too, only theirs count: one run may write one
        table by two sinks. A name that never committed says nothing (V2 keeps state under another id).
        """
        if stored.job_id is None:
            return RunCommits(())
        key = (stored.job_id, frozenset(stored.operator_ids))
        if key not in self._known:
            of_run = self._of_run.get(stored.job_id, [])
            named = key[1] & {each.operator_id for each in of_run}
            theirs = [s for s in of_run if not named or s.operator_id is None or s.operator_id in named]
            self._known[key] = RunCommits(theirs)
        return self._known[key]


def lives(commits: Iterable[Snapshot]) -> dict[SnapshotId, int]:
    """The life to which each commit of one run belongs, from 0 on. `commits`: oldest first.

    Under a job id that never changes (F14) a start without state counts from 1 again: wherever the ids fall, another
    life begins.
    """
    life, told, highest = 0, {}, 0
    for commit in commits:
        checkpoint = commit.checkpoint_id or 0
        life += checkpoint < highest
        told[commit.snapshot_id] = life
        highest = checkpoint
    return told
