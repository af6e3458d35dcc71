"""What evidence would find in the little world, worked out with loops of its own instead of the tasks."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from bot.history.case import Case
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import (
    CompactedRows,
    CorrectedRowsFinding,
    DuplicateCommitsFinding,
    DuplicatesFinding,
    GapsFinding,
    LeakedManifest,
    LeakedManifestsFinding,
    LeakStanding,
    RepeatedCommit,
)
from bot.observation.ids import SnapshotId
from bot.observation.ledger import Ledger, LedgerRow
from bot.observation.table import Snapshot, Window
from tests.diagnosis.little_silences import has_passed, is_overdue, owed_now
from tests.diagnosis.little_world import World
from tests.found import evidence, leaks, ledger_of, orphans, unreadable

TASKS = {
    "ledger": "ledger",
    "duplicates": "duplicate_rows",
    "gaps": "missing_positions",
    "duplicate_commits": "duplicate_commits",
    "leaked": "leaked_manifests",
    "unreadable": "unreadable_files",
    "orphans": "orphan_files",
    "corrected": "corrected_rows",
}
"""Field of a case -> the task that fills it."""


class Looked(NamedTuple):
    """What evidence found, of which head, and which positions the job had finished by then."""

    found: dict[str, object]
    head: SnapshotId
    finished: frozenset[int]
    at: datetime
    since: SnapshotId | None
    """Where the incident's window begins; what rows are missing or doubled is told of the whole table all the same."""
    window: Window
    """What was asked for then."""


def look(world: World, since: SnapshotId | None = None) -> Looked:
    """All evidence is collected now. A checkpoint of the last ten seconds may still be about to commit."""
    assert world.tale.head is not None
    settled = world.tale.now - timedelta(seconds=9)
    window = Window(since=since, until=world.tale.head).on_main(world.tale.table)
    found: dict[str, object] = {
        "ledger": _ledger(world, window),
        "duplicates": _duplicates(world),
        "gaps": _gaps(world),
        "duplicate_commits": _repeats(world),
        "leaked": _leaked(world),
        "unreadable": unreadable(),
        "orphans": orphans(world.erased_files, newest_at=world.erased_at),
        "corrected": _compactions(world),
    }
    finished = frozenset(each for each, at in world.finished.items() if at <= settled)
    return Looked(found, world.tale.head, finished, world.tale.now, since, window)


def case_of(world: World, looked: Looked, without: Iterable[str] = ()) -> Case:
    """The case as the bot would build it: the world now, evidence as it was found."""
    kept = {field: value for field, value in looked.found.items() if field not in set(without)}
    answers = tuple(_evidence(task, looked) for field, task in TASKS.items() if field in kept)
    return world.tale.case(since=looked.since, ledger=False).model_copy(update={**kept, "evidence": answers})


def _ledger(world: World, window: Window) -> Ledger:
    """With the positions that each commit's files hold: of a compaction, all that live."""
    found = ledger_of(world.tale.table, window)
    return found.model_copy(update={"rows": tuple(_placed(world, row) for row in found.rows)})


def _placed(world: World, row: LedgerRow) -> LedgerRow:
    held = world.live(row.snapshot_id) if row.operation == "replace" else world.holds.get(row.snapshot_id, ())
    return row.model_copy(update={"position_from": min(held), "position_until": max(held)}) if held else row


def _leaked(world: World) -> LeakedManifestsFinding:
    """What was left behind: waiting, lost, or as the world is drawn, nobody can tell."""
    standing = LeakStanding.UNTOLD if world.forgets else LeakStanding.DROPPED
    found = leaks(*world.tale.manifests, standing=standing)
    told = zip(found.manifests, world.left, strict=True)
    return found.model_copy(update={"manifests": tuple(_left(world, leak, held) for leak, held in told)})


def _left(world: World, leak: LeakedManifest, held: tuple[int, ...]) -> LeakedManifest:
    if leak.path in owed_now(world) and has_passed(world, leak.path):
        return leak.model_copy(update={"standing": LeakStanding.DROPPED})
    if leak.path in owed_now(world):
        waits = {"standing": LeakStanding.PENDING, "is_overdue": is_overdue(world, leak.path)}
        return leak.model_copy(update=waits)
    if not world.forgets:
        return _lost_by(world, leak)
    return leak.model_copy(update={"position_from": min(held), "position_until": max(held)}) if held else leak


