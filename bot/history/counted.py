"""P1, *exact*: up to one snapshot, rows were counted, and each source position of the window is there once.

Evidence is of a snapshot, and a snapshot never changes: it does not grow old. What came above it is another question
(`proof`).
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from bot.history.case import Case
from bot.history.other_jobs import OtherJobs, began_from, writer_of
from bot.history.source_records import may_be_deleted
from bot.history.staleness import is_just_given
from bot.observation.contract import why_by_key
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import LeakedManifest, PositionGap
from bot.observation.flink import CLOCKS_DIFFER, CheckpointKind, JobRun
from bot.observation.ids import SnapshotId
from bot.observation.ledger import LedgerRow
from bot.observation.table import Snapshot

COUNTS = ("missing_positions", "duplicate_rows", "duplicate_commits")
"""The tasks that count rows by position, by key, and by commit; in the order in which they are best collected."""
_FOUND = {
    "duplicate_rows": "duplicates",
    "missing_positions": "gaps",
    "duplicate_commits": "duplicate_commits",
    "ledger": "ledger",
}
"""Task -> field of the case that keeps what it found."""


class Span(NamedTuple):
    """Positions that one commit brought of one source partition; both ends inclusive."""

    partition: str | None
    low: int
    high: int
    commit: SnapshotId
    rows: int | None = None
    """How many have a position in it; None: only its ends are known."""

    @property
    def has_holes(self) -> bool:
        """Whether some position in it has no row."""
        return self.rows is not None and self.rows < self.high - self.low + 1


class Seam(NamedTuple):
    """Positions without a row between what two commits brought of one source partition."""

    gap: PositionGap
    below: Snapshot
    above: Snapshot


class Counted:
    """What evidence has counted of main, and up to which snapshot."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._table = case.observation.table

    @cached_property
    def not_answered(self) -> tuple[str, ...]:
        """Tasks without a whole answer of main as it is: they have not run, looked at what main has lost since, at a
        shorter window, or before `missing_positions` did, by which the highest position is known."""
        open_still = tuple(task for task in self._tasks if not self.answers(task))
        if open_still or not self._has_positions:
            return open_still
        lowest = self._table.place_of(self._head_of("missing_positions"))
        return tuple(task for task in _FOUND if self._table.place_of(self._head_of(task)) < lowest)

    @property
    def _has_positions(self) -> bool:
        return self._case.contract.position is not None

    @property
    def _tasks(self) -> tuple[str, ...]:
        return tuple(task for task in _FOUND if self._has_positions or task != "missing_positions")

    @cached_property
    def until(self) -> SnapshotId | None:
        """The newest snapshot up to which all of them looked."""
        ends = {self._head_of(task) for task in self._tasks} | {
            e.window.until for task in self._tasks if (e := self._latest(task)) is not None
        }
        on_main = [end for end in ends if end is not None and end in self._table.chain_ids]
        return min(on_main, key=self._table.place_of, default=self._table.head)

    @cached_property
    def place(self) -> int:
        """Of `until`, as `TableState.place_of` has it."""
        return self._table.place_of(self.until)

    def has(self, commit: Snapshot) -> bool:
        """Whether its rows were counted."""
        return self._table.place_of(commit.snapshot_id) <= self.place

    @cached_property
    def tops(self) -> dict[str | None, int]:
        """Source partition -> the highest position that lives there by then, whether or not the commit that brought it
        is still listed; empty: not known."""
        found: dict[str | None, int] = {}
        for span in self.spans:
            if self._table.place_of(span.commit) <= self.place and span.commit not in self.of_declared:
                found[span.partition] = max(span.high, found.get(span.partition, span.high))
        gaps = self._case.gaps
        if gaps is None or self.of_declared:
            return found
        live = gaps.tops if self._case.contract.position_partition is not None else {None: gaps.highest}
        for partition, top in live.items():
            if top is not None:
                found[partition] = max(top, found.get(partition, top))
        is_lower = gaps.highest is not None and max(found.values(), default=gaps.highest) < gaps.highest
        return {} if is_lower else found

    # ------------------------------------------------------------------ positions that are not dense

    @property
    def is_dense(self) -> bool:
        """Whether each position has a record: as the contract says, else as evidence has found."""
        said, gaps = self._case.contract.position_is_dense, self._case.gaps
        return said if said is not None else gaps is None or gaps.is_dense

    @property
    def why_not_dense(self) -> str:
        """A sentence, where they are not."""
        if self._case.contract.position_is_dense is not None:
            return "The contract says that positions are not dense."
        if self._case.observation.is_compacted:
            return "Kafka compacts the topic, so its offsets are not dense."
        return "Commits from before the incident have positions without a row, too."

    @cached_property
    def seams(self) -> tuple[Seam, ...] | None:
        """The holes of `is_untold` gaps, each with the commits beside it; None: these are not known of all."""
        gaps, by_id = self._case.gaps, self._table.by_id
        inside = {commit.snapshot_id for commit in self._brought_in_window}
        if gaps is None or not self._are_all_known:
            return None
        found: list[Seam] = []
        reached: dict[str | None, Span] = {}
        for span in sorted(self.spans, key=lambda span: (span.partition or "", span.low, span.high)):
            below = reached.get(span.partition)
            if below is not None and span.low > below.high + 1 and not inside.isdisjoint((below.commit, span.commit)):
                gap = PositionGap(partition=span.partition, first=below.high + 1, last=span.low - 1)
                found.append(Seam(gap, by_id[below.commit], by_id[span.commit]))
            if below is None or span.high > below.high:
                reached[span.partition] = span
        return tuple(found) if sum(seam.gap.size for seam in found) == gaps.missing else None

    @property
    def torn(self) -> tuple[PositionGap, ...]:
        """Of positions that are not dense, what the window's commits brought with holes in it, from end to end."""
        if self.is_dense or self._is_by_key:
            return ()
        spans = (span for commit in self._brought_in_window for span in self._by_commit.get(commit.snapshot_id, ()))
        return tuple(PositionGap(first=s.low, last=s.high, partition=s.partition) for s in spans if s.has_holes)

    def is_one_start(self, one: Snapshot, other: Snapshot) -> bool:
        """Whether one start of one run surely made both: a writer gets its id when it starts. Or Flink shows the run's
        newest start, and that came before both."""
        if one.job_id is None or (one.job_id, one.operator_id) != (other.job_id, other.operator_id):
            return False
        ids = [{w.id for w in row.writers or ()} for each in (one, other) if (row := self.rows.get(each.snapshot_id))]
        if len(ids) == 2 and ids[0] & ids[1]:
            return True
        run = next((run for run in self._case.runs if run.job_id == one.job_id), None)
        if run is None or (run.restored is None and run.restored_count):
            return False
        began = run.restored.at if run.restored is not None else run.started_at
        return min(one.committed_at, other.committed_at) > began + CLOCKS_DIFFER

    def leaves_none_out(self, after: int, until: Snapshot) -> bool:
        """Whether main has each checkpoint of this commit's run and sink from above that id up to it, or none of the
        others can have a commit: Flink lists them as failed, or as a savepoint, whose rows come with the next."""
        sink = until.job_id, until.operator_id
        seen = {s.checkpoint_id for s in self._table.of_flink if (s.job_id, s.operator_id) == sink}
        for run in self._case.runs:
            if run.job_id == until.job_id and not run.may_lose_in_flight:
                without = (c for c in run.checkpoints if c.status == "FAILED" or c.kind is CheckpointKind.SAVEPOINT)
                seen |= {each.checkpoint_id for each in without}
        return after < (until.checkpoint_id or 0) and all(
            each in seen for each in range(after + 1, until.checkpoint_id or 0)
        )

    def _leaves_seams_alone(self, evidence: Evidence) -> bool:
        """Whether all that `missing_positions` leaves open is what lies between rows of two commits."""
        gaps = self._case.gaps
        is_untold = gaps is not None and gaps.is_untold and not self.is_dense
        return is_untold and len(evidence.could_not_look) == 1 and not self._is_by_key

    @property
    def _is_by_key(self) -> bool:
        return why_by_key(self._table.properties, self._brought_in_window) is not None

    @cached_property
    def between_jobs(self) -> tuple[PositionGap, ...]:
        """The gaps between what the job has brought and what another Flink job on the table has: while the job goes on
        it has not passed them, or they are of another source. All gaps are named, and all that was brought is known."""
        gaps, alive = self._case.gaps, any(not run.is_terminal for run in self._case.runs)
        if gaps is None or sum(gap.size for gap in gaps.gaps) != gaps.missing or not (alive and self._are_all_known):
            return ()
        own = [span for span in self.spans if span.commit not in self.of_others]
        others = [span for span in self.spans if span.commit in self.of_others]
        return tuple(gap for gap in gaps.gaps if _lies_between(gap, own, others))

    @cached_property
    def of_others(self) -> frozenset[SnapshotId]:
        """Commits whose positions are known and that another Flink job made."""
        other_jobs, by_id = OtherJobs(self._case), self._table.by_id
        return frozenset(each for each in self._by_commit if each in by_id and other_jobs.has(by_id[each]))

    @cached_property
    def of_declared(self) -> frozenset[SnapshotId]:
        """Those of jobs that `other_jobs` declares: they read sources of their own, unless they began from a state of a
        run that may be the job's."""
        others = self._case.observation.others
        runs = {run.job_id for run in others.values if not self._may_go_on(run)} if others is not None else set()
        return frozenset(each for each in self.of_others if self._table.by_id[each].job_id in runs)

    def _may_go_on(self, run: JobRun) -> bool:
        writer, other_jobs = writer_of(began_from(run)), OtherJobs(self._case)
        theirs = (s for s in self._table.of_flink if writer is not None and (s.job_id or "").startswith(writer))
        return any(not other_jobs.has(commit) for commit in theirs)

    @property
    def filled_by_declared(self) -> int | None:
        """How many positions between those that the job brought in the window only a declared job has, so that no gap
        shows that the job never brought them; None: not known."""
        if not self.of_declared:
            return 0
        inside = {commit.snapshot_id for commit in self._brought_in_window}
        own = [span for span in self.spans if span.commit in inside - self.of_others]
        if not self._are_all_known or any(span.rows is None for span in own):
            return None
        ends: dict[str | None, tuple[int, int]] = {}
        for span in own:
            low, high = ends.get(span.partition, (span.low, span.high))
            ends[span.partition] = min(low, span.low), max(high, span.high)
        return sum(high - low + 1 for low, high in ends.values()) - sum(span.rows or 0 for span in own)

    @property
    def _brought_in_window(self) -> Sequence[Snapshot]:
        commits = self._case.window.of(self._table)
        on_main = self._table.chain_ids
        return [s for s in commits if s.snapshot_id in on_main and s.adds_rows and s.operation != "replace"]

    @cached_property
    def _are_all_known(self) -> bool:
        """Whether it is known of each of the window's commits which positions it brought."""
        return all(commit.snapshot_id in self._by_commit for commit in self._brought_in_window)

    def reached_by(self, commits: Iterable[Snapshot]) -> dict[str | None, int]:
        """Source partition -> the highest position that these commits brought, as far as it is known of them."""
        found: dict[str | None, int] = {}
        for span in (span for commit in commits for span in self._by_commit.get(commit.snapshot_id, ())):
            found[span.partition] = max(span.high, found.get(span.partition, span.high))
        return found

    def spans_of(self, commit: Snapshot) -> Sequence[Span] | None:
        """What it brought; None: not known."""
        return self._by_commit.get(commit.snapshot_id)

    @property
    def is_ledger_old(self) -> bool:
        """Whether the ledger was read longer ago than a moment, so that another look may list more."""
        latest = self._latest("ledger")
        return latest is not None and not is_just_given(latest, self._table.read_at)

    @property
    def spans(self) -> Sequence[Span]:
        """What commits on main brought, as far as it is known; compactions bring nothing."""
        return tuple(span for told in self._by_commit.values() for span in told)

    @cached_property
    def _by_commit(self) -> dict[SnapshotId, tuple[Span, ...]]:
        """Exact ranges where evidence has them; else the bounds of all files of a commit, of a source without
        partitions. Commits of which neither is known are left out."""
        found: dict[SnapshotId, tuple[Span, ...]] = {}
        is_partitioned = self._case.contract.position_partition is not None
        for row in self.rows.values():
            spans = row.positions(is_partitioned=is_partitioned)
            if row.operation != "replace" and row.added_rows and spans is not None:
                of_row = (Span(r.partition, r.low, r.high, row.snapshot_id, r.rows) for r in spans)
                found[row.snapshot_id] = tuple(of_row)
        compared = self._case.duplicate_commits.ranges if self._case.duplicate_commits is not None else None
        for told in compared or ():
            commit = self._table.by_id.get(told.snapshot_id)
            if told.ranges is None or commit is None or commit.snapshot_id not in self._table.chain_ids:
                continue
            if commit.operation != "replace":
                exact = (Span(r.partition, r.low, r.high, commit.snapshot_id, r.rows) for r in told.ranges)
                found[commit.snapshot_id] = tuple(exact)
        return found

    def has_come_to(self, leak: LeakedManifest) -> bool:
        """Whether main has come as far as the rows of a Flink manifest: they are there, or some are missing. Where its
        positions are not known, by a later checkpoint of its sink that brought rows."""
        if leak.ranges is not None:
            return all(each.high <= self.tops.get(each.partition, each.high - 1) for each in leak.ranges)
        top, until = self.tops.get(None), leak.position_until
        if self._case.contract.position_partition is not None or top is None:
            return False
        of_sink = (s for s in self._table.of_flink if (s.job_id, s.operator_id) == (leak.job_id, leak.operator_id))
        later = (s for s in of_sink if (s.checkpoint_id or 0) > leak.checkpoint_id and s.adds_rows and self.has(s))
        return until <= top if until is not None else any(later)

    @cached_property
    def unknown_beginning(self) -> Span | None:
        """The first rows of a source partition where nothing tells whether its source left out rows below them: they
        lie above position 0 and came later than the job's first, and no state of before stands there. None also where
        main has commits below the window, or below all that are listed: `missing_positions` looks at these."""
        contract, root = self._case.contract, self._table.chain[-1] if self._table.chain else None
        is_young = root is not None and not root.has_commit_below and self._case.window.since is None
        if contract.position_partition is None or not is_young:
            return None
        other_jobs, lowest = OtherJobs(self._case), dict[str | None, Span]()
        brought = (s for s in self._table.of_flink if s.adds_rows and not other_jobs.has(s))
        first = next((self._table.place_of(commit.snapshot_id) for commit in brought), -1)
        for span in sorted(self.spans, key=lambda span: span.low):
            lowest.setdefault(span.partition, span)
        late = (s for s in lowest.values() if s.low and self._table.place_of(s.commit) > first)
        return next((span for span in late if not self._began_at(span)), None)

    def _began_at(self, span: Span) -> bool:
        """Whether a state from before the commit goes on with this position, or the broker still has all of a partition
        whose positions are not dense; without a broker that does not show."""
        if not self.is_dense:
            below = PositionGap(first=0, last=span.low - 1, partition=span.partition)
            return may_be_deleted(self._case.observation.kafka, below) is None
        made = self._table.by_id[span.commit]
        points = (p for p in self._case.observation.checkpoints.values if p.written_at < made.committed_at)
        stands = {(str(at.partition), at.following) for point in points for at in point.source_positions}
        return (span.partition, span.low) in stands

    @property
    def ends(self) -> dict[str | None, tuple[int, int]]:
        """Source partition -> the lowest and the highest position that main's commits brought, as far as is known."""
        found: dict[str | None, tuple[int, int]] = {}
        for span in self.spans:
            low, high = found.get(span.partition, (span.low, span.high))
            found[span.partition] = (min(low, span.low), max(high, span.high))
        return found

    @cached_property
    def rows(self) -> dict[SnapshotId, LedgerRow]:
        """The ledger's rows on main."""
        return {row.snapshot_id: row for row in (self._case.ledger.main if self._case.ledger is not None else ())}

    @cached_property
    def overlap(self) -> tuple[Span, Span] | None:
        """Two commits of which one brought positions of the other; None: no two did, as far as is known."""
        ordered = sorted(self.spans, key=lambda span: (span.partition or "", span.low, span.high))
        return next(((a, b) for a, b in pairwise(ordered) if a.partition == b.partition and b.low <= a.high), None)

    def looked_at(self, task: str, commit: SnapshotId) -> bool:
        """Whether the task's newest answer is whole, and of main with this commit."""
        evidence = self._latest(task)
        if evidence is None:
            return True
        is_whole = evidence.verdict is not Verdict.INCONCLUSIVE and evidence.head in self._table.chain_ids
        return is_whole and self._table.place_of(evidence.head) >= self._table.place_of(commit)

    def _latest(self, task: str) -> Evidence | None:
        return next((each for each in reversed(self._case.evidence) if each.task == task), None)

    def _head_of(self, task: str) -> SnapshotId | None:
        """Of an answer of which nothing tells when it was given, main's head."""
        latest = self._latest(task)
        return latest.head if latest is not None else self._table.head

    def answers(self, task: str) -> bool:
        """Whether the task's newest answer is whole, and of main as it is, over the window."""
        if getattr(self._case, _FOUND[task]) is None:
            return False
        evidence, on_main = self._latest(task), self._table.chain_ids
        if task == "ledger" and not self.rows.keys() <= on_main:
            return False
        if evidence is None:
            return True
        is_open = evidence.verdict is Verdict.INCONCLUSIVE and task != "ledger"
        is_open = is_open and not (task == "missing_positions" and self._leaves_seams_alone(evidence))
        if is_open or (evidence.head is not None and evidence.head not in on_main):
            return False
        since, wanted = evidence.window.since, self._case.window.since
        if since is None or since == wanted:
            return True
        return since in {each.snapshot_id for each in self._table.ancestors(wanted)}


def _lies_between(gap: PositionGap, own: Iterable[Span], others: Iterable[Span]) -> bool:
    """Whether one job has brought nothing on one side of the gap, and the other nothing on the other side."""
    mine = [span for span in own if span.partition == gap.partition]
    theirs = [span for span in others if span.partition == gap.partition]
    for lower, upper in ((mine, theirs), (theirs, mine)):
        is_apart = not any(span.low > gap.last for span in lower) and not any(span.high < gap.first for span in upper)
        if lower and upper and is_apart:
            return True
    return False
