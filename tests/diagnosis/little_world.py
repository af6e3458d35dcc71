"""A little model of a source, a job and a table, which knows for each commit the positions it holds.

It is the truth that failure modes and proposals are held against; `little_truth` counts what is lost or doubled. It
uses nothing of the code under test but the records.

What is lost or doubled in the little world, counted by positions along the chain.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from bot.observation.ids import JobId, OperatorId, SnapshotId
from bot.observation.table import HeadMove, Snapshot
from tests.cases import NOON, OPERATOR, Tale, job_id


class Truth:
    """Which positions each commit holds or takes off."""

    def __init__(self, tale: Tale) -> None:
        self.tale = tale
        self.position = 0
        """The next one that the job reads."""
        self.holds: dict[SnapshotId, tuple[int, ...]] = {}
        self.takes: dict[SnapshotId, frozenset[int]] = {}
        self.replaced: set[tuple[JobId, int]] = set()
        """The runs' positions on main before somebody replaced the table under them."""
        self.answers_for: JobId | None = None
        """The run whose rows alone count, because it had no state when the table was replaced."""

    def chain(self) -> list[Snapshot]:
        by_id = {s.snapshot_id: s for s in self.tale.snapshots}
        found, at = [], self.tale.head
        while at is not None and at in by_id:
            found.append(by_id[at])
            at = by_id[at].parent_id
        return found[::-1]

    def live(self, until: SnapshotId | None = None) -> list[int]:
        """Positions at the head, or at a commit on main, once for each live row."""
        rows: list[int] = []
        for commit in self.chain():
            rows = self._after(rows, commit)
            if commit.snapshot_id == until:
                break
        return rows

    def live_at(self, snapshot: SnapshotId) -> list[int]:
        """The same at any listed commit, on main or not."""
        rows: list[int] = []
        for commit in reversed(list(self.tale.table.ancestors(snapshot))):
            rows = self._after(rows, commit)
        return rows

    def _after(self, rows: Iterable[int], commit: Snapshot) -> list[int]:
        gone = self.takes.get(commit.snapshot_id, frozenset())
        return [*(each for each in rows if each not in gone), *self.holds.get(commit.snapshot_id, ())]

    def lost(self, finished: Iterable[int]) -> set[int]:
        """Positions up to the highest finished one that are not at the head, from the lowest live one on, and that
        the job will not read again."""
        live = set(self.live())
        until = min(max(finished, default=-1) + 1, self.position)
        return set(range(min(live, default=0), until)) - live

    def never_arrived(self, finished: Iterable[int]) -> set[int]:
        """Those of them that are not at the head, and that the job will not read again."""
        return {each for each in finished if each < self.position} - set(self.live())

    def taken_off(self) -> set[int]:
        """Positions that main had and has no more, as its history shows, and that the job will not read again."""
        once = {move.snapshot_id for move in self.tale.moves} & {s.snapshot_id for s in self.tale.snapshots}
        off = once - {s.snapshot_id for s in self.chain()}
        gone = {each for snapshot in off for each in self.holds.get(snapshot, ()) if each < self.position}
        return gone - set(self.live())

    def replaced_under_it(self) -> set[int]:
        """Positions that a replaced table had of the job, that are not at the head, and that are not read again."""
        mine = {each for run, each in self.replaced if self.answers_for in (run, None)}
        return {each for each in mine if each < self.position} - set(self.live())

    def doubled(self, until: SnapshotId | None) -> set[int]:
        """Positions in two live rows at this commit."""
        return {each for each, rows in Counter(self.live(until)).items() if rows > 1}


LISTED = 10
"""So many checkpoints Flink still lists."""
RUNS = "abcdef0123456789"
BEFORE_ITS_COMMIT = timedelta(seconds=2)
"""So long a file was closed by then."""


class Point(NamedTuple):
    """A completed checkpoint: where a restore would go on."""

    checkpoint: int
    position: int
    run: str = ""
    at: datetime = NOON
    pending: tuple[str, ...] = ()
    """Names of the Flink manifests that the sink's state lists then."""