def _lost_by(world: World, leak: LeakedManifest) -> LeakedManifest:
    """With the state of a sink that has come back under another uid, nobody knows of its manifests."""
    is_lost = leak.operator_id != world.operator
    return leak.model_copy(update={"standing": LeakStanding.LOST_STATE}) if is_lost else leak


def _duplicates(world: World) -> DuplicatesFinding:
    rows = world.live()
    again = sum(count - 1 for count in Counter(rows).values()) if world.keeps_keys else 0
    return DuplicatesFinding(rows_checked=len(rows), keys=again, extra_rows=again, pairs=())


def _gaps(world: World) -> GapsFinding:
    live = sorted(set(world.live()))
    if not live:
        return GapsFinding(lowest=None, highest=None, positions=0, missing=0, gaps=())
    on_main = {s.snapshot_id for s in world.chain()}
    once = {m.snapshot_id for m in world.tale.moves} & {s.snapshot_id for s in world.tale.snapshots}
    taken = {each for snapshot in once - on_main for each in world.holds.get(snapshot, ())}
    lowest = min({live[0], *taken})
    return GapsFinding(
        lowest=lowest,
        highest=live[-1],
        positions=len(live),
        missing=live[-1] - lowest + 1 - len(live),
        gaps=(),
        to_come=sum(1 for each in taken if each > live[-1]),
    )


def _compactions(world: World) -> CorrectedRowsFinding:
    """Each compaction, compared with its parent; what else changed does not matter here."""
    chain = world.chain()
    told = tuple(
        CompactedRows(snapshot_id=s.snapshot_id, lost=_lost_between(world, below.snapshot_id, s.snapshot_id))
        for below, s in pairwise(chain)
        if s.operation == "replace"
    )
    return CorrectedRowsFinding(keys=0, gone=0, columns={}, compactions=told)


def _lost_between(world: World, before: SnapshotId, after: SnapshotId) -> int:
    return (Counter(world.live(before)) - Counter(world.live(after))).total()


def _repeats(world: World) -> DuplicateCommitsFinding:
    of_job = {s.snapshot_id for s in world.tale.snapshots if s.job_id}
    commits = [s for s in world.chain() if s.job_id or _first_held_by(world, s.snapshot_id) in of_job]
    pairs = [(first, again) for index, again in enumerate(commits) for first in commits[:index]]
    told = [(first, again, _how_repeated(world, first, again)) for first, again in pairs]
    repeated = tuple(_repeated(first, again, how) for first, again, how in told if how is not None)
    return DuplicateCommitsFinding(commits_checked=len(commits), repeated=repeated)


def _first_held_by(world: World, snapshot: SnapshotId) -> SnapshotId:
    """What a cherry-pick was copied from, through picks of picks; any other commit itself."""
    sources = {s.snapshot_id: s.summary.get("source-snapshot-id") for s in world.tale.snapshots}
    while (source := sources.get(snapshot)) is not None:
        snapshot = SnapshotId(int(source))
    return snapshot


def _how_repeated(world: World, first: Snapshot, again: Snapshot) -> str | None:
    if world.copies.get(again.snapshot_id) == first.snapshot_id:
        return "same-files"
    one, other = ((s.job_id, s.operator_id, s.checkpoint_id) for s in (first, again))
    if one == other and first.job_id:
        return "same-checkpoint"
    both = set(world.holds.get(first.snapshot_id, ())) & set(world.holds.get(again.snapshot_id, ()))
    return "same-source-range" if both else None


def _repeated(first: Snapshot, again: Snapshot, how: str) -> RepeatedCommit:
    return RepeatedCommit.model_validate(
        {
            "first": first.snapshot_id,
            "again": again.snapshot_id,
            "how": how,
            "job_id": again.job_id,
            "checkpoint_id": again.checkpoint_id,
            "rows": again.counted("added-records"),
            "is_cherry_pick": "source-snapshot-id" in again.summary,
        }
    )


def _is_untold(looked: Looked) -> bool:
    found = looked.found["leaked"]
    return isinstance(found, LeakedManifestsFinding) and bool(found.of(LeakStanding.UNTOLD))


def _evidence(task: str, looked: Looked) -> Evidence:
    is_open = task == "leaked_manifests" and _is_untold(looked)
    verdict = Verdict.INCONCLUSIVE if is_open else Verdict.RULED_OUT
    return evidence(task, looked.window, looked.at, head=looked.head, verdict=verdict)
