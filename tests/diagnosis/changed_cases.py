"""Kept cases of real runs, changed: commits dropped, repeated, exchanged, sources taken away; and what is true then.

A commit holds the source positions that the ledger of the real case tells. What evidence would find of them is
counted here with loops of its own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

import spark_tasks
from bot.adapters.saved_case import read_case
from bot.diagnosis._support.asked import _FIELDS as FIELDS
from bot.evidence import find_tasks
from bot.history.case import Case
from bot.observation.contract import why_by_key
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import DuplicatesFinding, GapsFinding
from bot.observation.ids import CheckpointId, SnapshotId
from bot.observation.looked import NotSeen
from bot.observation.table import HeadMove, Snapshot, TableState
from tests.found import ledger_of
from tests.matrix.asking import CASES, name_of
from tests.matrix.told import kept

NAMES = tuple(sorted(name_of(path) for path in CASES.glob("*.json.gz")))
_WRONG = re.compile(r"[1-9]\d* (duplicates|missing|rows too many)|cannot be read")
_AFTER = timedelta(seconds=1)
_ON_ITS_WAY = timedelta(seconds=10)
"""So long, or two intervals, a completed checkpoint may wait for its commit."""
TASKS = {name: found.task for name, found in find_tasks(spark_tasks).items()}


@cache
def case_named(name: str) -> Case:
    """What the bot had seen and found in a real run."""
    return read_case(CASES / f"{name}.json.gz").case


def is_wrong(name: str) -> bool:
    """Whether rows of the real table were lost or doubled: counted by the lab, from outside the bot."""
    return _WRONG.search(kept()[name].proof) is not None


# ---------------------------------------------------------------------- sources


def without_source(case: Case, source: str) -> Case:
    """The source is down: what is said of it is that it could not be looked at, and every task that needs it gives no
    answer."""
    down = NotSeen(source=source, reason="It did not answer.", remedy="Ask again.")
    blind = [task for task, told in TASKS.items() if source in told.needs]
    observation = case.observation.model_copy(update={source: down})
    return without_answers(case.model_copy(update={"observation": observation}), blind)


def without_answers(case: Case, tasks: Iterable[str]) -> Case:
    """These tasks ran and could not answer."""
    open_ones = set(tasks)
    evidence = tuple(_inconclusive(each) if each.task in open_ones else each for each in case.evidence)
    fields = {FIELDS[task]: None for task in open_ones if task in FIELDS}
    return case.model_copy(update={**fields, "evidence": evidence})


def _inconclusive(evidence: Evidence) -> Evidence:
    fields = {"verdict": Verdict.INCONCLUSIVE, "finding": None, "headline": "It could not be told."}
    return evidence.model_copy(update=fields)


# ---------------------------------------------------------------------- commits


def _one_after_another(case: Case, told: Mapping[SnapshotId, range]) -> dict[SnapshotId, range]:
    """As if the source had one partition: bounds of several are of all of them together, and those of commits overlap.
    Each commit has as many positions as rows. Only where no row was lost or doubled: else the gaps would go."""
    rows = {row.snapshot_id: row.added_rows or 0 for row in (case.ledger.rows if case.ledger else ())}
    apart, begin = dict[SnapshotId, range](), 0
    for snapshot in sorted(told, key=lambda each: case.observation.table.by_id[each].sequence_number):
        apart[snapshot] = range(begin, begin := begin + rows[snapshot])
    return apart


@dataclass(frozen=True)
class Changed:
    """A case whose table was changed by hand, and the positions that each commit of the job on main holds."""

    case: Case
    holds: Mapping[SnapshotId, range]
    was: frozenset[int]
    """Every position that the real table held, those apart that a commit of the last moments brought: Flink may seem
    not to have committed these yet."""
    edge: int | None
    """The highest position below the window; None where the window begins with the table."""

    @classmethod
    def of(cls, name: str) -> "Changed":
        case = case_named(name)
        told = {
            row.snapshot_id: range(row.position_from, row.position_until + 1)
            for row in (case.ledger.rows if case.ledger else ())
            if row.position_from is not None and row.position_until is not None and row.job_id is not None
        }
        if case.contract.position_partition is not None and not is_wrong(name):
            told = _one_after_another(case, told)
        table, lowest = case.observation.table, min((held.start for held in told.values()), default=0)
        settled = table.read_at - max((2 * _interval(case), _ON_ITS_WAY))
        held = (told[s.snapshot_id] for s in table.chain if s.snapshot_id in told and s.committed_at <= settled)
        was = frozenset(each for places in held for each in places)
        return cls(case, told, was, None if case.window.since is None else lowest - 1)

    @property
    def table(self) -> TableState:
        """As it is now."""
        return self.case.observation.table

    @property
    def is_by_key(self) -> bool:
        """Whether a newer row of a key replaces the older."""
        return why_by_key(self.table.properties, self.case.window.of(self.table)) is not None

    @property
    def commits(self) -> Sequence[Snapshot]:
        """Those on main that hold positions, oldest first."""
        return [each for each in reversed(self.table.chain) if each.snapshot_id in self.holds]

    def live(self, until: SnapshotId | None) -> Counter[int]:
        """Position -> live rows, at the head or at a commit on main."""
        ids = [each.snapshot_id for each in self.table.ancestors(until or self.table.head)]
        below = () if self.edge is None else (self.edge,)
        return Counter((*below, *(each for snapshot in ids for each in self.holds.get(snapshot, ()))))

    def lost(self) -> set[int]:
        """Positions that the real table held and this one does not, from its lowest one on."""
        live = self.live(None)
        return {each for each in self.was if each not in live and each > min(live, default=0)}

    def doubled(self, until: SnapshotId | None) -> set[int]:
        """Positions in more than one live row at this commit; none where a newer row replaces an older."""
        if self.is_by_key:
            return set()
        return {each for each, rows in self.live(until).items() if rows > 1}

    # ------------------------------------------------------------------ changes

    def dropped(self, place: int) -> "Changed":
        """A commit goes from the metadata without a trace."""
        gone = self.commits[place]
        left = [
            each.model_copy(update={"parent_id": gone.parent_id}) if each.parent_id == gone.snapshot_id else each
            for each in self.table.snapshots
            if each.snapshot_id != gone.snapshot_id
        ]
        head = gone.parent_id if self.table.head == gone.snapshot_id else self.table.head
        moves = tuple(move for move in self.table.head_moves if move.snapshot_id != gone.snapshot_id)
        return self._with(snapshots=tuple(left), head=head, head_moves=moves)

    def cut_off(self, newest: int) -> "Changed":
        """So many of the newest commits go without a trace."""
        left = self
        for _ in range(newest):
            left = left.dropped(len(left.commits) - 1)
        return left

    def repeated(self, place: int, *, as_next: bool) -> "Changed":
        """The head gets once more what a commit holds, under the same checkpoint id or the next one."""
        again, head = self.commits[place], self.table.by_id[self.table.chain[0].snapshot_id]
        at, number = head.committed_at + _AFTER, head.sequence_number + 1
        highest = max(each.checkpoint_id or 0 for each in self.commits)
        copy = again.model_copy(
            update={
                "snapshot_id": SnapshotId(number),
                "parent_id": head.snapshot_id,
                "sequence_number": number,
                "committed_at": at,
                "summary": _numbered(again, highest + 1) if as_next else again.summary,
            }
        )
        moves = (*self.table.head_moves, HeadMove(at=at, snapshot_id=copy.snapshot_id))
        changed = self._with(snapshots=(*self.table.snapshots, copy), head=copy.snapshot_id, head_moves=moves)
        return replace(changed, holds={**changed.holds, copy.snapshot_id: self.holds[again.snapshot_id]})

    def exchanged(self, place: int) -> "Changed":
        """A commit and the newest one change places: their summaries and rows."""
        one, other = self.commits[place], self.commits[-1]
        told = {one.snapshot_id: other.summary, other.snapshot_id: one.summary}
        snapshots = tuple(
            each.model_copy(update={"summary": told.get(each.snapshot_id, each.summary)})
            for each in self.table.snapshots
        )
        holds = {
            **self.holds,
            one.snapshot_id: self.holds[other.snapshot_id],
            other.snapshot_id: self.holds[one.snapshot_id],
        }
        return replace(self._with(snapshots=snapshots), holds=holds)

    def _with(self, **fields: Any) -> "Changed":
        table = self.table.model_copy(update=fields)
        table = TableState.model_validate({name: getattr(table, name) for name in TableState.model_fields})
        observation = self.case.observation.model_copy(update={"table": table})
        return replace(self, case=self.case.model_copy(update={"observation": observation}))

    # ------------------------------------------------------------------ evidence

    def looked_at_anew(self) -> Case:
        """The case with the evidence that a look would give now."""
        head = self.table.head
        assert head is not None
        window = self.case.window.model_copy(update={"until": head})
        fields: dict[str, Any] = {
            "window": window,
            "ledger": ledger_of(self.table, window),
            "gaps": self._gaps(),
            "duplicates": self._duplicates(),
            "evidence": tuple(
                each.model_copy(update={"head": head, "window": window, "at": self.table.read_at})
                for each in self.case.evidence
            ),
        }
        if self.case.orphans is not None:
            gone = sum(1 for each in self.holds if each not in self.table.by_id)
            fields["orphans"] = self.case.orphans.model_copy(update={"orphans": self.case.orphans.orphans + gone})
        return self.case.model_copy(update=fields)

    def _gaps(self) -> GapsFinding | None:
        found = self.case.gaps
        live = sorted(self.live(None))
        if found is None or not live:
            return found
        missing = live[-1] - live[0] + 1 - len(live)
        return GapsFinding(
            lowest=live[0], highest=live[-1], positions=len(live), missing=missing, gaps=(), to_come=found.to_come
        )

    def _duplicates(self) -> DuplicatesFinding | None:
        again = self.doubled(None)
        if self.case.duplicates is None or not again:
            return self.case.duplicates
        live = self.live(None)
        extra = sum(live[each] - 1 for each in again)
        return self.case.duplicates.model_copy(update={"keys": len(again), "extra_rows": extra})


def _interval(case: Case) -> timedelta:
    return timedelta(
        milliseconds=max((run.checkpoint_interval_ms or 0 for run in case.observation.jobs.values), default=0)
    )


def _numbered(snapshot: Snapshot, checkpoint: int) -> dict[str, str]:
    return {**snapshot.summary, "flink.max-committed-checkpoint-id": str(CheckpointId(checkpoint))}