class World(Truth):
    """Acts write down what happens; `live`, `lost` and `doubled` tell the truth."""

    def __init__(
        self, *, keeps_keys: bool = True, forgets: bool = False, deleted: int = 0, equality_deletes: int = 0
    ) -> None:
        super().__init__(Tale().flink_runs("a"))
        self.keeps_keys = keeps_keys
        self.forgets = forgets
        """Whether Flink tells of no manifest what became of it."""
        self.deleted = deleted
        """Rows that still stand in files, taken out long ago by as many position deletes, or by equality deletes."""
        self.equality_deletes = equality_deletes
        self.run = "a"
        self.started = 0
        """Runs before the present one, also those that Flink has forgotten."""
        self.operator = OPERATOR
        """Under which the sink commits; it follows from its uid."""
        self.checkpoint = 0
        self.points = [Point(0, 0)]
        self.pending: tuple[str, ...] = ()
        """What the run's sink has written and not committed."""
        self.wrote: dict[str, tuple[int, ...]] = {}
        """Name of a Flink manifest -> the positions that it holds."""
        self.files: dict[SnapshotId, tuple[str, ...]] = {}
        """Commit -> what it names besides a file of its own."""
        self.began: dict[str, Point | None] = {}
        """Run -> the point that it was started from."""
        self.reached: dict[SnapshotId, int] = {}
        """Commit of the job -> up to where it had read by then."""
        self.copies: dict[SnapshotId, SnapshotId] = {}
        self.finished: dict[int, datetime] = {}
        self.left: list[tuple[int, ...]] = []
        """What each Flink manifest of the tale holds."""
        self.erased_files = 0
        self.erased_at: datetime | None = None
        """When the newest of these files was written."""
        self.began_empty = True
        """Whether the run had no state at its start; then what older runs had on the table is none of its own."""
        self.writes_branch = False
        """Whether the job's newest commit went to another branch; see `little_silences`."""
        self.owed: dict[str, tuple[str, int, datetime]] = {}
        """Path of what a second sink should have committed -> its run, how often that was restored, when it was due."""

    # ------------------------------------------------------------------ what the job does

    def checkpoints(self, rows: Iterable[int], *, commits: bool = True) -> SnapshotId | None:
        """One checkpoint completes with these positions; without any it commits nothing."""
        held = tuple(rows)
        self.completes()
        self.finished |= dict.fromkeys(held, self.tale.now)
        if not held:
            return None
        self.pending = (*self.pending, self.manifest(self.checkpoint))
        self.wrote[self.pending[-1]] = held
        self.points[-1] = self.points[-1]._replace(pending=self.pending)
        if not commits:
            self.leaves(held)
            return None
        self.commits(self.checkpoint, rows=len(held))
        assert self.tale.head is not None
        self.holds[self.tale.head] = held
        self.pending = ()
        return self.tale.head

    def manifest(self, checkpoint: int) -> str:
        """The name of what the run's sink writes for a checkpoint."""
        return f"{job_id(self.run)}-{self.operator}-00000-0-{checkpoint}-00001.avro"

    def completes(self) -> None:
        """One checkpoint completes; what becomes of its rows is told by who calls this."""
        self.checkpoint += 1
        self.tale.completes(self.run, self.checkpoint)
        run = self.tale.runs[self.run]
        self.tale.runs[self.run] = run.model_copy(update={"checkpoints": run.checkpoints[:LISTED]})
        self.points.append(Point(self.checkpoint, self.position, self.run, self.tale.now, self.pending))

    def commits(self, checkpoint: int, rows: int) -> None:
        """The run's commit under the operator id that its sink has now."""
        self.tale.commits(self.run, checkpoint, rows=rows)
        self.writes_branch = False
        told = self.tale.snapshots[-1].summary | {"flink.operator-id": self.operator}
        self.tale.snapshots[-1] = self.tale.snapshots[-1].model_copy(update={"summary": told})
        self.reached[self.tale.snapshots[-1].snapshot_id] = self.position

    def reads(self, rows: int, *, twice: int = 0, commits: bool = True) -> SnapshotId | None:
        """The source gives the next rows, some of them twice."""
        held = [*range(self.position, self.position + rows), *range(self.position, self.position + min(twice, rows))]
        self.position += rows
        return self.checkpoints(held, commits=commits)

    def leaves(self, held: tuple[int, ...]) -> None:
        """The newest checkpoint's manifest stays on storage."""
        self.tale.leaves_manifest(self.run, self.checkpoint, operator=self.operator)
        self.left.append(held)
        self.wrote[self.manifest(self.checkpoint)] = held

    def fails_in_flight(self, rows: int) -> None:
        """The next checkpoint has written its manifest when the run fails; from the one before they are read again."""
        before, self.checkpoint = self.checkpoint, self.checkpoint + 1
        self.leaves(tuple(range(self.position, self.position + rows)))
        self.fails_over(to=before)

    def fails_over(self, to: int | None = None) -> None:
        """The run goes on from its newest checkpoint (`to`, where a newer one is not complete); Flink goes on listing
        what it listed."""
        listed = self.tale.runs[self.run].checkpoints
        self.tale.flink_runs(self.run, restored=self.checkpoint if to is None else to)
        self.tale.runs[self.run] = self.tale.runs[self.run].model_copy(update={"checkpoints": listed})

    def restarts(self, point: Point | None, *, position: int | None = None) -> None:
        """A new run, restored from this point, or without state from a position."""
        self.tale.becomes(self.run, "FINISHED")
        self.started += 1
        self.run = RUNS[self.started]
        self.tale.flink_runs(self.run, restored=None if point is None else point.checkpoint)
        self.checkpoint, self.position, *_ = point or Point(0, position or 0)
        self.began_empty = point is None
        self.began[self.run] = point
        self.pending = ()

    def goes_back_under_its_id(self, point: Point) -> None:
        """The run is started once more, from a point of its own, under the job id that it had."""
        self.tale.forgets(self.run).flink_runs(self.run, restored=point.checkpoint)
        self.checkpoint, self.position, *_ = point
        self.began[self.run], self.pending = point, ()

    def takes_another_uid(self) -> None:
        """The newest checkpoint is restored under another uid: what the sink still owed is not in its state."""
        self.operator = OperatorId(f"{self.started + 1:02x}" * 16)
        self.restarts(self.points[-1])

    def forgets_runs(self) -> None:
        """Flink lists runs that have ended for a while only."""
        for name in [name for name, run in self.tale.runs.items() if run.is_terminal]:
            self.tale.forgets(name)

    # ------------------------------------------------------------------ what others do

    def rolls_back_to(self, snapshot: SnapshotId) -> None:
        """Main goes back, or to another line."""
        self.tale.now += timedelta(seconds=10)
        self.tale.head = snapshot
        self.tale.moves.append(HeadMove(at=self.tale.now, snapshot_id=snapshot))

    def is_replaced(self) -> None:
        """As Iceberg before 1.8 does it: the log is cleared, what main had stays listed, and so do all other refs."""
        live = set(self.live())
        self.replaced |= {
            (s.job_id, each)
            for s in self.chain()
            if s.job_id
            for each in self.holds.get(s.snapshot_id, ())
            if each in live
        }
        run = self.tale.runs[self.run]
        self.answers_for = run.job_id if self.began_empty else None
        if self.began_empty:
            self.finished = {each: at for each, at in self.finished.items() if at >= run.started_at}
        self.tale.head = None
        self.tale.moves.clear()

    def expires_below_main(self) -> None:
        """Of what is older than main's first commit, maintenance leaves only what a branch or tag names."""
        kept = {ref.snapshot_id for ref in self.tale.refs}
        begins = self.chain()[0].sequence_number
        self.tale.snapshots = [s for s in self.tale.snapshots if s.sequence_number >= begins or s.snapshot_id in kept]

    def another_commits(self, operation: str, *, takes: Iterable[int] = (), adds: Iterable[int] = ()) -> None:
        gone, added, before = frozenset(takes), tuple(adds), self.live()
        self.tale.commits(None, rows=len(added), operation=operation)
        assert self.tale.head is not None
        self.holds[self.tale.head], self.takes[self.tale.head] = added, gone
        if operation == "replace":
            self._counts_compaction(len(before), len(gone), works_in=0, removes=False)

    def guest_commits(self, operation: str, checkpoint: int, *, takes: Iterable[int], by_own_sink: bool) -> None:
        """Another Flink job, which Flink does not list, adds rows of its own source, or takes rows off."""
        gone = frozenset(takes)
        self.tale.commits("z", checkpoint, operation=operation)
        assert self.tale.head is not None
        self.holds[self.tale.head], self.takes[self.tale.head] = (), gone
        if gone:
            self.tale.counts(deleted_records=len(gone), deleted_data_files=1)
        if by_own_sink:
            self.tale.by_sink(OperatorId("ee" * 16))

    def compacts(self, *, loses: Iterable[int] = (), works_in: int = 0, removes: bool = False) -> None:
        """A compaction that drops so many deleted rows too (`removes`: with their position deletes), or loses rows."""
        live = len(self.live())
        self.another_commits("replace", takes=loses)
        lost = live - len(self.live())
        self._counts_compaction(live, lost, works_in=min(works_in, self.deleted), removes=removes)

    def _counts_compaction(self, live: int, lost: int, *, works_in: int, removes: bool) -> None:
        """It tells how many rows it read and wrote, and how many deletes the table has after it."""
        removed = works_in if removes else 0
        counts = {
            "deleted-records": live + works_in,
            "added-records": live - lost,
            "removed-position-deletes": removed,
            "total-position-deletes": self.deleted - removed,
            "total-equality-deletes": self.equality_deletes,
        }
        said = {key: str(number) for key, number in counts.items()}
        self.tale.snapshots[-1] = self.tale.snapshots[-1].model_copy(update={"summary": said})

    def erases(self, snapshot: SnapshotId) -> None:
        """A commit goes from the metadata without a trace; its files stay on storage."""
        gone = next(s for s in self.tale.snapshots if s.snapshot_id == snapshot)
        self.tale.snapshots = [
            s.model_copy(update={"parent_id": gone.parent_id}) if s.parent_id == snapshot else s
            for s in self.tale.snapshots
            if s.snapshot_id != snapshot
        ]
        self.tale.moves = [m for m in self.tale.moves if m.snapshot_id != snapshot]
        self.erased_files += 1
        written = gone.committed_at - BEFORE_ITS_COMMIT
        self.erased_at = max(written, self.erased_at or written)
        if self.tale.head == snapshot:
            self.tale.head = gone.parent_id

    def repeats(self, snapshot: SnapshotId, *, checkpoint: int, same_files: bool) -> None:
        """The head gets once more what a commit holds, as the run's commit under this checkpoint id."""
        self.commits(checkpoint, rows=len(self.holds[snapshot]))
        assert self.tale.head is not None
        self.holds[self.tale.head] = self.holds[snapshot]
        if same_files:
            self.copies[self.tale.head] = snapshot

    def swaps(self, one: SnapshotId, other: SnapshotId) -> None:
        """Two commits change places on main: what they say and their rows are exchanged."""
        at = {s.snapshot_id: index for index, s in enumerate(self.tale.snapshots)}
        first, second = (self.tale.snapshots[at[each]] for each in (one, other))
        for place, to in ((one, second), (other, first)):
            told = {"summary": to.summary, "operation": to.operation}
            self.tale.snapshots[at[place]] = self.tale.snapshots[at[place]].model_copy(update=told)
        if first.job_id == job_id(self.run):
            self.writes_branch = False  # its commit to main seems to be the newer one now
        self.holds[one], self.holds[other] = self.holds.get(other, ()), self.holds.get(one, ())
        none: frozenset[int] = frozenset()
        self.takes[one], self.takes[other] = self.takes.get(other, none), self.takes.get(one, none)
