"""Evidence without Spark: six questions, answered from the real table by PyIceberg and Arrow.

It answers the port `EvidenceRunner` with the same verdicts and findings as the tasks of `spark_tasks/`, which
have their own tests on a real Spark; a scenario of the bot then waits for people, not for a JVM. What is asked of a
branch is looked up at the branch's head.

What came twice, without Spark: entries are read by PyIceberg, and compared by the very code of the tasks.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow.parquet as pq
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import StaticTable

from bot.observation.errors import EvidenceCancelled, EvidenceFailed
from bot.observation.evidence import Answer, Ask, Measure, Progress, Task, Verdict
from bot.observation.findings import (
    DuplicateCommitsFinding,
    DuplicatesFinding,
    GapsFinding,
    LedgerFinding,
)
from bot.observation.ids import SnapshotId
from bot.observation.looked import NotSeen
from bot.observation.table import Column
from spark_tasks import checkpoint_pairing
from spark_tasks._support.manifest_entries import NO_BOUNDS, Bounds, Entry, asked_of
from spark_tasks._support.window import reach_of
from spark_tasks.duplicate_commits import _brought, _compared, counted_in_parts, repeating, told_by_entries
from spark_tasks.duplicate_files import repeats_among
from tests.found import ledger_of, twice


def duplicate_commits(ask: Ask) -> Answer:
    """As the task of this name finds it."""
    reach = reach_of(ask)
    table, commits = ask.observation.table, _compared(ask, reach)
    wanted = {int(commit.snapshot_id) for commit in commits}
    added = list(_added(ask, wanted, asked_of(table, ask.contract).columns))
    covered, shared = told_by_entries([added], table, ask.contract, commits)
    repeated, proven = repeating(table, commits, reach, covered, shared)
    own = {each.again: proven.get(each.again, ()) for each in repeated if not each.too_many}
    repeated = counted_in_parts(None, table, ask.contract, repeated, own)  # type: ignore[arg-type] - bounds tell here
    return Answer(
        verdict=Verdict.CONFIRMED if repeated else Verdict.RULED_OUT,
        headline=f"{len(repeated)} commits bring again what others had brought.",
        finding=DuplicateCommitsFinding(
            commits_checked=len(reach.main), repeated=repeated, ranges=_brought(ask, commits, covered)
        ),
    )


def duplicate_files(ask: Ask) -> Answer:
    """As the task of this name finds it; it compares with all that is live, and not with the newest alone."""
    reach = reach_of(ask)
    stored = _stored(ask)
    manifests = stored.snapshot_by_id(reach.until).manifests(stored.io)  # type: ignore[union-attr]
    entries = [each for manifest in manifests for each in _entries(stored, manifest, (None, None, None))]
    finding = repeats_among(entries, reach.main, ask.observation.table)
    return Answer(
        verdict=Verdict.CONFIRMED if finding.count else Verdict.RULED_OUT,
        headline=f"{finding.count} data files are live more than once.",
        finding=finding,
    )


def _stored(ask: Ask) -> StaticTable:
    return StaticTable.from_metadata(ask.observation.table.metadata_location)


def _added(ask: Ask, wanted: set[int], columns: Sequence[Column | None]) -> Iterator[Entry]:
    """What these commits added, from the window's end; where their manifests were written anew since, from their own
    lists."""
    table, left, lists = _stored(ask), set(wanted), [ask.window.until, *sorted(wanted)]
    for at in lists:
        snapshot = table.snapshot_by_id(at) if at in {lists[0], *left} else None  # type: ignore[arg-type]
        manifests = snapshot.manifests(table.io) if snapshot is not None else []
        for manifest in manifests:
            if manifest.added_snapshot_id in left:
                yield from (each for each in _entries(table, manifest, columns) if each.status == 1)
        left -= {manifest.added_snapshot_id for manifest in manifests}


def _entries(table: StaticTable, manifest: ManifestFile, columns: Sequence[Column | None]) -> Iterator[Entry]:
    for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
        file = entry.data_file
        low, high, nulls = file.lower_bounds or {}, file.upper_bounds or {}, file.null_value_counts or {}
        yield Entry(
            snapshot_id=entry.snapshot_id or manifest.added_snapshot_id,
            status=int(entry.status),
            content=int(file.content),
            path=file.file_path,
            rows=file.record_count,
            spec_id=manifest.partition_spec_id,
            bounds=tuple(_bounds(low, high, nulls, c) for c in columns),
        )


def _bounds(low: Mapping[int, bytes], high: Mapping[int, bytes], nulls: Mapping[int, int], of: Column | None) -> Bounds:
    return Bounds(low.get(of.field_id), high.get(of.field_id), nulls.get(of.field_id)) if of else NO_BOUNDS


class ArrowRunner:
    """Answers at once; a test can make it slow, or have it fail."""

    def __init__(self) -> None:
        self._go = threading.Event()
        self._go.set()
        self._slow: tuple[str, ...] = ()
        self._failures = 0
        self._running: dict[str, threading.Event] = {}
        self.runs = 0
        """How many tasks have begun."""

    @property
    def is_idle(self) -> bool:
        """Whether no task runs."""
        return not self._running

    def slow(self, *tasks: str) -> None:
        """These tasks, or all, wait from now on until `quick`, or until they are cancelled."""
        self._slow = tasks
        self._go.clear()

    def quick(self) -> None:
        """What waits goes on."""
        self._go.set()

    def fails(self, times: int = 1) -> None:
        """Spark goes away under the next tasks."""
        self._failures = times

    def warm(self) -> None:
        """See the port."""

    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """See the port."""
        cancelled = self._running[tag] = threading.Event()
        self.runs += 1
        try:
            is_slow = not self._slow or task.name in self._slow
            if is_slow and not self._go.is_set():
                on_progress(Progress(tasks_done=3, tasks_total=8, bytes_read=2_000_000))
            while is_slow and not self._go.wait(0.02):
                if cancelled.is_set():
                    raise EvidenceCancelled(f"The evidence task {task.name} was cancelled.", "A responder asked.", "")
            if self._failures:
                self._failures -= 1
                raise EvidenceFailed("Spark went away.", "Expected an answer; the server has ended.", "Ask again.")
            return _ANSWERS.get(task.name, _without_spark)(ask), 1234
        finally:
            del self._running[tag]

    def cancel(self, tag: str) -> bool:
        """See the port."""
        running = self._running.get(tag)
        if running is not None:
            running.set()
        return running is not None


def _ledger(ask: Ask) -> Answer:
    ledger = ledger_of(ask.observation.table, ask.window)
    runs = {row.job_id for row in ledger.rows}
    return Answer(
        verdict=Verdict.CONFIRMED if len(runs) > 1 else Verdict.RULED_OUT,
        headline=f"{len(ledger.rows)} commits by {len(runs)} writers.",
        measures=(Measure(name="commits", value=len(ledger.rows), unit="commits"),),
        finding=LedgerFinding(ledger=ledger),
    )


def _duplicate_rows(ask: Ask) -> Answer:
    owners = defaultdict(list)
    for snapshot, positions in _live(ask):
        for position in positions:
            owners[position].append(snapshot)
    repeated = [copies for copies in owners.values() if len(copies) > 1]
    if not repeated:
        return Answer(
            verdict=Verdict.RULED_OUT,
            headline="Every key lives exactly once.",
            finding=DuplicatesFinding(rows_checked=len(owners), keys=0, extra_rows=0, pairs=()),
        )
    pairs = sorted({(copies[0], copies[1]) for copies in repeated})
    return Answer(
        verdict=Verdict.CONFIRMED,
        headline=f"{len(repeated)} keys live more than once.",
        measures=(Measure(name="extra rows", value=len(repeated), unit="rows"),),
        finding=twice(len(repeated), pairs),
    )


def _missing_positions(ask: Ask) -> Answer:
    seen = {position for _snapshot, positions in _live(ask) for position in positions}
    missing = set(range(min(seen), max(seen) + 1)) - seen
    return Answer(
        verdict=Verdict.CONFIRMED if missing else Verdict.RULED_OUT,
        headline=f"{len(missing)} positions are missing.",
        finding=GapsFinding(lowest=min(seen), highest=max(seen), positions=len(seen), missing=len(missing), gaps=()),
    )


def _without_spark(ask: Ask) -> Answer:
    missing = NotSeen(source="Spark", reason=f"{ask.observation.table.name} is read without it here.", remedy="")
    return Answer(verdict=Verdict.INCONCLUSIVE, headline="Nobody can tell without Spark.", could_not_look=(missing,))


def _live(ask: Ask) -> list[tuple[SnapshotId, list[int]]]:
    """(commit, its live positions) at the window's end, oldest commit first."""
    table = StaticTable.from_metadata(ask.observation.table.metadata_location)
    assert ask.window.until is not None
    head = table.snapshot_by_id(ask.window.until)
    assert head is not None
    places = {s.snapshot_id: n for n, s in enumerate(reversed(ask.observation.table.chain))}
    found = []
    for manifest in head.manifests(table.io):
        for entry in manifest.fetch_manifest_entry(table.io):
            path = entry.data_file.file_path.removeprefix("file://")
            positions = pq.read_table(path, columns=["source_position"])["source_position"].to_pylist()
            found.append((SnapshotId(entry.snapshot_id), positions))
    return sorted(found, key=lambda each: places[each[0]])


_ANSWERS: dict[str, Callable[[Ask], Answer]] = {
    "ledger": _ledger,
    "duplicate_rows": _duplicate_rows,
    "missing_positions": _missing_positions,
    "duplicate_commits": duplicate_commits,
    "duplicate_files": duplicate_files,
    "checkpoint_pairing": lambda ask: checkpoint_pairing.answer(None, ask),  # type: ignore[arg-type] - it needs none
}
