"""The table of a history: which source positions each commit brought or took, and what is live at any of them."""

from datetime import datetime, timedelta

from bot.observation.ids import OperatorId, SnapshotId
from bot.observation.table import HeadMove, Snapshot
from tests.cases import OPERATOR, Tale, job_id
from tests.diagnosis.histories.source import STRIDE

File = tuple[str, int]
"""The id of the writer that made a data file, and its running number there."""
_TOO_LONG = timedelta(seconds=8)
"""A tale's commit takes ten seconds; here it takes two."""


class Table:
    """Main of one table. `live` is the truth, whatever the metadata still lists."""

    def __init__(self, tale: Tale, keys: int = 0) -> None:
        self.tale, self.keys = tale, keys
        self.holds: dict[SnapshotId, tuple[int, ...]] = {}
        """Commit -> source positions that it brought; of other jobs, none."""
        self.takes: dict[SnapshotId, frozenset[int]] = {}
        self.parents: dict[SnapshotId, SnapshotId | None] = {}
        """Also of commits that have expired."""
        self.commits: list[Snapshot] = []
        """All that were ever made, oldest first."""
        self.files: dict[SnapshotId, tuple[File, ...]] = {}
        """Commit -> the files that it added, as far as Flink's sinks wrote them."""
        self.by_key = set[SnapshotId]()
        """The commits that delete by key what each of their rows replaces."""
        self.orphans: list[datetime] = []
        """When each data file was written that no commit and no manifest names."""

    # ------------------------------------------------------------------ what is there

    @property
    def chain(self) -> list[Snapshot]:
        """What the metadata lists of main, oldest first."""
        listed = {s.snapshot_id: s for s in self.tale.snapshots}
        found, at = list[Snapshot](), self.tale.head
        while at is not None and at in listed:
            found.append(listed[at])
            at = listed[at].parent_id
        return found[::-1]

    def live_by_commit(self, until: SnapshotId | None) -> list[tuple[int, SnapshotId]]:
        """Each live row's position, and the commit that brought it, as main is or was at this commit."""
        line, at = list[SnapshotId](), until
        while at is not None:
            line.append(at)
            at = self.parents[at]
        rows = list[tuple[int, SnapshotId]]()
        for commit in reversed(line):
            rows = [row for row in rows if row[0] not in self.takes[commit]]
            held = self.holds[commit]
            if commit in self.by_key:
                newest = {self.key_of(position): position for position in held}
                rows = [row for row in rows if self.key_of(row[0]) not in newest]
                held = tuple(newest.values())
            rows += [(position, commit) for position in held]
        return rows

    def key_of(self, position: int) -> int:
        """The key of the row: in a table that is written by key the same for every so many offsets of a partition."""
        partition, offset = divmod(position, STRIDE)
        return partition * STRIDE + offset % self.keys if self.keys else position

    def live(self, until: SnapshotId | None) -> list[int]:
        """The position of each live row at this commit."""
        return [position for position, _ in self.live_by_commit(until)]

    @property
    def live_now(self) -> list[int]:
        """The position of each live row of main."""
        return self.live(self.tale.head)

    def committed_by(self, run: str, sink: OperatorId = OPERATOR) -> int:
        """What a sink finds as the highest committed checkpoint of a run: its newest commit on main that is still
        listed (facts 1.5); -1 without one."""
        mine = [s for s in self.chain if s.job_id == job_id(run) and s.operator_id == sink]
        return mine[-1].checkpoint_id or -1 if mine else -1

    # ------------------------------------------------------------------ commits

    def adds(
        self,
        run: str,
        checkpoint: int,
        rows: tuple[int, ...],
        *,
        sink: OperatorId = OPERATOR,
        files: tuple[File, ...] = (),
    ) -> None:
        """A Flink job's commit to main."""
        self.tale.now -= _TOO_LONG
        is_by_key = bool(self.keys and rows)
        self.tale.commits(run, checkpoint, rows=len(rows), operation="overwrite" if is_by_key else "append")
        self.tale.by_sink(sink)
        deletes = {"added-equality-deletes": f"{len(rows)}", "added-delete-files": "1"} if is_by_key else {}
        made = self._is_made(rows, frozenset(), {"engine-name": "flink", **deletes}, counts_rows=bool(rows))
        self.files[made] = files
        if is_by_key:
            self.by_key.add(made)

    def is_changed(
        self,
        operation: str,
        rows: tuple[int, ...] = (),
        *,
        takes: frozenset[int] = frozenset(),
        told: dict[str, str] | None = None,
        staged: bool = False,
    ) -> SnapshotId:
        """Another engine's commit to main, or beside it; `told` are further words of its summary."""
        self.tale.now -= _TOO_LONG
        made = self.tale.stages if staged else self.tale.commits
        made(None, 0, operation=operation)
        taken = {"deleted-records": str(len(takes)), "deleted-data-files": "1"} if takes else {}
        counted = {"added-records": str(len(rows)), "added-data-files": "1"} if rows else {}
        return self._is_made(rows, takes, counted | taken | (told or {}), counts_rows=True)

    def _is_made(
        self, rows: tuple[int, ...], takes: frozenset[int], told: dict[str, str], *, counts_rows: bool
    ) -> SnapshotId:
        made = self.tale.snapshots[-1]
        before = next((s for s in self.commits if s.snapshot_id == made.parent_id), None)
        live = 0 if before is None else before.counted("total-records")
        files = 0 if before is None else before.counted("total-data-files")
        summary = {key: word for key, word in made.summary.items() if counts_rows or not key.startswith("added-")}
        added = int((summary | told).get("added-records", "0"))
        summary["total-records"] = str(live + added - len(takes))
        summary["total-data-files"] = str(files + (1 if added else 0))
        summary["total-delete-files"] = "0"
        if self.keys:
            for what in ("equality-deletes", "delete-files"):
                so_far = 0 if before is None else before.counted(f"total-{what}")
                summary[f"total-{what}"] = str(so_far + int(told.get(f"added-{what}", "0")))
            summary["total-position-deletes"] = "0"
        self.tale.snapshots[-1] = made = made.model_copy(update={"summary": summary | told})
        self.commits.append(made)
        self.holds[made.snapshot_id], self.takes[made.snapshot_id] = rows, takes
        self.parents[made.snapshot_id] = made.parent_id
        return made.snapshot_id

    # ------------------------------------------------------------------ main and maintenance

    def is_set_to(self, snapshot: SnapshotId) -> None:
        """Main goes to a commit that is listed."""
        self.tale.head = snapshot
        self.tale.moves.append(HeadMove(at=self.tale.now, snapshot_id=snapshot))

    def is_compacted(self) -> None:
        """All files become one; no row changes."""
        newest = self.commits[-1] if self.tale.head is None else self._of(self.tale.head)
        rows = newest.counted("total-records")
        kept = rows - self._dead
        counts = {"added-records": kept, "deleted-records": rows, "total-records": kept}
        files = {"added-data-files": 1, "deleted-data-files": newest.counted("total-data-files"), "total-data-files": 1}
        self.is_changed("replace", told={key: str(number) for key, number in (counts | files).items()})

    @property
    def _dead(self) -> int:
        """Rows that newer ones of their key replaced since the newest compaction."""
        line, at = list[SnapshotId](), self.tale.head
        while at is not None and self._of(at).operation != "replace":
            line.append(at)
            at = self.parents[at]
        before = len(self.live(at))
        brought = sum(len(self.holds[each]) - len(self.takes[each]) for each in line)
        return before + brought - len(self.live_now) if self.keys else 0

    def expires_but(self, number: int) -> None:
        """Of main the newest so many snapshots stay, and of all else what a branch or tag names; main's log keeps what
        follows the last snapshot that has gone, as Iceberg does it."""
        kept = {s.snapshot_id for s in self.chain[-number:]} | {ref.snapshot_id for ref in self.tale.refs}
        self.tale.snapshots = [s for s in self.tale.snapshots if s.snapshot_id in kept]
        followed = list[HeadMove]()
        for move in self.tale.moves:
            followed = [*followed, move] if move.snapshot_id in kept else []
        self.tale.moves = followed

    def leaves_orphan(self) -> None:
        """A data file comes to storage that nothing names."""
        self.orphans.append(self.tale.now)

    def _of(self, snapshot: SnapshotId) -> Snapshot:
        return next(s for s in self.commits if s.snapshot_id == snapshot)
